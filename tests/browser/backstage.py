"""The portal under test as a process tree of its own, told what to do line by line.

Append-only rows cannot be flushed after a test, so the server is a real one on a database of its
own. `python -m tests.browser.backstage PORT` makes it, starts the web server as the demo does, and
then answers one JSON line for each JSON line it reads, until there are no more.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
NOT_OURS = ("DATABASE_URL", "EVENSHARE_BROKER", "EVENSHARE_SECRET_KEY", "EVENSHARE_EMBEDDED")


class Backstage:
    """The other end, in the test's process."""

    def __init__(self, var: Path, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        kept = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.backstage", str(port)], cwd=ROOT, text=True,
            env={**kept, "EVENSHARE_VAR": str(var), "EVENSHARE_LOG_LEVEL": "WARNING"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.ids: dict[str, list[Any]] = self._read()["ids"]

    def ask(self, verb: str, **arguments: object) -> dict[str, Any]:
        """Let a function of `tests.browser.organisation` be called there."""
        _pipe(self._process.stdin).write(json.dumps([verb, arguments]) + "\n")
        _pipe(self._process.stdin).flush()
        return self._read()

    def stop(self) -> None:
        """End it and its web server."""
        _pipe(self._process.stdin).close()
        self._process.wait(30)
        _pipe(self._process.stdout).close()

    def _read(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        assert line, "the portal under test has ended; its own words stand above"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _pipe(end: IO[str] | None) -> IO[str]:
    assert end is not None
    return end


def main(port: int) -> None:
    """Make, serve and answer."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    from portal.operations import running
    from tests.browser import organisation

    # What is answered goes alone over stdout; whatever else is printed goes to stderr.
    answers, sys.stdout = sys.stdout, sys.stderr
    made = organisation.make()
    web = running.start_web(port)
    try:
        assert running.wait_for_web(web, port, seconds=60), "the web server did not start"
        print(json.dumps(made), file=answers, flush=True)
        for line in sys.stdin:
            verb, arguments = json.loads(line)
            print(json.dumps(getattr(organisation, verb)(**arguments)), file=answers, flush=True)
    finally:
        running.stop_web(web)


if __name__ == "__main__":
    main(int(sys.argv[1]))
