"""Workers and their one periodic table.

`celery -A portal worker` and `celery -A portal beat` run it in production; an embedded installation
runs the same table in its own loop. Tasks are doors: they look for rows that need work, so a lost
message costs one period and nothing else, and one that comes late is thrown away.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
app = Celery("portal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_finalize.connect
def _set_table(sender: Celery, **_: object) -> None:
    """Say what runs how often, in real seconds; the order is that of a turn."""
    from django.conf import settings

    turn, chore = settings.TICK_SECONDS, settings.CHORE_SECONDS
    periods = {
        "kubernetes.collect": turn,
        "scheduling.tick": turn,
        "kubernetes.sync": turn,
        "requests.expire": chore,
        "finance.reckon": chore,
    }
    sender.conf.beat_schedule = {
        name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
        for name, seconds in periods.items()
    }
