"""Saying something about a statement or one of its lines."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Invalid, Missing
from portal.finance import lines
from portal.finance.models import LineComment, Statement, StatementLine

LONGEST = 2000


@transaction.atomic
def comment(
    *, statement_id: int, text: str, actor_id: int | None, now: datetime, line_id: int | None = None
) -> LineComment:
    """Keep a remark on a line or, without one, on the whole statement.

    Raises `Missing` for a statement or line that is not there, `Invalid` for no text or too much.
    """
    statement = Statement.objects.filter(pk=statement_id).first()
    if statement is None:
        raise Missing
    key = ""
    if line_id is not None:
        line = StatementLine.objects.filter(pk=line_id, statement=statement).first()
        if line is None:
            raise Missing
        key = lines.comment_key(line)
    text = text.strip()
    if not 1 <= len(text) <= LONGEST:
        fault = _("Write a remark of at most %(most)d characters.") % {"most": LONGEST}
        raise Invalid(fault, fields={"text": fault})
    made = LineComment.objects.create(
        month_id=statement.month_id, team_id=statement.team_id, line_key=key, text=text,
        author_id=actor_id, at=now,
    )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="finance.commented", target_type="statement",
        target_id=statement.pk, team_id=statement.team_id, data={"comment": made.pk, "line": key},
    )  # fmt: skip
    return made
