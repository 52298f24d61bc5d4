"""Setting budgets, and noting when one is used up to a mark."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Invalid, Missing
from portal.finance import cards
from portal.finance.models import Budget, BudgetAlert, BudgetPeriod
from portal.finance.selectors import budgets
from portal.teams.models import Team

LARGEST = 10**18


@transaction.atomic
def set_budget(
    *,
    team_id: int,
    period: str,
    amount_micro: int | None = None,
    gpu_milli_seconds: int | None = None,
    refuses: bool = False,
    actor_id: int | None,
    now: datetime,
) -> Budget:
    """Give a team a budget from now on, in money or in GPU-time; the one it had ends.

    Raises `Invalid` for figures that make no sense and for a team that is not there.
    """
    faults: dict[str, str] = {}
    if period not in BudgetPeriod.values:
        faults["period"] = _("Choose a month, a quarter or a year.")
    given = [limit for limit in (amount_micro, gpu_milli_seconds) if limit is not None]
    if len(given) != 1 or not 1 <= given[0] <= LARGEST:
        faults["amount"] = _("Give one limit above zero: an amount of money, or GPU-hours.")
    if not Team.objects.select_for_update(no_key=True).filter(pk=team_id).exists():
        faults["team"] = _("There is no such team.")
    if faults:
        raise Invalid(_("The budget has faults."), fields=faults)
    before = _end(team_id, now)
    budget = Budget.objects.create(
        team_id=team_id, period=period, amount_micro=amount_micro,
        currency="" if amount_micro is None else cards.read(now, now + timedelta(seconds=1)).currency,
        gpu_milli_seconds=gpu_milli_seconds, refuses=refuses, valid_from=now,
        created_by_id=actor_id, created_at=now,
    )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="finance.budget_set", target_type="budget", target_id=budget.pk,
        team_id=team_id,
        data={
            "period": period, "amount_micro": amount_micro, "refuses": refuses,
            "gpu_milli_seconds": gpu_milli_seconds, "ends": before,
        },
    )  # fmt: skip
    return budget


@transaction.atomic
def end_budget(*, budget_id: int, actor_id: int | None, now: datetime) -> None:
    """Let a team spend without a budget again. Raises `Missing`, `Conflict` for one that ended."""
    budget = Budget.objects.select_for_update(no_key=True).filter(pk=budget_id).first()
    if budget is None:
        raise Missing
    if budget.valid_to is not None:
        raise Conflict(_("This budget has ended already."))
    _end(budget.team_id, now)
    audit.record(
        actor_id=actor_id, action="finance.budget_ended", target_type="budget",
        target_id=budget.pk, team_id=budget.team_id, data={},
    )  # fmt: skip


def _end(team_id: int, now: datetime) -> int | None:
    """End the open budget of a team; one that began at this very instant goes whole."""
    before = Budget.objects.filter(team_id=team_id, valid_to__isnull=True).first()
    if before is None:
        return None
    pk = before.pk
    if before.valid_from >= now:
        before.delete()
    else:
        before.valid_to = now
        before.save(update_fields=["valid_to"])
    return pk


def note_alerts(*, now: datetime) -> int:
    """Note every mark a budget has passed in its running period, once each. Returns how many."""
    noted = 0
    for row in budgets.list_budgets(now=now):
        for percent in budgets.ALERTS:
            if row.percent >= percent and percent not in row.alerts:
                noted += _note(row, percent, now)
    return noted


@transaction.atomic
def _note(row: budgets.BudgetRow, percent: int, now: datetime) -> bool:
    _alert, made = BudgetAlert.objects.get_or_create(
        budget_id=row.id, period_starts_at=row.of.starts_at, percent=percent,
        defaults={"spent": row.spent, "at": now},
    )  # fmt: skip
    if made:
        audit.record(
            actor_id=None, action="finance.budget_alert", target_type="budget", target_id=row.id,
            team_id=row.team_id,
            data={
                "percent": percent, "period": row.of.name, "spent": row.spent, "limit": row.limit,
            },
        )  # fmt: skip
    return made
