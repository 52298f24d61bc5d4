"""The policy of a cluster as a form: every rule with what each choice does."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common.forms import offer
from portal.scheduling import ruling

MINUTE, HOUR = 60, 3600
PERCENT = 100


def _amount(label: Any, **kwargs: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, min_value=0, max_value=1_000_000, decimal_places=3, **kwargs
    )


def _choice() -> forms.ChoiceField:
    return forms.ChoiceField(widget=forms.RadioSelect)


class PolicyForm(forms.Form):
    """All rules; amounts in the units people use."""

    # A dry run needs no reason, so the browser must not ask for one.
    use_required_attribute = False
    seen = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    order = _choice()
    placement = _choice()
    backfill = _choice()
    head_blocks = forms.BooleanField(required=False)
    enabled = forms.BooleanField(required=False)
    strategies = forms.ChoiceField(required=False)
    min_runtime = _amount(gettext_lazy("Safe after the start (minutes)"))
    cost_gate = forms.BooleanField(required=False)
    max_lost = _amount(
        gettext_lazy("Most lost in one turn (GPU-hours)"),
        required=False,
        help_text=gettext_lazy("Nothing is no cap."),
    )
    hybrid = forms.BooleanField(required=False)
    high = _amount(gettext_lazy("Pack from so full (%)"), required=False)
    low = _amount(gettext_lazy("Spread below (%)"), required=False)
    dwell = _amount(gettext_lazy("Stay at least (minutes)"), required=False)
    usage_weight_k = _amount(ruling.LABELS["usage_weight_k"])
    half_life = _amount(gettext_lazy("Past use halves in (hours)"))
    aging = _amount(gettext_lazy("Waiting worth one point (minutes)"))
    seed = forms.IntegerField(label=gettext_lazy("Seed"), min_value=0, max_value=2**31)
    note = forms.CharField(
        label=gettext_lazy("Why"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Whoever reads the history will want to know. Needed to apply."),
    )  # fmt: skip

    def __init__(self, data: Any, *, rules: Mapping[str, Any], seen: int, **kwargs: Any) -> None:
        self._rules = ruling.flat(rules)
        super().__init__(data, initial={"seen": seen, **_shown(self._rules)}, **kwargs)
        for key in ruling.CHOICES:
            self.fields[key].label = str(ruling.LABELS[key])
            offer(self, key, [
                (name, ruling.option(words)) for name, words in ruling.CHOICES[key].items()
            ])  # fmt: skip
        for name, key in _BOXES.items():
            field = self.fields[name]
            field.label, field.help_text = str(ruling.LABELS[key]), str(ruling.MEANINGS[key])
        self.fields["strategies"].label = str(ruling.LABELS["preemption.strategies"])
        offer(self, "strategies", [
            (",".join(names), words[0]) for names, words in ruling.STRATEGIES.items()
        ])  # fmt: skip
        for name, key in (("usage_weight_k", "usage_weight_k"), ("half_life", "half_life_seconds"),
                          ("aging", "aging_seconds_per_point"), ("seed", "seed")):  # fmt: skip
            self.fields[name].help_text = str(ruling.MEANINGS[key])

    def clean(self) -> dict[str, Any]:
        """What belongs together: both bounds of the switch, the lower one below."""
        said = super().clean() or {}
        if said.get("hybrid"):
            for name in ("high", "low"):
                if said.get(name) is None and name not in self.errors:
                    self.add_error(name, _("Give a percentage."))
            high, low = said.get("high"), said.get("low")
            if high is not None and low is not None and not low <= high <= PERCENT:
                self.add_error("low", _("It must not be above the other, nor that above 100."))
        return said

    def rules(self) -> dict[str, Any]:
        """The policy as filled in; what was not touched stays to the second as it was."""
        said, old = self.cleaned_data, self._rules
        plain = dict(old)
        plain |= {key: said[key] for key in (*ruling.CHOICES, "head_blocks", "seed")}
        plain["preemption.enabled"] = said["enabled"]
        plain["preemption.cost_gate"] = said["cost_gate"]
        plain["preemption.strategies"] = (said["strategies"] or "final").split(",")
        for name, (key, unit) in _UNITS.items():
            if said[name] is None or said[name] != _in_units(old.get(key), unit):
                plain[key] = None if said[name] is None else int(said[name] * unit)
        weight = said["usage_weight_k"]
        plain["usage_weight_k"] = int(weight) if weight == int(weight) else float(weight)
        plain["hybrid"] = _hybrid(said)
        return ruling.nested(plain)


_BOXES = {
    "head_blocks": "head_blocks", "enabled": "preemption.enabled",
    "cost_gate": "preemption.cost_gate", "hybrid": "hybrid",
}  # fmt: skip
_UNITS = {
    "min_runtime": ("preemption.min_runtime_seconds", MINUTE),
    "max_lost": ("preemption.max_lost_gpu_seconds_per_cycle", HOUR),
    "half_life": ("half_life_seconds", HOUR),
    "aging": ("aging_seconds_per_point", MINUTE),
}


def _in_units(amount: int | None, unit: int) -> Decimal | None:
    """An amount as the form shows it."""
    if amount is None:
        return None
    shown = (Decimal(amount) / unit).quantize(Decimal("0.001"))
    return shown.normalize() if shown else Decimal(0)


def _shown(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The rules as the form begins with them."""
    hybrid = plain.get("hybrid") or {}
    shown: dict[str, Any] = {
        key: plain.get(key) for key in (*ruling.CHOICES, "head_blocks", "seed")
    }
    shown |= {
        "enabled": plain.get("preemption.enabled"), "cost_gate": plain.get("preemption.cost_gate"),
        "strategies": ",".join(plain.get("preemption.strategies") or ["final"]),
        "usage_weight_k": plain.get("usage_weight_k"), "hybrid": bool(hybrid),
    }  # fmt: skip
    for name, (key, unit) in _UNITS.items():
        amount = _in_units(plain.get(key), unit)
        shown[name] = None if amount is None else f"{amount:f}"
    if hybrid:
        shown["high"] = f"{float(hybrid['high']) * PERCENT:g}"
        shown["low"] = f"{float(hybrid['low']) * PERCENT:g}"
        shown["dwell"] = f"{hybrid.get('min_dwell_seconds', 0) / MINUTE:g}"
    return shown


def _hybrid(said: Mapping[str, Any]) -> dict[str, Any] | None:
    if not said["hybrid"]:
        return None
    return {
        "high": float(said["high"]) / PERCENT, "low": float(said["low"]) / PERCENT,
        "min_dwell_seconds": int((said["dwell"] or 0) * MINUTE),
    }  # fmt: skip


class UndoForm(forms.Form):
    """Why a policy is taken back."""

    seen = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    note = forms.CharField(
        label=gettext_lazy("Why"), max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )
