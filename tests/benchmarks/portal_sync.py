"""A sync of many namespaces against a real API server, whole: writes, and seconds.

`python tests/with_services.py python -m tests.benchmarks.portal_sync [--namespaces N] [--profile] [--settle]`

KUBEBUILDER_ASSETS names the folder of a control plane, which is started on loopback with our
policies and the portal's own account; without it nothing is measured, and said so. 200 teams of five
namespaces each share two pools; a policy change gives every one other figures in both. The seconds
until the server's own controller has taken the quotas up (20 a second, as it comes) are told apart.
"""

import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
TEAMS = 200
PATIENCE_SECONDS = 300


def main() -> None:
    """Fill a cluster, sync, change, sync."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespaces", type=int, default=1000)
    parser.add_argument("--profile", action="store_true", help="of the sync after the change")
    parser.add_argument("--settle", action="store_true", help="wait until all quotas are in force")
    options = parser.parse_args()
    from tests.cluster.server import Server, assets

    folder = assets()
    if folder is None:
        print("portal_sync skipped: needs a Kubernetes API server, named by KUBEBUILDER_ASSETS")
        return
    django.setup()
    with tempfile.TemporaryDirectory(prefix="evenshare-") as home:
        server = Server(Path(home) / "server", folder)
        try:
            server.start()
            _measure(server, Path(home), options)
        finally:
            server.stop()


def _measure(server: Any, home: Path, options: argparse.Namespace) -> None:
    from django.conf import settings
    from django.core.management import call_command

    from tests.benchmarks import sync_rows as rows

    call_command("migrate", verbosity=0)
    ground = rows.fill(server.kubeconfig, home, TEAMS, options.namespaces)
    print(f"{options.namespaces:,} namespaces of {TEAMS} teams, {settings.SYNC_WRITERS} writers")
    for what, fence in (("first sync", 1), ("after a policy change", 2)):
        ground.decide(fence)
        told, seconds = _sync(ground, options.profile and fence == 2)
        print(f"{what}: {told}, {seconds:.1f} s", flush=True)
        if options.settle:
            print(f"  all in force {_settle(ground):.1f} s later", flush=True)
        told, seconds = _sync(ground, profile=False)
        print(f"  a cycle without change: {told}, {seconds:.1f} s", flush=True)


def _sync(ground: Any, profile: bool) -> tuple[str, float]:
    watch = cProfile.Profile() if profile else None
    begun = time.perf_counter()
    if watch:
        watch.enable()
    run = ground.sync()
    if watch:
        watch.disable()
        pstats.Stats(watch, stream=sys.stdout).sort_stats("cumulative").print_stats(45)
    seconds = time.perf_counter() - begun
    if run is None:
        return "0 writes", seconds
    assert run.state == "done", run.message
    return f"{run.writes:,} writes", seconds


def _settle(ground: Any) -> float:
    begun = time.perf_counter()
    while time.perf_counter() - begun < PATIENCE_SECONDS:
        if ground.is_settled():
            break
        time.sleep(0.5)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
