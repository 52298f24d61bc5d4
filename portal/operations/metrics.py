"""The page for Prometheus: which parts answer, what rows tell, how requests went; who may read it.

A part that does not answer is said so and takes nothing else with it: of a portal without a
database one still learns how many requests failed.
"""

import ipaddress
import logging
import time
from collections.abc import Iterable

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from redis import Redis, RedisError

from portal.common import clock
from portal.operations import counting, heartbeats
from portal.operations.figures import Rows

log = logging.getLogger(__name__)
PATIENCE_SECONDS = 2
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


def may_read(request: HttpRequest) -> bool:
    """Whoever brings the token; without a proxy in front also whoever asks from this machine.

    Behind a proxy everybody's address is the proxy's, so then only the token counts.
    """
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        if constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}"):
            return True
    if settings.BEHIND_PROXY or any(name in request.META for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def exposition() -> bytes:
    """All there is to tell now, in Prometheus' text format."""
    begun = time.monotonic()
    up = GaugeMetricFamily("evenshare_part_up", "1: this part answers.", labels=["part"])
    pages = []
    for part, read in (("database", _rows), ("broker", _broker), ("cache", _cache)):
        try:
            pages.append(read())
            up.add_metric([part], 1)
        except (DatabaseError, RedisError, OSError) as error:
            log.warning("no figures of the %s: %s", part, type(error).__name__)
            up.add_metric([part], 0)
    took = GaugeMetricFamily(
        "evenshare_scrape_seconds", "How long it took to gather this.",
        value=time.monotonic() - begun,
    )  # fmt: skip
    return b"".join([_text(up, took), *pages, counting.exposition()])


def _rows() -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Undescribed(Rows(real_now=clock.real_now(), now=clock.now()).collect()))
    return generate_latest(registry)


def _broker() -> bytes:
    if not settings.BROKER:
        return b""
    family = GaugeMetricFamily(
        "evenshare_broker_messages", "Messages that wait for a worker.", labels=["queue"]
    )
    with Redis.from_url(
        settings.BROKER, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
    ) as server:
        for queue in _queues():
            family.add_metric([queue], int(server.llen(queue)))
    return _text(family)


def _cache() -> bytes:
    if not settings.BROKER:
        return b""
    cache.get("operations.metrics")  # The one question of an empty cache: does it answer?
    family = GaugeMetricFamily(
        "evenshare_queue_age_seconds", "Since a worker last served this queue.", labels=["queue"]
    )
    for queue in _queues():
        last = heartbeats.last(queue)
        if last is not None:
            family.add_metric([queue], max(0.0, (clock.real_now() - last).total_seconds()))
    return _text(family)


def _queues() -> list[str]:
    return [queue.name for queue in current_app.conf.task_queues]


def _text(*families: GaugeMetricFamily) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Undescribed(iter(families)))
    return generate_latest(registry)


class _Undescribed(Collector):
    """Families gathered once, for a registry of one use."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self.families = list(families)

    def collect(self) -> list[Metric]:
        """What was gathered."""
        return self.families
