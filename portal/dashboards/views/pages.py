"""Home, Queue, Workload, Capacity and the audit trail."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from portal.common import clock, csv, tables
from portal.common.errors import Missing
from portal.dashboards import cutting, explaining, pictures, trail, words
from portal.dashboards.cutting import Cutting
from portal.dashboards.filters import QueueFilter
from portal.dashboards.selectors import advice
from portal.dashboards.selectors import busy as busies
from portal.dashboards.selectors import capacity as capacities
from portal.dashboards.selectors import common as commons
from portal.dashboards.selectors import desk as desks
from portal.dashboards.selectors import home as homes
from portal.dashboards.selectors import queue as queues
from portal.dashboards.selectors import workload as workloads
from portal.dashboards.tables import HEADER, NodeTable, QueueTable, queue_values
from portal.finance import selectors as finance
from portal.inventory import selectors as inventory
from portal.scheduling import selectors as scheduling
from portal.scheduling.selectors import QueueRow
from portal.teams import permissions
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.selectors import Access
from portal.workloads.models import Workload

CHUNK = 500
MAP_NODES = 96
FORECASTS = timedelta(days=28)
"""How far back forecasts are judged."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """My teams now, what comes next, and what waits for me."""
    access, now = access_of(request), clock.now()
    tree = teams.get_tree(now=now)
    rows = homes.list_my_teams(access, tree=tree, now=now)
    full = len(rows) <= homes.PANELS
    decides = access.holds_anywhere(permissions.DECIDE)
    oversees = access.holds(permissions.OVERSEE)
    panels = homes.list_panels(
        access, rows=rows, tree=tree, now=now, waiting=homes.WAITING if full else 0
    )
    bills = desks.list_bills(access, now=now) if access.holds(permissions.COST) else []
    pays = access.holds(permissions.COST) and finance.shows_money()
    conflicts = inventory.list_conflicts(now=now) if decides or oversees else []
    inbox, mine = desks.list_requests(access, decides=decides, now=now)
    context = {
        "panels": [(panel, _lines(panel.waiting, now)) for panel in panels],
        "full": full,
        "may_ask": access.holds_anywhere(permissions.ASK),
        "decides": decides,
        "works": access.holds_anywhere(permissions.WORK),
        "pays": pays,
        "inbox": inbox,
        "mine": mine,
        "conflicts": [explaining.conflict(row, now) for row in conflicts],
        "bills": bills,
        "total": desks.total_of(bills),
        "audit": desks.list_audit() if oversees and not decides else [],
        "as_of": commons.seen_at(),
        "now": now,
    }
    return render(request, "dashboards/home.html", context)


def _lines(
    rows: Sequence[QueueRow], now: datetime
) -> list[tuple[QueueRow, SafeString, SafeString]]:
    """Jobs with their sentence and the moment they start."""
    return [(row, words.strong(words.why(row)), words.moment(row, now)) for row in rows]


@require_safe
def queue(request: HttpRequest) -> HttpResponseBase:
    """Jobs with position, reason and planned start, by name where I may see them; live."""
    access, now = access_of(request), clock.now()
    form = QueueFilter(request.GET, tree=teams.get_tree(now=now))
    chosen = form.chosen()
    tab = chosen.get("state") or queues.WAITING
    table = QueueTable(
        queues.list_jobs(access, chosen=chosen), now=now, ahead=queues.Ahead(),
        waiting=tab == queues.WAITING,
    )  # fmt: skip
    if request.GET.get("format") == "csv":
        return csv.response("queue", _queue_csv(request, table, access, now))
    counts = queues.count_tabs(access, chosen=chosen)
    tables.arrange(request, table, total=counts.get(tab))
    table.tell(_told([row.record for row in table.page.object_list], access, now))
    context = {
        "table": table,
        "form": form,
        "tab": tab,
        "counts": counts,
        "waiting": queues.list_waiting_teams() if tab == queues.WAITING else [],
        "score": _score(now) if tab == queues.WAITING else "",
        "live": request.GET.get("live") != "off",
        "as_of": commons.ticked_at(),
        "now": now,
    }
    return render(request, "dashboards/queue.html", context)


def _score(now: datetime, team_id: int | None = None, pool_id: int | None = None) -> str:
    """How good the forecasts of the last weeks were."""
    found = scheduling.get_score(since=now - FORECASTS, now=now, team_id=team_id, pool_id=pool_id)
    return words.score(found)


def _told(jobs: Iterable[Workload], access: Access, now: datetime) -> list[QueueRow]:
    return scheduling.queue_rows(jobs, access, zone=timezone.get_current_timezone(), now=now)


def _queue_csv(
    request: HttpRequest, table: QueueTable, access: Access, now: datetime
) -> Iterator[tuple[object, ...]]:
    """The whole list, sorted as asked, in chunks."""
    tables.arrange(request, table)
    yield tuple(HEADER)
    jobs = table.data.data.iterator(chunk_size=CHUNK)
    while chunk := list(islice(jobs, CHUNK)):
        yield from queue_values(_told(chunk, access, now))


@require_safe
def workload(request: HttpRequest, workload_id: int) -> HttpResponse:
    """One job: stages, places, reason, every decision, what it used."""
    access, now = access_of(request), clock.now()
    try:
        page = workloads.get_workload(access, workload_id=workload_id, now=now)
    except Missing as error:
        raise Http404 from error
    row, record = page.detail.row, page.record
    hue = record.team.hue if record.team else 0
    stage_rows = pictures.stage_rows(page.stages, now)
    start_bar = pictures.start_bar(stage_rows, hue=hue)
    advised = advice.advise(record, page.detail.placements, now=now)
    context = {
        "page": page,
        "row": row,
        "record": record,
        "state": words.state(row),
        "tone": words.tone(row),
        "why": words.strong(words.why(row)),
        "more": words.also(row),
        "ahead": words.ahead_sentence(
            queues.list_ahead(cluster_id=row.cluster_id, position=row.position)
        ),
        "byline": words.byline(row),
        "place": words.place(row),
        "moment": words.moment(row, now),
        "outlook": words.outlook(row, now),
        "score": _score(now, record.team_id, record.pool_id) if row.waits else "",
        "timeline": pictures.timeline(page.stages, now=now, hue=hue, charged_to=record.charged_to),
        "advice": words.advice(advised) if advised else "",
        "stage_rows": stage_rows,
        "start_bar": start_bar,
        "start_words": " · ".join(part.label for part in start_bar.parts) if start_bar else "",
        "places": [(p, words.charge(p.charged_to)) for p in page.detail.placements],
        "decisions": [(d, words.strong(d.sentence)) for d in page.detail.decisions],
        "may_download": access.holds(permissions.OVERSEE),
        "live": record.ended_at is None,
        "as_of": commons.ticked_at(),
        "now": now,
    }
    return render(request, "dashboards/workload.html", context)


@require_safe
def snapshot(request: HttpRequest, workload_id: int, tick_id: int) -> HttpResponse:
    """The engine's input at one tick, as a file it can be asked again with."""
    try:
        body = workloads.get_snapshot(workload_id=workload_id, tick_id=tick_id)
    except Missing as error:
        raise Http404 from error
    response = HttpResponse(body, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="tick-{tick_id}.json"'
    return response


@require_safe
def capacity(request: HttpRequest) -> HttpResponseBase:
    """Every pool's free GPUs and what fits; one pool's nodes as a map and a table."""
    now = clock.now()
    pools = capacities.list_pool_use(now=now)
    marks = commons.team_marks()
    chosen = _chosen_pool(request, pools)
    table = NodeTable(chosen.nodes if chosen else (), marks=marks)
    tables.arrange(request, table, per_page=MAP_NODES)
    if request.GET.get("format") == "csv":
        return tables.export(table, f"nodes-{chosen.row.name}" if chosen else "nodes")
    shown = [row.record for row in table.paginated_rows]
    start = pictures.common_start([node.row.name for node in shown])
    by_use = request.GET.get("show") == "use"
    busy = busies.get_busy(now=now)
    context = {
        "pools": [(pool, pictures.pool_bar(pool), busy.pools.get(pool.row.id)) for pool in pools],
        "chosen": chosen,
        "by_use": by_use,
        "cells": [
            pictures.node_cells(node, marks, start, busy if by_use else None) for node in shown
        ],
        "cutting": _cutting(chosen) if chosen else None,
        "names_start": start,
        "table": table,
        "conflicts": [explaining.conflict(c, now) for c in inventory.list_conflicts(now=now)],
        "live": request.GET.get("live") != "off",
        "as_of": commons.seen_at(),
        "now": now,
    }
    return render(request, "dashboards/capacity.html", context)


def _cutting(pool: capacities.PoolUse) -> Cutting | None:
    """What the pool's GPUs would serve if they were cut otherwise, where they can be cut."""
    geometry = cutting.geometry_of(pool.row.gpu_model, pool.row.memory_mib)
    if geometry is None:
        return None
    devices = pool.row.gpus
    gpus = devices // cutting.devices_each(geometry, pool.row.resource_name)
    asks = busies.count_small_tasks(pool_id=pool.row.id)
    return cutting.cut(geometry, gpus=gpus, asks=asks, resource_name=pool.row.resource_name)


def _chosen_pool(
    request: HttpRequest, pools: list[capacities.PoolUse]
) -> capacities.PoolUse | None:
    wanted = request.GET.get("pool", "")
    found = next((p for p in pools if str(p.row.id) == wanted), None)
    return found or (pools[0] if pools else None)


@require_safe
def audit(request: HttpRequest) -> HttpResponseBase:
    """The audit trail one may read: filtered, sorted and paged here, whole as CSV."""
    access, names = access_of(request), teams.team_names()
    ids = access.teams(permissions.OVERSEE)
    own = [(number, name) for number, name in names.items() if ids is None or number in ids]
    narrowed = trail.TrailFilter(request.GET, teams=own)
    zone = timezone.get_current_timezone_name()
    rows = narrowed.narrow(trail.query_trail(access), zone=zone)
    table = trail.TrailTable(rows, names=names)
    return tables.listing(
        request, table, "dashboards/audit.html", {"form": narrowed}, filename="audit"
    )
