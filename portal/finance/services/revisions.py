"""Correcting a final statement: a wrong rate, owner or tax makes the next revision of it.

The old one is kept and counts no more. What a line becomes cheaper or dearer stands in the
organisation's rate difference, so a month adds up before and after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.finance import lines, pricing
from portal.finance.models import (
    LineKind,
    Month,
    RateCard,
    Statement,
    StatementLine,
    StatementState,
)
from portal.finance.pricing import Draft
from portal.finance.services.rate_cards import LARGEST_RATE
from portal.teams import selectors as teams

MOVABLE = frozenset({LineKind.USE, LineKind.RESERVED_UNUSED, LineKind.UNOWNED, LineKind.IDLE_SHARE})
"""Kinds of lines that may turn out to be another team's."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What was wrong with one line; None was right. `team_id` is whose it should have been."""

    line_id: int
    rate_micro: int | None = None
    tax_basis_points: int | None = None
    team_id: int | None = None


@transaction.atomic
def revise_statement(
    *,
    statement_id: int,
    corrections: Sequence[Correction],
    reason: str,
    actor_id: int | None,
    now: datetime,
) -> Statement:
    """Make the next revision of a final statement, and of every other it has to do with.

    Raises `Missing`; `Conflict` for a statement that is open, paid or no longer the newest, and
    where another one that would change is paid; `Invalid` for a correction that makes no sense.
    """
    statement = Statement.objects.filter(pk=statement_id).first()
    if statement is None:
        raise Missing
    Month.objects.select_for_update(no_key=True).get(pk=statement.month_id)
    standing = {
        row.team_id: row
        for row in Statement.objects.select_for_update(no_key=True)
        .filter(month_id=statement.month_id, superseded_at__isnull=True)
        .order_by("pk")
    }
    statement.refresh_from_db()
    _check_revisable(statement)
    if not reason.strip():
        fault = _("Say why, in a sentence: it is printed on the statement.")
        raise Invalid(fault, fields={"reason": fault})
    drafts = {statement.team_id: _drafts(statement)}
    _apply(statement, corrections, drafts, standing)
    for team_id in drafts:
        if team_id in standing and team_id != statement.team_id:
            _check_revisable(standing[team_id])
    made = {
        team_id: _write(standing.get(team_id), statement, team_id, rows, reason, actor_id, now)
        for team_id, rows in drafts.items()
    }
    new = made[statement.team_id]
    audit.record(
        actor_id=actor_id, action="finance.statement_revised", target_type="statement",
        target_id=new.pk, team_id=new.team_id,
        data={
            "replaces": statement.pk, "revision": new.revision, "total_micro": new.total_micro,
            "before_micro": statement.total_micro,
            "others": sorted(row.pk for row in made.values() if row.pk != new.pk),
            "lines": [
                {"line": c.line_id, "rate_micro": c.rate_micro, "team": c.team_id,
                 "tax_basis_points": c.tax_basis_points}
                for c in corrections
            ],
        },
    )  # fmt: skip
    return new


def _check_revisable(statement: Statement) -> None:
    if statement.superseded_at is not None:
        raise Conflict(_("A later revision took its place: correct that one."), code="superseded")
    if statement.state == StatementState.OPEN:
        raise Conflict(
            _("The month is open: its statements are computed anew, there is nothing to revise."),
            code="still_open",
        )
    if statement.state == StatementState.PAID:
        raise Conflict(
            _("%(team)s: this statement is paid. Settle the difference in the next month.")
            % {"team": statement.team_name},
            code="paid",
            details={"statement": statement.pk},
        )


def _drafts(statement: Statement) -> list[Draft]:
    rows = StatementLine.objects.filter(statement=statement).select_related("statement")
    return [lines.as_printed(row) for row in rows.order_by("id")]


def _apply(
    statement: Statement,
    corrections: Sequence[Correction],
    drafts: dict[int | None, list[Draft]],
    standing: Mapping[int | None, Statement],
) -> None:
    """Bring the corrected lines to whose they are, and the rate difference to the organisation."""
    ids = list(statement.lines.order_by("id").values_list("pk", flat=True))
    wanted = {correction.line_id: correction for correction in corrections}
    if not wanted or len(wanted) != len(corrections) or wanted.keys() - set(ids):
        raise Invalid(_("Name lines of this statement, each once."), code="no_such_line")
    own = drafts[statement.team_id]
    kept: list[Draft] = []
    for pk, draft in zip(ids, list(own), strict=True):
        correction = wanted.get(pk)
        if correction is None:
            kept.append(draft)
            continue
        corrected = _corrected(draft, correction, statement.currency)
        difference = draft.amount_micro - corrected.amount_micro
        if corrected.team_id == statement.team_id:
            kept.append(corrected)
        else:
            _of(corrected.team_id, drafts, standing).append(corrected)
        if difference:
            target = kept if statement.team_id is None else _of(None, drafts, standing)
            _add_difference(target, draft, difference)
    drafts[statement.team_id] = kept


def _of(
    team_id: int | None,
    drafts: dict[int | None, list[Draft]],
    standing: Mapping[int | None, Statement],
) -> list[Draft]:
    """The lines of another statement of the month, as they will be."""
    if team_id not in drafts:
        drafts[team_id] = _drafts(standing[team_id]) if team_id in standing else []
    return drafts[team_id]


def _corrected(draft: Draft, correction: Correction, currency: str) -> Draft:
    kind = LineKind(draft.adjusts or draft.kind)
    changes: dict[str, object] = {}
    if correction.rate_micro is not None:
        if not 0 <= correction.rate_micro <= LARGEST_RATE or not draft.gpu_milli_seconds:
            raise Invalid(_("This line has no rate, or the new one makes no sense."), code="rate")
        changes["rate_micro"] = correction.rate_micro
        changes["amount_micro"] = pricing.amount(
            draft.gpu_milli_seconds, correction.rate_micro, currency
        )
    if correction.team_id is not None and correction.team_id != draft.team_id:
        changes |= _moved(draft, kind, correction.team_id)
    if correction.tax_basis_points is not None:
        if not 0 <= correction.tax_basis_points <= pricing.BASIS_POINTS:
            raise Invalid(_("Tax lies between 0 and 100 %."), code="tax")
        if draft.team_id is None and "team_id" not in changes:
            raise Invalid(_("The organisation's own part bears no tax."), code="tax")
        changes["tax_basis_points"] = correction.tax_basis_points
    if not changes:
        raise Invalid(_("Say what was wrong with the line: rate, tax or team."), code="no_change")
    return replace(draft, **changes)  # type: ignore[arg-type]  # each is a field's new value


def _moved(draft: Draft, kind: LineKind, team_id: int) -> dict[str, object]:
    if kind not in MOVABLE:
        raise Invalid(_("A line of this kind is no team's."), code="not_movable")
    if team_id not in teams.team_names():
        raise Invalid(_("There is no such team."), fields={"team": _("There is no such team.")})
    changes: dict[str, object] = {"team_id": team_id}
    if kind is LineKind.UNOWNED:
        field = "adjusts" if draft.adjusts else "kind"
        changes |= {field: LineKind.USE, "charged_to": "borrowed"}
    if draft.team_id is None:
        card = RateCard.objects.filter(pk=draft.rate_card_id or 0).first()
        changes["tax_basis_points"] = card.tax_basis_points if card else 0
    return changes


def _add_difference(rows: list[Draft], of: Draft, amount_micro: int) -> None:
    """Put what a line changed by into the rate difference of its pool and stretch."""
    difference = LineKind.RATE_DIFFERENCE
    line = replace(
        of, team_id=None, kind=LineKind.ADJUSTMENT if of.adjusts else difference,
        adjusts=difference.value if of.adjusts else "", charged_to="", reservation_id=None,
        gpu_milli_seconds=0, rate_micro=0, amount_micro=0, tax_basis_points=0, idle_rule="",
    )  # fmt: skip
    for place, row in enumerate(rows):
        if lines.key_of(row) == lines.key_of(line) and row.kind is line.kind:
            rows[place] = replace(row, amount_micro=row.amount_micro + amount_micro)
            return
    rows.append(replace(line, amount_micro=amount_micro))


def _write(
    before: Statement | None,
    like: Statement,
    team_id: int | None,
    drafts: Sequence[Draft],
    reason: str,
    actor_id: int | None,
    now: datetime,
) -> Statement:
    """The next revision of a statement, or the first of a team that had none."""
    if before is not None:
        Statement.objects.filter(pk=before.pk).update(superseded_at=now, version=F("version") + 1)
    tree, names = teams.get_tree(now=like.period_starts_at), teams.team_names()
    new = Statement.objects.create(
        month_id=like.month_id, team_id=team_id,
        team_name=before.team_name if before else names[team_id or 0],
        team_path=before.team_path if before else tree.path_name(team_id or 0) or names[team_id or 0],
        period_starts_at=like.period_starts_at, period_ends_at=like.period_ends_at,
        zone=like.zone, revision=before.revision + 1 if before else 1,
        state=StatementState.FINAL, currency=like.currency,
        total_micro=sum(draft.amount_micro for draft in drafts),
        tax_micro=pricing.tax(
            [(d.amount_micro, d.tax_basis_points) for d in drafts], like.currency
        ),
        computed_at=like.computed_at, closed_at=like.closed_at, reason=reason.strip(),
        revised_by_id=actor_id,
    )  # fmt: skip
    lines.write(new, drafts)
    return new
