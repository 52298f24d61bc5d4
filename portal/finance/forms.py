"""Forms of the room: which month, the next rate card, what was wrong with a statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common import zones
from portal.common.forms import DateTimeInput
from portal.finance.models import BudgetPeriod, IdleRule
from portal.finance.selectors import LineRow, RateCardRow, RateRow
from portal.finance.services import Correction, NewRate
from portal.inventory.selectors import PoolRow

MULTIPLIERS = (
    ("guaranteed", _("Guaranteed")),
    ("reserved", _("Reserved")),
    ("borrowed", _("Borrowed")),
    ("unused", _("Reserved, not used")),
)


@dataclass(frozen=True, slots=True)
class Priced:
    """A pool, or a GPU model, that may have a price; `key` is its part of the fields' names."""

    key: str
    name: str
    about: str
    pool_id: int | None = None
    gpu_model_id: int | None = None


class MonthForm(forms.Form):
    """Which month the page shows."""

    month = forms.ChoiceField(label=_("Month"))

    def __init__(self, *args: Any, months: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["month"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(months)


class RateCardForm(forms.Form):
    """The next rate card: a price and its multipliers for each pool and GPU model, filled from the open one."""

    name = forms.CharField(label=_("Name"), max_length=80)
    currency = forms.CharField(label=_("Currency"), max_length=3, min_length=3)
    tax_percent = forms.DecimalField(
        label=_("Tax, in percent"), min_value=0, max_value=100, decimal_places=2
    )
    idle_rule = forms.ChoiceField(label=_("Cost of idle time"), choices=IdleRule.choices)
    valid_from = forms.DateTimeField(
        label=_("From when"),
        widget=DateTimeInput,
        help_text=_("The open card ends then. A closed month never changes."),
    )
    preview_month = forms.ChoiceField(label=_("Month to compare with"), required=False)

    def __init__(
        self,
        *args: Any,
        pools: Sequence[PoolRow],
        current: RateCardRow | None,
        valid_from: datetime,
        currency: str,
        gpu_models: Sequence[tuple[int, str]] = (),
        preview_months: Sequence[tuple[str, str]] = (),
        **kwargs: Any,
    ) -> None:
        self.priced = [
            *(Priced(f"m{pk}", name, str(_("every pool without a price of its own")), gpu_model_id=pk)
              for pk, name in gpu_models),
            *(Priced(str(pool.id), pool.name, pool.gpu_model, pool_id=pool.id) for pool in pools),
        ]  # fmt: skip
        rates = {_key_of(rate): rate for rate in current.rates} if current else {}
        super().__init__(*args, **kwargs)
        self.initial = {
            "currency": current.currency if current else currency,
            "tax_percent": Decimal(current.tax_basis_points if current else 0) / 100,
            "idle_rule": current.idle_rule if current else IdleRule.OWN_LINE,
            "valid_from": valid_from,
        }
        month = self.fields["preview_month"]
        assert isinstance(month, forms.ChoiceField)
        month.choices = list(preview_months)
        for one in self.priced:
            self._add_price(one, rates.get(one.key))

    def _add_price(self, one: Priced, rate: RateRow | None) -> None:
        self.fields[f"rate_{one.key}"] = forms.DecimalField(
            label=_("Price of a GPU-hour"), required=False, min_value=0,
            max_value=10**6, decimal_places=6,
            initial=_plain(Decimal(rate.gpu_hour_micro) / 10**6) if rate else None,
        )  # fmt: skip
        for name, label in MULTIPLIERS:
            self.fields[f"{name}_{one.key}"] = forms.DecimalField(  # type: ignore[call-arg]  # unknown: template_name
                label=label, min_value=0, max_value=100, decimal_places=3, required=False,
                template_name="finance/parts/multiplier.html",
                initial=_plain(Decimal(_milli(rate, name)) / 1000),
            )  # fmt: skip

    def clean_valid_from(self) -> datetime:
        """A day no calendar shows is a slip of the pen."""
        found: datetime = self.cleaned_data["valid_from"]
        if found.year not in zones.YEARS:
            raise forms.ValidationError(_("Write a date and a time, such as 2026-11-02T09:00."))
        return found

    def clean(self) -> dict[str, Any]:
        """A card without any price says nothing."""
        given = super().clean() or self.cleaned_data
        prices = [f"rate_{one.key}" for one in self.priced]
        if prices and not self.errors and all(given.get(name) is None for name in prices):
            self.add_error(prices[0], _("Give at least one pool a price."))
        return given

    def rows(self) -> list[tuple[Priced, forms.BoundField, list[forms.BoundField]]]:
        """Each model and pool with the field of its price and those of its multipliers."""
        return [
            (p, self[f"rate_{p.key}"], [self[f"{name}_{p.key}"] for name, _label in MULTIPLIERS])
            for p in self.priced
        ]

    def rates(self) -> list[NewRate]:
        """What was given; what has no price has no rate, and no multiplier counts as one."""
        found = []
        for one in self.priced:
            price: Decimal | None = self.cleaned_data[f"rate_{one.key}"]
            if price is None:
                continue
            guaranteed, reserved, borrowed, unused = (
                1000 if given is None else int(given * 1000)
                for name, _label in MULTIPLIERS
                for given in [self.cleaned_data[f"{name}_{one.key}"]]
            )
            found.append(
                NewRate(
                    pool_id=one.pool_id, gpu_model_id=one.gpu_model_id,
                    gpu_hour_micro=int(price * 10**6), guaranteed_milli=guaranteed,
                    reserved_milli=reserved, borrowed_milli=borrowed,
                    reserved_unused_milli=unused,
                )
            )  # fmt: skip
        return found

    def terms(self) -> dict[str, Any]:
        """What the card says, but when."""
        given = self.cleaned_data
        return {
            "name": given["name"], "currency": given["currency"].upper(),
            "tax_basis_points": int(given["tax_percent"] * 100), "idle_rule": given["idle_rule"],
            "rates": self.rates(),
        }  # fmt: skip


class BudgetForm(forms.Form):
    """What a team, with all below it, may spend in each period."""

    team = forms.TypedChoiceField(label=_("Team"), coerce=int)
    period = forms.ChoiceField(label=_("For"), choices=BudgetPeriod.choices)
    unit = forms.ChoiceField(label=_("Counted in"))
    limit = forms.DecimalField(label=_("Limit"), min_value=Decimal("0.001"), max_value=10**11)
    refuses = forms.BooleanField(
        label=_("Refuse requests that would go beyond it"), required=False,
        help_text=_("Without it people are only told at 75, 90 and 100 %."),
    )  # fmt: skip

    def __init__(
        self, *args: Any, teams: Sequence[tuple[int, str]], currency: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (
            ("team", list(teams)),
            ("unit", [("money", currency), ("time", _("GPU-hours"))]),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices

    def limits(self) -> dict[str, Any]:
        """What the service takes."""
        given = self.cleaned_data
        in_time = given["unit"] == "time"
        return {
            "team_id": given["team"], "period": given["period"], "refuses": given["refuses"],
            "amount_micro": None if in_time else int(given["limit"] * 10**6),
            "gpu_milli_seconds": int(given["limit"] * 3_600_000) if in_time else None,
        }  # fmt: skip


class RevisionForm(forms.Form):
    """What was wrong with each line of a final statement; what is left empty was right."""

    reason = forms.CharField(
        label=_("Why"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It is printed on the new revision."),
    )  # fmt: skip

    def __init__(
        self,
        *args: Any,
        lines: Sequence[LineRow],
        teams: Sequence[tuple[int, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lines = list(lines)
        for line in self.lines:
            self.fields[f"rate_{line.id}"] = forms.DecimalField(
                label=_("Right rate"), required=False, min_value=0, max_value=10**6,
                decimal_places=6,
            )  # fmt: skip
            self.fields[f"tax_{line.id}"] = forms.DecimalField(
                label=_("Right tax, %"), required=False, min_value=0, max_value=100,
                decimal_places=2,
            )  # fmt: skip
            self.fields[f"team_{line.id}"] = forms.TypedChoiceField(
                label=_("Right team"), required=False, coerce=int, empty_value=None,
                choices=[("", _("as it is")), *teams],
            )  # fmt: skip

    def row(self, line: LineRow) -> tuple[forms.BoundField, forms.BoundField, forms.BoundField]:
        """The fields of one line."""
        return self[f"rate_{line.id}"], self[f"tax_{line.id}"], self[f"team_{line.id}"]

    def corrections(self) -> list[Correction]:
        """What was filled in."""
        found = []
        for line in self.lines:
            rate: Decimal | None = self.cleaned_data[f"rate_{line.id}"]
            tax: Decimal | None = self.cleaned_data[f"tax_{line.id}"]
            team: int | None = self.cleaned_data[f"team_{line.id}"]
            if (rate, tax, team) != (None, None, None):
                found.append(
                    Correction(
                        line_id=line.id,
                        rate_micro=None if rate is None else int(rate * 10**6),
                        tax_basis_points=None if tax is None else int(tax * 100),
                        team_id=team,
                    )
                )
        return found


def _key_of(rate: RateRow) -> str:
    return f"m{rate.gpu_model_id}" if rate.pool_id is None else str(rate.pool_id)


def _milli(rate: RateRow | None, name: str) -> int:
    if rate is None:
        return 1000
    return {
        "guaranteed": rate.guaranteed_milli,
        "reserved": rate.reserved_milli,
        "borrowed": rate.borrowed_milli,
        "unused": rate.reserved_unused_milli,
    }[name]


def _plain(number: Decimal) -> str:
    """A number without trailing zeros and without an exponent."""
    return f"{number.normalize():f}"
