"""Statements on paper: asked for by a reader, laid out by a worker, kept until they change."""

from datetime import datetime, timedelta

from django.db import transaction

from portal.common.errors import Missing
from portal.finance import printing, selectors
from portal.finance.models import Statement, StatementPrint
from portal.finance.printing import CannotPrint

KEPT_FOR = timedelta(days=1)
"""An open statement changes all the time: its old prints are thrown away."""


@transaction.atomic
def ask_print(*, statement_id: int, language: str, now: datetime) -> StatementPrint:
    """The print of a statement as it is now: done, or to be done by `print_due`.

    Raises `Missing`.
    """
    statement = Statement.objects.filter(pk=statement_id).first()
    if statement is None:
        raise Missing
    StatementPrint.objects.filter(
        statement=statement, version__lt=statement.version, asked_at__lt=now - KEPT_FOR
    ).delete()
    row, _made = StatementPrint.objects.get_or_create(
        statement=statement, version=statement.version, language=language[:8],
        defaults={"asked_at": now},
    )  # fmt: skip
    return row


def print_due(*, now: datetime) -> int:
    """Lay out everything that was asked for. Returns how many; one that fails says why."""
    due = StatementPrint.objects.filter(content__isnull=True, fault="")
    done = 0
    for row in due.defer("content"):
        content, fault = None, ""
        try:
            detail = selectors.get_statement(statement_id=row.statement_id)
            content = printing.pdf(detail, language=row.language)
        except CannotPrint as refusal:
            fault = str(refusal.message)
        StatementPrint.objects.filter(pk=row.pk).update(
            content=content, fault=fault, printed_at=now
        )
        done += content is not None
    return done
