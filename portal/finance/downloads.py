"""Statements as files, for pages and the API alike."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from celery import current_app
from django.http import HttpResponse, HttpResponseBase
from django.utils import translation
from kombu.exceptions import OperationalError

from portal.common import csv
from portal.common.errors import Missing
from portal.finance import focus, months, selectors, services, workbook
from portal.finance.models import StatementPrint
from portal.finance.selectors import StatementDetail
from portal.teams.models import Role
from portal.teams.selectors import Access, Grant

_ALL = Access(user_id=None, grants=(Grant(role=Role.FINANCE, team_ids=None),))


def xlsx(statement_id: int) -> HttpResponse:
    """A statement as a spreadsheet."""
    detail = selectors.get_statement(statement_id=statement_id)
    content = workbook.of(detail, money_too=selectors.shows_money())
    return _file(
        content, f"statement-{detail.statement.month}-{statement_id}.xlsx", workbook.MEDIA_TYPE
    )


def focus_csv(name: str, details: Iterable[StatementDetail]) -> HttpResponseBase:
    """Statements in the columns of FOCUS. Raises `Missing` where no money is shown."""
    if not selectors.shows_money():
        raise Missing
    return csv.response(name, focus.rows(iter(details)))


def month_focus(name: str) -> HttpResponseBase:
    """Every standing statement of a month in the columns of FOCUS."""
    month = selectors.get_month(instant=months.parse(name))
    rows = selectors.list_statements(_ALL, month_id=month.id or 0)
    return focus_csv(
        f"focus-{month.name}", (selectors.get_statement(statement_id=row.id) for row in rows)
    )


def printed(statement_id: int, *, now: datetime) -> StatementPrint:
    """The print in the active language; if there is none yet, a worker is asked for it."""
    language = translation.get_language() or "en"
    row = services.ask_print(statement_id=statement_id, language=language, now=now)
    if row.content is None and not row.fault:
        current_app.loader.import_default_modules()
        # Without a broker it is printed at once; with one that is down, by the next chore.
        with suppress(OperationalError):
            current_app.tasks["finance.print"].apply_async(retry=False)
        row.refresh_from_db()
    return row


def pdf(row: StatementPrint) -> HttpResponse:
    """A print that is done."""
    name = f"statement-{row.statement.month.name}-{row.statement_id}-{row.language}.pdf"
    return _file(bytes(row.content or b""), name, "application/pdf")


def _file(content: bytes, name: str, media_type: str) -> HttpResponse:
    answer = HttpResponse(content, content_type=media_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
