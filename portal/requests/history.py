"""What became of a request, as a sentence, and which states lead where."""

from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Conflict
from portal.requests.models import MOVES, Request, RequestState

S = RequestState


def sources(to: RequestState) -> list[RequestState]:
    """The states from which one may come here."""
    return [state for state, onward in MOVES.items() if to in onward]


def lost(row: Request, wanted: list[RequestState]) -> Conflict:
    """Why a move did not find the row as it has to be; `row` is as it stands now."""
    if row.state in wanted:
        say = _("It was changed meanwhile. Read it again, then decide.")
        return Conflict(say, code="changed_meanwhile", details={"version": row.version})
    return Conflict(
        what_happened(row), code="already_moved",
        details={"state": row.state, "version": row.version},
    )  # fmt: skip


def lapsed(row: Request) -> str:
    """It was not decided in time."""
    return _("It lapsed on %(when)s, since nobody had decided it.") % {
        "when": moment(row.expires_at)
    }


def what_happened(row: Request) -> str:
    """Where it stands, who brought it there and when."""
    when = moment(row.decided_at or row.submitted_at)
    match RequestState(row.state):
        case S.APPROVED if row.decided_by_id is None:
            return _("It was approved on %(when)s: nobody has to agree to it.") % {"when": when}
        case S.APPROVED:
            return _("%(who)s approved it on %(when)s.") % {"who": row.decided_by, "when": when}
        case S.REJECTED:
            return _("%(who)s rejected it on %(when)s.") % {"who": row.decided_by, "when": when}
        case S.CANCELLED:
            return _("%(who)s cancelled it on %(when)s.") % {"who": row.cancelled_by, "when": when}
        case S.EXPIRED:
            return lapsed(row)
        case S.SUBMITTED:
            return _("%(who)s submitted it on %(when)s.") % {"who": row.submitted_by, "when": when}
        case S.DRAFT:
            return _("It is a draft and has not been submitted.")


def moment(instant: datetime | None) -> str:
    """A time for people, in the zone being shown, with its name."""
    return "" if instant is None else formats.when(instant)
