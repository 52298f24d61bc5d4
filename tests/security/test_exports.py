"""No cell of any download is a formula for the spreadsheet that opens it, and no name leads out."""

import csv
import io
import re
import zipfile
from datetime import datetime
from urllib.parse import quote

import pytest
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse

from portal.common import audit
from portal.finance.models import LineKind, Statement, StatementLine
from portal.inventory.models import Cluster, Node, Pool
from portal.requests.models import Request
from portal.reservations.models import Reservation
from portal.teams.models import Team, User
from portal.workloads.models import Workload
from tests.doors import ROUTES, knock, table
from tests.world import World

FORMULAS = ("=HYPERLINK(1)", "@SUM(1)|cmd", "\t-2+3")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?")


def _plant(*formulas: str) -> None:
    """Put them wherever somebody may write a name or a reason, in turn."""
    team, person, job = (*formulas, *formulas[-1:] * 2)[:3]
    Team.objects.update(name=team)
    User.objects.exclude(username="admin").update(first_name=person, last_name="")
    Pool.objects.update(name=person)
    Cluster.objects.update(name=job)
    Workload.objects.update(name=job, person=person, namespace=team)
    Reservation.objects.update(purpose=person)
    Request.objects.update(reason=job)
    Statement.objects.update(team_name=team, team_path=person)
    for row in Node.objects.all():
        Node.objects.filter(pk=row.pk).update(name=f"{team}{row.pk}")


def _text(answer: HttpResponseBase) -> str:
    streamed = getattr(answer, "streaming_content", None)
    raw = b"".join(streamed) if streamed is not None else bytes(getattr(answer, "content", b""))
    return raw.decode("utf-8-sig")


def _runs(cell: str) -> bool:
    """Whether a spreadsheet would take the cell for something to work out."""
    return cell[:1] in tuple("=+-@\t\r\n") and not NUMBER.fullmatch(cell)


def test_no_cell_of_any_csv_is_a_formula(world: World, admin: Client, now: datetime) -> None:
    _a_line(world.ours.team, now, FORMULAS[0])
    audit.record(actor_id=1, action="teams.changed", target_type="team", target_id=1,
                 data={"name": FORMULAS[1]})  # fmt: skip
    _plant(*FORMULAS)
    ids, found, cells = world.ids(world.ours), [], 0
    for route, does in table():
        if does != "read" or route == "dashboards:snapshot":
            continue
        address = reverse(route, kwargs={name: ids[name] for name in ROUTES[route]})
        answer = admin.get(address, {"format": "csv"})
        if answer.headers.get("Content-Type", "").startswith("text/csv"):
            rows = list(csv.reader(io.StringIO(_text(answer), newline="")))
            cells += sum(map(len, rows))
            found += [(route, cell) for row in rows for cell in row if _runs(cell)]
    assert cells > 100
    assert found == []


def test_no_cell_of_a_workbook_is_a_formula(world: World, admin: Client, now: datetime) -> None:
    _a_line(world.ours.team, now)
    _plant(FORMULAS[0])
    answer = knock(admin, "finance:statement-xlsx", "read", world.ids(world.ours))
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(bytes(answer.content))) as book:  # type: ignore[attr-defined]
        sheets = [book.read(name).decode() for name in book.namelist() if "worksheets/" in name]
    assert sheets
    assert not [sheet for sheet in sheets if "<f>" in sheet or "<f " in sheet]
    assert any("HYPERLINK(1)" in sheet for sheet in sheets), "it is there, as text"


def _a_line(team: Team, now: datetime, formula: str = "=1") -> None:
    StatementLine.objects.create(
        statement=Statement.objects.get(team=team), kind=LineKind.USE, charged_to="guaranteed", pool_name=formula,
        gpu_model=formula, from_at=now, to_at=now, amount_micro=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..\\..\\x", "2026-11/../../x", '2026-11"; x="', "\u0000"]
)
def test_no_name_in_an_address_leads_out_of_the_house(name: str, admin: Client) -> None:
    """The names a route takes are of rows; none is ever of a file."""
    for route in ("month-focus",):
        for written in (quote(name, safe=""), quote(name)):
            address = reverse(f"finance:{route}", kwargs={"month": "MONTH"}).replace(
                "MONTH", written
            )
            assert admin.get(address).status_code == 404
    for path in (f"/static/{quote(name)}", f"/static/{quote(quote(name, safe=''))}"):
        assert admin.get(path).status_code in (302, 404)


def test_a_download_s_name_is_a_plain_one(world: World, admin: Client) -> None:
    """So that nothing somebody wrote can end the header or choose a folder."""
    _plant('x"; filename="../../evil')
    ids, named = world.ids(world.ours), 0
    for route, does in table():
        if does == "read" and (field := _disposition(admin, route, ids)):
            named += 1
            assert re.fullmatch(r'(attachment|inline); filename="[\w.-]+"', field), (route, field)
    assert named > 8


def _disposition(client: Client, route: str, ids: dict[str, object]) -> str:
    address = reverse(route, kwargs={name: ids[name] for name in ROUTES[route]})
    return client.get(address, {"format": "csv"}).headers.get("Content-Disposition", "")
