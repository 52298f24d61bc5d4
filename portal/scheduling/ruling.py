"""The rules of a policy in words: what each is called, what each choice does, what differs.

One wording for the Policy page, its forms, the What-if lab and the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats

Words = str | Promise
Choice = tuple[Words, Words]
"""What a choice is called, and what it does."""

ORDERS: dict[str, Choice] = {
    "fifo": (
        gettext_lazy("First come, first served"),
        gettext_lazy("Oldest first; what does not fit is passed over."),
    ),
    "fifo_strict": (
        gettext_lazy("Strictly first come"),
        gettext_lazy(
            "Oldest first; what does not fit holds back everything behind it in its pool."
        ),
    ),
    "sjf": (
        gettext_lazy("Shortest first"),
        gettext_lazy(
            "Shortest announced duration first. Long jobs can starve while short ones come."
        ),
    ),
    "priority": (
        gettext_lazy("Priority with ageing"),
        gettext_lazy("Highest priority first; waiting raises it, so that nobody starves."),
    ),
    "fair_share": (
        gettext_lazy("Fair share"),
        gettext_lazy(
            "Who has used least for their weight goes first, level by level of the team tree."
        ),
    ),
    "fair_tree": (
        gettext_lazy("Fair tree"),
        gettext_lazy(
            "As Slurm's Fair Tree: a branch that used less comes wholly before one that used more."
        ),
    ),
    "drf": (
        gettext_lazy("Dominant resource"),
        gettext_lazy("Least dominant share of GPU, CPU or memory first, by weight."),
    ),
    "satisfaction": (
        gettext_lazy("Least satisfied first"),
        gettext_lazy("Whoever has least of what they ask for goes first."),
    ),
    "sla": (
        gettext_lazy("Promise at risk first"),
        gettext_lazy(
            "Least time left to the promised wait first; broken promises by how far they are over."
        ),
    ),
}
PLACEMENTS: dict[str, Choice] = {
    "pack": (
        gettext_lazy("Pack"),
        gettext_lazy("Fill the fullest node that fits, so that whole nodes stay free."),
    ),
    "spread": (
        gettext_lazy("Spread"),
        gettext_lazy("Use the emptiest node, so that one failure hurts few."),
    ),
    "fgd": (
        gettext_lazy("Least fragmentation"),
        gettext_lazy("Put each task where it leaves the least GPU that usual jobs cannot use."),
    ),
    "best_fit": (
        gettext_lazy("Best fit"),
        gettext_lazy("The node with least CPU and GPU left over."),
    ),
    "dot_product": (
        gettext_lazy("Dot product"),
        gettext_lazy("The node whose free amounts suit the task's shape."),
    ),
    "gpu_packing": (
        gettext_lazy("GPU packing"),
        gettext_lazy("Used devices first, then used nodes, then empty ones."),
    ),
    "gpu_clustering": (gettext_lazy("GPU clustering"), gettext_lazy("Tasks of one size together.")),
    "random": (gettext_lazy("Random"), gettext_lazy("Any node that fits; only to compare with.")),
}
BACKFILLS: dict[str, Choice] = {
    "off": (
        gettext_lazy("Off"),
        gettext_lazy("What does not fit waits without a plan, and what fits may pass it for ever."),
    ),
    "conservative": (
        gettext_lazy("Conservative"),
        gettext_lazy("Everybody gets a planned start; only what delays nobody's plan may pass."),
    ),
    "easy": (
        gettext_lazy("Easy"),
        gettext_lazy("Only the first that does not fit gets a plan, in each pool."),
    ),
}
CHOICES: dict[str, dict[str, Choice]] = {
    "order": ORDERS, "placement": PLACEMENTS, "backfill": BACKFILLS,
}  # fmt: skip
LABELS: dict[str, Words] = {
    "order": gettext_lazy("Order"),
    "placement": gettext_lazy("Placement"),
    "backfill": gettext_lazy("Passing others"),
    "head_blocks": gettext_lazy("The head blocks"),
    "preemption.enabled": gettext_lazy("Taking back"),
    "preemption.strategies": gettext_lazy("How to take back"),
    "preemption.min_runtime_seconds": gettext_lazy("Safe after the start"),
    "preemption.cost_gate": gettext_lazy("Only when it pays"),
    "preemption.max_lost_gpu_seconds_per_cycle": gettext_lazy("Most lost in one turn"),
    "hybrid": gettext_lazy("Switching placement"),
    "usage_weight_k": gettext_lazy("Weight of past use"),
    "half_life_seconds": gettext_lazy("Past use halves in"),
    "aging_seconds_per_point": gettext_lazy("Waiting worth one point"),
    "seed": gettext_lazy("Seed"),
    "usage_capacity_milli": gettext_lazy("Capacity that use is measured by"),
}
MEANINGS: dict[str, Words] = {
    "head_blocks": gettext_lazy(
        "Whether the first that does not fit holds back all behind it in its pool."
    ),
    "preemption.enabled": gettext_lazy(
        "Whether borrowed GPUs are taken back for work within its team's guarantee."
    ),
    "preemption.strategies": gettext_lazy(
        "How lenders and borrowers are compared before work is stopped."
    ),
    "preemption.min_runtime_seconds": gettext_lazy(
        "How long a job is safe from being stopped once it runs."
    ),
    "preemption.cost_gate": gettext_lazy(
        "Whether fairness alone may stop work only when less is lost than is won."
    ),
    "preemption.max_lost_gpu_seconds_per_cycle": gettext_lazy(
        "A cap on work lost for fairness in one turn."
    ),
    "hybrid": gettext_lazy(
        "Packs when full, spreads when empty, and keeps to one for a while in between."
    ),
    "usage_weight_k": gettext_lazy(
        "How strongly past use lowers a team's part of what is left; 0 is not."
    ),
    "half_life_seconds": gettext_lazy("How fast past use is forgotten by fair share."),
    "aging_seconds_per_point": gettext_lazy(
        "How long one waits for one more point of priority; 0 is never."
    ),
    "seed": gettext_lazy("Where random choices begin."),
    "usage_capacity_milli": gettext_lazy(
        "What past use is a share of; by default all of the organisation."
    ),
}
SECONDS = frozenset(
    {"preemption.min_runtime_seconds", "half_life_seconds", "aging_seconds_per_point"}
)
STRATEGIES: dict[tuple[str, ...], Choice] = {
    ("final",): (
        gettext_lazy("By what is left after"),
        gettext_lazy("Compare shares after the work is gone."),
    ),
    ("final", "initial"): (
        gettext_lazy("By what is left after, then by what there was"),
        gettext_lazy("Also compare shares as they were before, one job of each team."),
    ),
    ("initial",): (
        gettext_lazy("By what there was"),
        gettext_lazy("Compare shares as they were before."),
    ),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as people read it."""

    key: str
    label: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One rule that is not the same in two policies."""

    key: str
    label: str
    was: str
    now: str


def option(words: Choice, mark: str = "") -> SafeString:
    """A choice beside its button: its name, a mark, and what it does."""
    name, what = words
    marked = format_html(' <span class="pill">{}</span>', mark) if mark else ""
    return format_html('<b>{}</b>{} <span class="soft">{}</span>', name, marked, what)


def flat(rules: Mapping[str, Any]) -> dict[str, Any]:
    """The rules one beside the other; those of taking back as `preemption.<key>`."""
    plain: dict[str, Any] = {}
    for key, value in rules.items():
        if key == "preemption" and isinstance(value, Mapping):
            plain |= {f"preemption.{name}": one for name, one in value.items()}
        elif key != "tick_seconds":
            plain[key] = value
    return plain


def nested(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The way back from `flat`."""
    rules: dict[str, Any] = {}
    for key, value in plain.items():
        group, _dot, name = key.rpartition(".")
        if group:
            rules.setdefault(group, {})[name] = value
        else:
            rules[key] = value
    return rules


def describe(rules: Mapping[str, Any]) -> list[Rule]:
    """Every rule that matters here: what can never apply is left out."""
    plain = flat(rules)
    hidden = {"seed", "usage_capacity_milli"}
    if not plain.get("preemption.enabled"):
        hidden |= {key for key in plain if key.startswith("preemption.")} - {"preemption.enabled"}
    return [
        Rule(key, str(LABELS[key]), value(key, plain[key]), meaning(key, plain[key]))
        for key in LABELS
        if key in plain and (key not in hidden or (key in ("seed",) and plain[key]))
    ]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """What is not the same, in the order rules are told."""
    was, now = flat(before), flat(after)
    return [
        Difference(key, str(LABELS[key]), value(key, was.get(key)), value(key, now.get(key)))
        for key in LABELS
        if was.get(key) != now.get(key)
    ]


def value(key: str, given: Any) -> str:
    """A rule's value in words."""
    if given is None:
        return _("none")
    if isinstance(given, bool):
        return _("yes") if given else _("no")
    if key in CHOICES:
        known = CHOICES[key].get(str(given))
        return str(known[0]) if known else str(given)
    if key == "preemption.strategies":
        strategy = STRATEGIES.get(tuple(given))
        return str(strategy[0]) if strategy else ", ".join(map(str, given))
    if key == "hybrid":
        return _hybrid(given)
    return _amount(key, given)


def _amount(key: str, given: Any) -> str:
    if key in SECONDS:
        return formats.duration(given) if given else _("never") if "aging" in key else _("none")
    if key == "preemption.max_lost_gpu_seconds_per_cycle":
        return _("%(hours)s GPU-hours") % {"hours": formats.number(given / 3600, 1)}
    if key == "usage_capacity_milli":
        return _("%(gpus)s GPUs") % {"gpus": formats.gpus(given)}
    return formats.number(given)


def _hybrid(given: Mapping[str, Any]) -> str:
    words = _("packs from %(high)s %% full, spreads below %(low)s %%, for %(dwell)s at least")
    return words % {
        "high": formats.number(float(given["high"]) * 100, 0),
        "low": formats.number(float(given["low"]) * 100, 0),
        "dwell": formats.duration(given.get("min_dwell_seconds", 0)),
    }


def meaning(key: str, given: Any) -> str:
    """What a rule, or the choice taken, does."""
    if key in CHOICES:
        known = CHOICES[key].get(str(given))
        return str(known[1]) if known else ""
    if key == "preemption.strategies":
        strategy = STRATEGIES.get(tuple(given or ()))
        return str(strategy[1]) if strategy else ""
    return str(MEANINGS.get(key, ""))
