"""What a past month would have cost at prices that are only proposed. Nothing is written."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from portal.finance import billing, cards, months, pricing
from portal.finance.cards import Terms
from portal.finance.pricing import Draft
from portal.inventory.models import Pool
from portal.teams import selectors as teams


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """What one team pays and would pay, tax apart; team None is the organisation's own part."""

    team_id: int | None
    team_name: str
    now_micro: int
    now_tax_micro: int
    then_micro: int
    then_tax_micro: int

    @property
    def difference_micro(self) -> int:
        """More, or less, than now; without tax."""
        return self.then_micro - self.now_micro


@dataclass(frozen=True, slots=True)
class Preview:
    """A month at its own prices and at others, worked out from the same ledger."""

    month: str
    from_at: datetime
    to_at: datetime
    zone: str
    currency: str
    then_currency: str
    rows: tuple[PreviewRow, ...] = field(default_factory=tuple)

    @property
    def comparable(self) -> bool:
        """Whether both are in one currency."""
        return self.currency == self.then_currency

    @property
    def now_micro(self) -> int:
        """All together as it is."""
        return sum(row.now_micro for row in self.rows)

    @property
    def then_micro(self) -> int:
        """All together as it would be."""
        return sum(row.then_micro for row in self.rows)


def preview_rates(*, instant: datetime, terms: Terms, now: datetime) -> Preview:
    """The month of an instant, as far as it is known, at these terms."""
    month = months.find(instant)
    until = month.ends_at if now >= month.ends_at else billing.as_of(month, now)
    pool_ids = list(Pool.objects.values_list("pk", flat=True))
    current = cards.read(month.starts_at, until)
    proposed = cards.book_of((terms,))
    have = _by_team(billing.work_out(pool_ids, month.starts_at, until, book=current))
    would = _by_team(billing.work_out(pool_ids, month.starts_at, until, book=proposed))
    tree, every = teams.get_tree(now=until), teams.team_names()
    rows = [
        PreviewRow(
            team_id=team_id,
            team_name=_name(team_id, tree.path_name(team_id or 0), every),
            now_micro=_sum(have.get(team_id, [])),
            now_tax_micro=_tax(have.get(team_id, []), current.currency),
            then_micro=_sum(would.get(team_id, [])),
            then_tax_micro=_tax(would.get(team_id, []), proposed.currency),
        )
        for team_id in {**have, **would}
    ]
    rows.sort(key=lambda row: (row.team_id is None, row.team_name))
    return Preview(
        month=month.name, from_at=month.starts_at, to_at=until, zone=month.zone,
        currency=current.currency, then_currency=proposed.currency, rows=tuple(rows),
    )  # fmt: skip


def _name(team_id: int | None, path: str, every: dict[int, str]) -> str:
    if team_id is None:
        return teams.get_organisation().name
    return path or every.get(team_id, "")


def _by_team(drafts: Iterable[Draft]) -> dict[int | None, list[Draft]]:
    found: dict[int | None, list[Draft]] = {}
    for draft in drafts:
        found.setdefault(draft.team_id, []).append(draft)
    return found


def _sum(drafts: Iterable[Draft]) -> int:
    return sum(draft.amount_micro for draft in drafts)


def _tax(drafts: Iterable[Draft], currency: str) -> int:
    return pricing.tax([(d.amount_micro, d.tax_basis_points) for d in drafts], currency)
