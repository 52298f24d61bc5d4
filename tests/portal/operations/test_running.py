"""One demo at a time in one folder, whatever became of the last one."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from portal.operations import running

HOLD = """
import os, sys, time
from pathlib import Path
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
django.setup()
from portal.operations import running
with running.alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

SERVE = (
    HOLD.split("with ")[0]
    + """
web = running.start_web(int(sys.argv[1]))
assert running.wait_for_web(web, int(sys.argv[1]), seconds=30)
print("answers", flush=True)
time.sleep(60)
"""
)


def test_a_second_demo_in_the_same_folder_is_told_so(tmp_path: Path) -> None:
    with (
        running.alone(tmp_path),
        pytest.raises(CommandError, match="already runs"),
        running.alone(tmp_path),
    ):
        pytest.fail("two at once")
    with running.alone(tmp_path):
        pass


def test_a_demo_that_was_killed_bars_nobody(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(CommandError, match="already runs"), running.alone(tmp_path):
            pytest.fail("two at once")
        other.kill()
        other.wait()
    with running.alone(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="cannot be written"), running.alone(tmp_path / "file"):
        pytest.fail("written into a file")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that tells of a parent's end")
def test_a_demo_that_was_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "EVENSHARE_VAR": str(tmp_path)},
    ) as demo:  # fmt: skip
        assert demo.stdout is not None
        assert demo.stdout.readline() == "answers\n"
        assert not running.port_is_free(port)
        demo.kill()
        demo.wait()
        until = time.monotonic() + 20
        while not running.port_is_free(port) and time.monotonic() < until:
            time.sleep(0.1)
    assert running.port_is_free(port)
