"""What is wrong with what somebody filled in, whatever kind of request it is."""

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.inventory.models import Pool
from portal.requests.models import Request
from portal.teams.models import Team

LONGEST_TEXT = 2000


def common(row: Request) -> dict[str, str]:
    """Team, pool and length of the reason."""
    found: dict[str, str] = {}
    if not Team.objects.filter(pk=row.team_id).exists():
        found["team"] = _("There is no such team.")
    if not Pool.objects.filter(pk=row.pool_id).exists():
        found["pool"] = _("There is no such pool.")
    if len(row.reason) > LONGEST_TEXT:
        found["reason"] = _("At most %(most)s characters.") % {"most": LONGEST_TEXT}
    return found


def text_of(text: str, field: str) -> str:
    """What somebody wrote, without the space around it. Raises `Invalid` when it is too long."""
    if len(text) > LONGEST_TEXT:
        raise refusal({field: _("At most %(most)s characters.") % {"most": LONGEST_TEXT}})
    return text.strip()


def refusal(faults: dict[str, str]) -> Invalid:
    """All faults at once, each also beside its input."""
    return Invalid(" ".join(dict.fromkeys(faults.values())), fields=faults)
