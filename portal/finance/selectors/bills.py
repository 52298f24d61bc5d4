"""What the running month comes to, in short: a page beside others needs no more of a bill."""

from dataclasses import dataclass
from datetime import datetime

from portal.common.pages import once_a_page
from portal.finance.models import StatementState
from portal.finance.selectors import presentation, statements
from portal.teams.selectors import Access


@dataclass(frozen=True, slots=True)
class Bill:
    """What a statement comes to, without what it is made of; `team_id` None is nobody's part."""

    id: int
    team_id: int | None
    team_name: str
    state: StatementState
    currency: str
    total_micro: int


@once_a_page
def list_month_to_date(access: Access, *, now: datetime) -> tuple[Bill, ...]:
    """The running month's statements the asker may see, by path; none where no money is shown.

    One query, which also tells whether money is shown.
    """
    found = statements.find(access, month_id=None, team_id=None, revisions=False)
    rows = list(found.filter(month__starts_at__lte=now, month__ends_at__gt=now))
    if not rows:
        return ()
    statements.tell_shown(rows[0])
    if not presentation.shows_money():
        return ()
    return tuple(
        Bill(r.pk, r.team_id, r.team_name, StatementState(r.state), r.currency, r.total_micro)
        for r in sorted(rows, key=lambda r: (r.team_id is None, r.team_path))
    )
