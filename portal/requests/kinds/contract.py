"""What every kind of request can answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.inventory import selectors as inventory
from portal.requests.models import Request, RequestKind

MOST = 100_000
"""No figure of a request is above this, whatever a pool holds."""

MOST_APPROVALS = 2

Faults = dict[str, str]
"""Input at fault → what is wrong with it, in a sentence."""


class Kind(Protocol):
    """One kind of request. `row` need not be saved."""

    columns: frozenset[str]
    """Columns of `Request` this kind uses, besides kind, team, pool and reason."""

    in_part: bool
    """Whether an approval may grant fewer GPUs than were asked for."""

    def fill(self, row: Request, now: datetime) -> None:
        """Work out the columns that follow from others."""
        ...

    def approvals(self, row: Request) -> tuple[int, int]:
        """How many people have to agree at least and at most, whatever the rules say."""
        ...

    def faults(self, row: Request, now: datetime) -> Faults:
        """What is wrong with what is there; a draft may leave things out."""
        ...

    def missing(self, row: Request, now: datetime) -> Faults:
        """What has to be filled in before it can be submitted."""
        ...

    def beyond(self, row: Request, now: datetime) -> Faults:
        """What no approval could ever grant, whoever gave way: more than the pool has."""
        ...

    def lapses_at(self, row: Request) -> datetime | None:
        """When there is nothing left to decide; None is never by itself."""
        ...

    def price(self, row: Request, now: datetime) -> tuple[int, str] | None:
        """About what it costs, in micro-units of a currency; None where nothing can be said."""
        ...

    def grant(self, row: Request, granted_gpus: int | None, now: datetime) -> int:
        """How many GPUs an approval grants; raises `Invalid` for a part that cannot be."""
        ...

    def carry_out(
        self, row: Request, granted_gpus: int, actor_id: int, now: datetime
    ) -> Mapping[str, int]:
        """Make the change and name what it became, as columns of `Request`."""
        ...


class Plain:
    """What most kinds do: one person agrees, nothing follows, lapses, is beyond or costs."""

    def fill(self, row: Request, now: datetime) -> None:
        """All of it is asked for."""

    def approvals(self, row: Request) -> tuple[int, int]:
        """Somebody always has to."""
        return 1, MOST_APPROVALS

    def beyond(self, row: Request, now: datetime) -> Faults:
        """Nothing is taken from the pool."""
        return {}

    def lapses_at(self, row: Request) -> datetime | None:
        """Never by itself: granted late it begins late."""
        return None

    def price(self, row: Request, now: datetime) -> tuple[int, str] | None:
        """It costs nothing; its use does."""
        return None


def whole(asked: int, granted_gpus: int | None) -> int:
    """All that was asked for; a part of it is refused."""
    if granted_gpus is not None and granted_gpus != asked:
        say = _("This can only be granted as a whole.")
        raise Invalid(say, code="cannot_grant", fields={"granted_gpus": say})
    return asked


def whole_between(row: Request, names: tuple[str, ...], least: int, say: str) -> Faults:
    """A fault for each named column that holds a number outside `least` to `MOST`."""
    values = ((name, getattr(row, name)) for name in names)
    return {name: say for name, value in values if value is not None and not least <= value <= MOST}


def beyond_pool(
    row: Request, gpus: int | None, from_at: datetime, to_at: datetime | None
) -> Faults:
    """A fault when this is more than the pool has at any time of a window."""
    steps = inventory.capacity_steps(pool_id=row.pool_id, from_at=from_at, to_at=to_at)
    most = max((step.gpus for step in steps), default=0)
    if gpus is None or gpus <= most:
        return {}
    say = _("The pool has %(most)s GPUs in all at that time.") % {"most": most}
    return {"guaranteed" if row.kind == RequestKind.QUOTA else "gpus": say}
