"""Workers and their one periodic table.

`celery -A portal worker` and `celery -A portal beat` run it in production; an embedded installation
runs the same table in its own loop. Tasks are doors: they look for rows that need work, so a lost
message costs one period and nothing else, and one that comes late is thrown away.

Three queues, so that a slow cluster never keeps the small work waiting, and a long study neither:
`clusters` for what talks to one cluster, `studies` for the What-if lab, `chores` for all else. A
worker serves them all unless told otherwise with `-Q`.

The app is made wherever Django is set up, as one of `INSTALLED_APPS`, and nowhere else: the command
line `evenshare` stands in this package too and loads neither.
"""

import logging
import os
from typing import Any

from celery import Celery, signals
from django.apps import AppConfig
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
app = Celery("portal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class WorkersConfig(AppConfig):
    """Loads this module, so that tasks know the app they are sent by."""

    name = "portal"


QUEUES = ("clusters", "chores", "studies")
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.conf.task_default_queue = "chores"
app.conf.task_routes = {"*_cluster": {"queue": "clusters"}, "studies.run": {"queue": "studies"}}


@app.on_after_finalize.connect
def _set_table(sender: Celery, **_: object) -> None:
    """Say what runs how often, in real seconds; the order is that of a turn."""
    from django.conf import settings

    turn, chore = settings.TICK_SECONDS, settings.CHORE_SECONDS
    periods = {
        "kubernetes.collect": turn,
        "scheduling.tick": turn,
        "kubernetes.sync": turn,
        "scheduling.forecast": settings.FORECAST_SECONDS,
        "requests.expire": chore,
        "usage.measure": chore,
        "finance.reckon": chore,
        "notifications.spread": chore,
        "notifications.deliver": chore,
        "notifications.forget": 86_400,
        "studies.tend": chore,
        "operations.upkeep": settings.UPKEEP_SECONDS,
    }
    sender.conf.beat_schedule = {
        name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
        for name, seconds in periods.items()
    } | {
        f"operations.heartbeat {queue}": {
            "task": "operations.heartbeat",
            "schedule": chore,
            "kwargs": {"queue": queue},
            "options": {"queue": queue, "expires": chore},
        }
        for queue in QUEUES
    }


@signals.setup_logging.connect
def _set_logging(**_: object) -> None:
    """Keep the format of the settings, so that workers write as the web does; warnings too."""
    logging.captureWarnings(True)


@signals.task_prerun.connect
def _name_lines(task_id: str, task: Any, **_: object) -> None:
    from portal.common import logs

    logs.bind(task=task.name, task_id=task_id)


@signals.task_postrun.connect
def _forget_names(**_: object) -> None:
    from portal.common import logs

    logs.unbind("task", "task_id")
