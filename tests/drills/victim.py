"""A worker whose time stands still and which dies where it is told to.

`celery -A tests.drills.victim worker`: the portal's own worker, with the organisation's time from
DRILL_NOW, so that two runs can be compared row by row. It counts the points at which it could be
killed while it collects, decides or syncs: before and after every statement to the database and
every write to the cluster. At point DRILL_KILL the whole process group dies by SIGKILL; the number
of points passed, and which of them came right after a write, stand in the file DRILL_POINTS.
"""

import json
import os
import signal
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from celery import signals
from django.db import connections
from django.db.backends.signals import connection_created

from portal.celery import app

__all__ = ["app"]

NOW = datetime.fromisoformat(os.environ["DRILL_NOW"])
KILL = int(os.environ.get("DRILL_KILL", "0"))
DEADLY = {"kubernetes.collect_cluster", "scheduling.tick_cluster", "kubernetes.sync_cluster"}


class Points:
    """Where we are, and where it ends."""

    passed = 0
    writes: ClassVar[list[int]] = []
    inside = False

    @classmethod
    def passing(cls) -> None:
        """Go past one point, or no further."""
        if not cls.inside:
            return
        cls.passed += 1
        if cls.passed == KILL:
            os.killpg(os.getpgid(0), signal.SIGKILL)


def _around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    Points.passing()
    result = execute(sql, params, many, context)
    Points.passing()
    return result


@signals.worker_process_init.connect
def _prepare(**_: object) -> None:
    """In the child that works: stop the clock, and count."""
    from portal.common import clock
    from portal.kubernetes.simulated.cluster import SimulatedCluster

    clock.now = lambda: NOW
    apply = SimulatedCluster.apply

    def counted(port: SimulatedCluster, manifest: Any, **options: Any) -> Any:
        Points.passing()
        result = apply(port, manifest, **options)
        Points.writes.append(Points.passed + 1)
        Points.passing()
        return result

    SimulatedCluster.apply = counted  # type: ignore[method-assign, assignment]
    connection_created.connect(_count, weak=False)
    for connection in connections.all(initialized_only=True):
        connection.close()


def _count(connection: Any, **_: object) -> None:
    connection.execute_wrappers.append(_around)


@signals.task_prerun.connect
def _enter(task: Any, **_: object) -> None:
    Points.inside = task.name in DEADLY


@signals.task_postrun.connect
def _leave(**_: object) -> None:
    if Points.inside:
        told = {"passed": Points.passed, "writes": Points.writes}
        Path(os.environ["DRILL_POINTS"]).write_text(json.dumps(told))
    Points.inside = False
