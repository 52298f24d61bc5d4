"""How the bill is shown."""

from django.db.models import Subquery

from portal.common.pages import once_a_page
from portal.finance.models import Presentation
from portal.teams import selectors as teams


def issuer() -> str:
    """Who bills."""
    return teams.get_organisation().name


def alongside() -> Subquery:
    """The same as a part of another query; None where nothing was ever set."""
    return Subquery(Presentation.objects.filter(id=1).values("shows_money")[:1])


@once_a_page
def shows_money() -> bool:
    """Whether amounts are shown at all; off, the organisation sees GPU-hours only."""
    row = Presentation.objects.filter(id=1).first()
    return row is None or row.shows_money
