"""Asks a Prometheus how busy each pod's GPUs were; knows addresses and answers, no rows.

Only hosts an operator named in `EVENSHARE_PROMETHEUS_HOSTS` are asked, so no address an admin
writes leads anywhere else; redirects are not followed and an answer is read up to a bound.

dcgm-exporter names the pod that holds a device in `namespace` and `pod`, or, where Prometheus puts
the exporter's own names there, in `exported_namespace` and `exported_pod`. `GR_ENGINE_ACTIVE` is
asked for first: it also tells MIG instances; `GPU_UTIL` serves where it is not exported.
"""

import http.client
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.usage.cells import GRID

SECONDS = 30
LARGEST = 64 * 2**20
PORTS = {"https": 443, "http": 80}
LABELS = ("namespace", "pod", "exported_namespace", "exported_pod")
_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*(=|!=|=~|!~)"[^"\\{}]*"'
_SELECTOR = re.compile(rf"^{_MATCHER}(\s*,\s*{_MATCHER})*$")
_QUERY = (
    "avg by ({labels}) (avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{chosen}}}[{cell}s]))"
    " or avg by ({labels}) (avg_over_time(DCGM_FI_DEV_GPU_UTIL{{{chosen}}}[{cell}s]) / 100)"
)


class Unanswered(Exception):
    """No answer one could use; says why in a sentence for admins."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where to ask, what of it is about our cluster, and by which token."""

    address: str
    selector: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """How busy one pod's devices were, from 0 to 1, by the beginning of each cell measured."""

    namespace: str
    pod: str
    busy: Mapping[datetime, Decimal]


def check(address: str, selector: str = "") -> None:
    """Raise `Invalid` for an address that may not be asked, and for what is no label matcher."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        parts, port = urlsplit(""), None
    odd = parts.username or parts.query or parts.fragment
    if port is None or parts.scheme not in PORTS or not parts.hostname or odd:
        raise _wrong("address", _("Write an address such as http://prometheus.monitoring:9090."))
    if not {parts.hostname, f"{parts.hostname}:{port}"} & set(settings.PROMETHEUS_HOSTS):
        fault = _("An operator has to name %(host)s in EVENSHARE_PROMETHEUS_HOSTS first.")
        raise _wrong("address", fault % {"host": parts.hostname})
    if selector and not _SELECTOR.match(selector):
        raise _wrong("selector", _('Write labels such as cluster="seoul-1".'))


def read(source: Source, from_at: datetime, to_at: datetime) -> list[Series]:
    """How busy each pod was in each cell of the grid between two grid lines.

    Raises `Unanswered`. A cell of which nothing was measured is left out: it is a gap, not idle.
    """
    cell = int(GRID.total_seconds())
    query = _QUERY.format(labels=", ".join(LABELS), chosen=source.selector, cell=cell)
    asked = {
        "query": query, "step": cell, "start": int(from_at.timestamp()) + cell,
        "end": int(to_at.timestamp()),
    }  # fmt: skip
    return _series(_ask(source, "/api/v1/query_range", asked))


def _ask(source: Source, path: str, asked: Mapping[str, object]) -> object:
    try:
        check(source.address, source.selector)
    except Invalid as fault:
        raise Unanswered(str(fault.message)) from None
    parts = urlsplit(source.address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port or PORTS[parts.scheme], timeout=SECONDS)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": "Evenshare"}
    if source.token:
        headers["Authorization"] = f"Bearer {source.token}"
    try:
        connection.request("POST", parts.path.rstrip("/") + path, urlencode(asked), headers)
        answer = connection.getresponse()
        text = answer.read(LARGEST + 1)
    except (OSError, http.client.HTTPException) as fault:
        raise Unanswered(f"{type(fault).__name__}: {fault}"[:200]) from None
    finally:
        connection.close()
    return _result(answer.status, text)


def _result(status: int, text: bytes) -> object:
    """What an answer found. Raises `Unanswered` for one that found nothing out."""
    if len(text) > LARGEST:
        raise Unanswered(_("The answer is too large: name labels that choose this cluster's."))
    try:
        said: Any = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise Unanswered(_("It answered %(status)d, and not as a Prometheus.") % {"status": status})
    if status != 200 or said.get("status") != "success":
        raise Unanswered(f"{status}: {said.get('error', '')}"[:200])
    data = said.get("data")
    return data.get("result") if isinstance(data, dict) else None


def _series(result: object) -> list[Series]:
    if not isinstance(result, list):
        raise Unanswered(_("The answer holds no series."))
    found: list[Series] = []
    try:
        for one in result:
            labels, values = one["metric"], one["values"]
            namespace = labels.get("exported_namespace") or labels.get("namespace", "")
            pod = labels.get("exported_pod") or labels.get("pod", "")
            if namespace and pod:
                found.append(Series(namespace, pod, dict(filter(None, map(_point, values)))))
    except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation):
        raise Unanswered(_("The answer holds no series.")) from None
    return found


def _point(pair: tuple[float, str]) -> tuple[datetime, Decimal] | None:
    """The beginning of a cell and its figure; none where the exporter knew none."""
    at, text = pair
    if not math.isfinite(float(text)):
        return None
    ends = datetime.fromtimestamp(round(float(at)), UTC)
    return ends - timedelta(seconds=GRID.total_seconds()), min(max(Decimal(text), _NONE), _ALL)


_NONE, _ALL = Decimal(0), Decimal(1)


def _wrong(field: str, text: str) -> Invalid:
    return Invalid(text, fields={field: text})
