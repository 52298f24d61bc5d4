"""What may be chosen and filled in on the pages of the What-if lab."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common.filters import FilterForm
from portal.common.forms import DateTimeInput, offer
from portal.scheduling import ruling
from portal.studies.models import Draw, StudyState
from portal.studies.verdicts import LEAST_SEEDS
from scheduler_core.traces import READERS

DAY, HOUR, MINUTE = 86_400, 3600, 60
PAST, TRACE = "past", "trace"


class StudyFilter(FilterForm):
    """Which studies to list."""

    state = forms.ChoiceField(
        label=gettext_lazy("State"), choices=[("", gettext_lazy("any")), *StudyState.choices]
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("What changes"),
        choices=[
            ("", gettext_lazy("anything")), ("rules", gettext_lazy("Policy")), ("quota", gettext_lazy("Quota")),
            ("nodes", gettext_lazy("Nodes")), ("reserve", gettext_lazy("A reservation more")),
            ("unreserve", gettext_lazy("A reservation less")),
        ],
    )  # fmt: skip
    q = forms.CharField(label=gettext_lazy("Search"), max_length=80)


@dataclass(frozen=True, slots=True)
class Desk:
    """What a study can be asked about: clusters, pools, teams, traces, reservations by name."""

    clusters: list[tuple[int, str]]
    pools: list[tuple[int, str]]
    teams: list[tuple[int, str]]
    traces: list[tuple[int, str]]
    reservations: list[tuple[int, str]]
    sharing: list[tuple[str, str]]
    rules: Mapping[str, Any]


class Part(forms.Form):
    """Base of the parts that say what changes; each turns what was filled in to a change."""

    def __init__(self, data: Any, *, desk: Desk, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        for name in ("pool", "team", "reservation"):
            if name in self.fields:
                offer(self, name, getattr(desk, f"{name}s"))

    def change(self) -> dict[str, Any]:
        """The change, as `changes` has it."""
        raise NotImplementedError


def _whole(label: Any, least: int, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=100_000, **kwargs)


def _one_of(label: Any) -> forms.TypedChoiceField:
    return forms.TypedChoiceField(label=label, coerce=int)


class OfQuota(Part):
    """A team's figures in a pool."""

    team = _one_of(gettext_lazy("Team"))
    pool = _one_of(gettext_lazy("Pool"))
    guaranteed = _whole(gettext_lazy("Guaranteed GPUs"), 0)
    limit = _whole(
        gettext_lazy("Limit"), 0, required=False, help_text=gettext_lazy("Nothing is no limit.")
    )

    def change(self) -> dict[str, Any]:
        """As filled in."""
        return {"kind": "quota", **self.cleaned_data}


class OfNodes(Part):
    """Nodes that come or go."""

    pool = _one_of(gettext_lazy("Pool"))
    nodes_by = forms.IntegerField(
        label=gettext_lazy("Nodes more or fewer"), min_value=-10_000, max_value=10_000,
        help_text=gettext_lazy("4 adds four nodes of the pool's usual size, −4 takes four away."),
    )  # fmt: skip

    def change(self) -> dict[str, Any]:
        """As filled in; bare nodes have no pool."""
        pool = self.cleaned_data.get("pool")
        return {"kind": "nodes", "pool": pool, "nodes": self.cleaned_data["nodes_by"]}


class OfReserve(Part):
    """One reservation more."""

    team = _one_of(gettext_lazy("Team"))
    pool = _one_of(gettext_lazy("Pool"))
    gpus = _whole(gettext_lazy("GPUs"), 1)
    starts_at = forms.DateTimeField(label=gettext_lazy("From"), widget=DateTimeInput())
    ends_at = forms.DateTimeField(label=gettext_lazy("Until"), widget=DateTimeInput())

    def change(self) -> dict[str, Any]:
        """As filled in, times in whole seconds."""
        said = dict(self.cleaned_data)
        for name in ("starts_at", "ends_at"):
            said[name] = int(said[name].timestamp())
        return {"kind": "reserve", **said}


class OfUnreserve(Part):
    """One reservation fewer."""

    reservation = _one_of(gettext_lazy("Reservation"))

    def change(self) -> dict[str, Any]:
        """As filled in."""
        return {"kind": "unreserve", **self.cleaned_data}


class OfRule(Part):
    """Another value of one rule; what it means now is told at the value that holds."""

    key = ""

    def change(self) -> dict[str, Any]:
        """As filled in."""
        return {"kind": "rules", "rules": ruling.nested({self.key: self.rule_value()})}

    def rule_value(self) -> Any:
        """The new value in the policy's own unit."""
        return self.cleaned_data["value"]


class OfChoice(OfRule):
    """One of the named ways."""

    value = forms.ChoiceField(widget=forms.RadioSelect)

    def __init__(self, data: Any, *, desk: Desk, **kwargs: Any) -> None:
        super().__init__(data, desk=desk, **kwargs)
        held = ruling.flat(desk.rules).get(self.key)
        self.fields["value"].label = str(ruling.LABELS[self.key])
        offer(self, "value", [
            (name, ruling.option(words, _("as now") if name == held else ""))
            for name, words in ruling.CHOICES[self.key].items()
        ])  # fmt: skip


class OfSwitch(OfRule):
    """Yes or no."""

    value = forms.TypedChoiceField(
        widget=forms.RadioSelect, coerce=lambda word: word == "yes",
        choices=[("yes", gettext_lazy("Yes")), ("no", gettext_lazy("No"))],
    )  # fmt: skip

    def __init__(self, data: Any, *, desk: Desk, **kwargs: Any) -> None:
        super().__init__(data, desk=desk, **kwargs)
        held = ruling.flat(desk.rules).get(self.key)
        self.fields["value"].label = str(ruling.LABELS[self.key])
        self.fields["value"].help_text = str(ruling.MEANINGS[self.key])
        if data is None and isinstance(held, bool):
            self.initial["value"] = "no" if held else "yes"


class OfAmount(OfRule):
    """A number in a unit people use."""

    unit = 1
    value = forms.DecimalField(min_value=0, max_value=100_000, decimal_places=2)

    def __init__(self, data: Any, *, desk: Desk, **kwargs: Any) -> None:
        super().__init__(data, desk=desk, **kwargs)
        held = ruling.flat(desk.rules).get(self.key)
        unit = {DAY: _("days"), HOUR: _("hours"), MINUTE: _("minutes")}.get(self.unit, "")
        name = str(ruling.LABELS[self.key])
        self.fields["value"].label = f"{name} ({unit})" if unit else name
        now = _("Now: %(value)s.") % {"value": ruling.value(self.key, held)}
        self.fields["value"].help_text = f"{ruling.MEANINGS[self.key]} {now}"

    def rule_value(self) -> Any:
        """In seconds, or as it stands."""
        given = self.cleaned_data["value"]
        return int(given * self.unit) if self.unit > 1 or given == int(given) else float(given)


def _rule(base: type[OfRule], key: str, **more: Any) -> type[OfRule]:
    return type(base.__name__, (base,), {"key": key, **more, "__module__": __name__})


RULES: dict[str, type[Part]] = {
    "order": _rule(OfChoice, "order"),
    "placement": _rule(OfChoice, "placement"),
    "backfill": _rule(OfChoice, "backfill"),
    "head_blocks": _rule(OfSwitch, "head_blocks"),
    "preemption": _rule(OfSwitch, "preemption.enabled"),
    "half_life": _rule(OfAmount, "half_life_seconds", unit=DAY),
    "aging": _rule(OfAmount, "aging_seconds_per_point", unit=MINUTE),
    "usage_weight": _rule(OfAmount, "usage_weight_k"),
}
OTHERS: dict[str, type[Part]] = {
    "quota": OfQuota, "nodes": OfNodes, "reserve": OfReserve, "unreserve": OfUnreserve,
}  # fmt: skip
PARTS = {**RULES, **OTHERS}
LABELS: dict[str, Any] = {
    "order": ruling.LABELS["order"],
    "placement": ruling.LABELS["placement"],
    "backfill": ruling.LABELS["backfill"],
    "head_blocks": ruling.LABELS["head_blocks"],
    "preemption": ruling.LABELS["preemption.enabled"],
    "half_life": ruling.LABELS["half_life_seconds"],
    "aging": ruling.LABELS["aging_seconds_per_point"],
    "usage_weight": ruling.LABELS["usage_weight_k"],
    "quota": gettext_lazy("A quota"),
    "nodes": gettext_lazy("Nodes"),
    "reserve": gettext_lazy("A reservation more"),
    "unreserve": gettext_lazy("A reservation less"),
}
FOR_A_TRACE = frozenset({*RULES, "nodes"})


class StudyForm(forms.Form):
    """Whose jobs, when, how often drawn, and what it is called."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    cluster = forms.TypedChoiceField(label=gettext_lazy("Cluster"), coerce=int)
    from_at = forms.DateTimeField(label=gettext_lazy("Jobs handed in from"), widget=DateTimeInput())
    to_at = forms.DateTimeField(label=gettext_lazy("until"), widget=DateTimeInput())
    jobs = forms.TypedChoiceField(label=gettext_lazy("Trace"), coerce=int)
    nodes = forms.CharField(
        label=gettext_lazy("Nodes × GPUs of each"), max_length=12, required=False,
        help_text=gettext_lazy("Such as 64x8. Nothing is our own cluster, where a trace's teams only borrow."),
    )  # fmt: skip
    begin_hours = forms.IntegerField(
        label=gettext_lazy("Leave out the first hours"),
        min_value=0,
        max_value=1_000_000,
        required=False,
    )
    length_hours = forms.IntegerField(
        label=gettext_lazy("Take so many hours"), min_value=1, max_value=1_000_000, required=False,
        help_text=gettext_lazy("Nothing is all the rest."),
    )  # fmt: skip
    draw = forms.ChoiceField(
        label=gettext_lazy("Jobs"), widget=forms.RadioSelect, initial=Draw.RESAMPLED,
        choices=[
            (Draw.RESAMPLED, gettext_lazy(
                "Drawn anew for each seed: people are drawn from those who handed in jobs, so that "
                "one can tell a difference from luck"
            )),
            (Draw.AS_IT_WAS, gettext_lazy("Exactly as they came: one run, and nothing is called real")),
        ],
    )  # fmt: skip
    seeds = forms.TypedChoiceField(
        label=gettext_lazy("Seeds"), coerce=int, initial=5,
        choices=[(n, str(n)) for n in (LEAST_SEEDS, 5, 10, 20)],
        help_text=gettext_lazy("Each seed replays both sides once. More seeds find smaller differences."),
    )  # fmt: skip
    first_seed = forms.IntegerField(
        label=gettext_lazy("First seed"), min_value=0, max_value=2**31 - 100, initial=1
    )
    shared = forms.ChoiceField(label=gettext_lazy("Shared with"), required=False)

    def __init__(self, data: Any, *, desk: Desk, source: str, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        gone = {PAST: ("jobs", "nodes", "begin_hours", "length_hours"), TRACE: ("from_at", "to_at")}
        for name in gone[source]:
            del self.fields[name]
        offer(self, "cluster", desk.clusters)
        if source == TRACE:
            offer(self, "jobs", desk.traces)
        offer(self, "shared", desk.sharing)


class DescribeForm(forms.Form):
    """A study's name, what it is about, whether it is kept, and with whom it is shared."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    note = forms.CharField(
        label=gettext_lazy("What it is about"), max_length=2000, required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )  # fmt: skip
    is_kept = forms.BooleanField(
        label=gettext_lazy("Keep it: otherwise it is forgotten 90 days after it ended"),
        required=False,
    )
    team = forms.ChoiceField(
        label=gettext_lazy("Shared with"), required=False,
        help_text=gettext_lazy("Whoever works in the team, or oversees the organisation, can open its link."),
    )  # fmt: skip

    def __init__(self, data: Any, *, sharing: Iterable[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        offer(self, "team", sharing)


FORMATS: dict[str, Any] = {
    "openb": gettext_lazy("Alibaba 2023, openb: pods of the GPU trace"),
    "pai": gettext_lazy("Alibaba 2020, PAI"),
    "philly": gettext_lazy("Microsoft Philly, as job_id, submit_s, duration_s, num_gpus, vc"),
    "helios": gettext_lazy("SenseTime Helios"),
    "itp": gettext_lazy("Microsoft ITP"),
    "swf": gettext_lazy("Standard Workload Format"),
    "sacct": gettext_lazy("Slurm: sacct -P"),
    "evenshare": gettext_lazy("Our own: manage.py replay --export"),
}


class UploadForm(forms.Form):
    """A trace of somewhere else."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=80)
    form = forms.ChoiceField(
        label=gettext_lazy("Format"), choices=[(name, FORMATS[name]) for name in READERS]
    )
    file = forms.FileField(
        label=gettext_lazy("File"), help_text=gettext_lazy("Text, or packed with gzip.")
    )
