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
from django.utils.translation import gettext_lazy as _l

from portal.common import formats

Words = str | Promise
Choice = tuple[Words, Words]
"""What a choice is called, and what it does."""

ORDERS: dict[str, Choice] = {
    "fifo": (_l("First come, first served"), _l("Oldest first; what does not fit is passed over.")),
    "fifo_strict": (
        _l("Strictly first come"),
        _l("Oldest first; what does not fit holds back everything behind it in its pool."),
    ),
    "sjf": (
        _l("Shortest first"),
        _l("Shortest announced duration first. Long jobs can starve while short ones come."),
    ),
    "priority": (
        _l("Priority with ageing"),
        _l("Highest priority first; waiting raises it, so that nobody starves."),
    ),
    "fair_share": (
        _l("Fair share"),
        _l("Who has used least for their weight goes first, level by level of the team tree."),
    ),
    "fair_tree": (
        _l("Fair tree"),
        _l("As Slurm's Fair Tree: a branch that used less comes wholly before one that used more."),
    ),
    "drf": (
        _l("Dominant resource"),
        _l("Least dominant share of GPU, CPU or memory first, by weight."),
    ),
    "satisfaction": (
        _l("Least satisfied first"),
        _l("Whoever has least of what they ask for goes first."),
    ),
    "sla": (
        _l("Promise at risk first"),
        _l("Least time left to the promised wait first; broken promises by how far they are over."),
    ),
}
PLACEMENTS: dict[str, Choice] = {
    "pack": (_l("Pack"), _l("Fill the fullest node that fits, so that whole nodes stay free.")),
    "spread": (_l("Spread"), _l("Use the emptiest node, so that one failure hurts few.")),
    "fgd": (
        _l("Least fragmentation"),
        _l("Put each task where it leaves the least GPU that usual jobs cannot use."),
    ),
    "best_fit": (_l("Best fit"), _l("The node with least CPU and GPU left over.")),
    "dot_product": (_l("Dot product"), _l("The node whose free amounts suit the task's shape.")),
    "gpu_packing": (_l("GPU packing"), _l("Used devices first, then used nodes, then empty ones.")),
    "gpu_clustering": (_l("GPU clustering"), _l("Tasks of one size together.")),
    "random": (_l("Random"), _l("Any node that fits; only to compare with.")),
}
BACKFILLS: dict[str, Choice] = {
    "off": (
        _l("Off"),
        _l("What does not fit waits without a plan, and what fits may pass it for ever."),
    ),
    "conservative": (
        _l("Conservative"),
        _l("Everybody gets a planned start; only what delays nobody's plan may pass."),
    ),
    "easy": (_l("Easy"), _l("Only the first that does not fit gets a plan, in each pool.")),
}
CHOICES: dict[str, dict[str, Choice]] = {
    "order": ORDERS, "placement": PLACEMENTS, "backfill": BACKFILLS,
}  # fmt: skip
LABELS: dict[str, Words] = {
    "order": _l("Order"),
    "placement": _l("Placement"),
    "backfill": _l("Passing others"),
    "head_blocks": _l("The head blocks"),
    "preemption.enabled": _l("Taking back"),
    "preemption.strategies": _l("How to take back"),
    "preemption.min_runtime_seconds": _l("Safe after the start"),
    "preemption.cost_gate": _l("Only when it pays"),
    "preemption.max_lost_gpu_seconds_per_cycle": _l("Most lost in one turn"),
    "hybrid": _l("Switching placement"),
    "usage_weight_k": _l("Weight of past use"),
    "half_life_seconds": _l("Past use halves in"),
    "aging_seconds_per_point": _l("Waiting worth one point"),
    "seed": _l("Seed"),
    "usage_capacity_milli": _l("Capacity that use is measured by"),
}
MEANINGS: dict[str, Words] = {
    "head_blocks": _l("Whether the first that does not fit holds back all behind it in its pool."),
    "preemption.enabled": _l(
        "Whether borrowed GPUs are taken back for work within its team's guarantee."
    ),
    "preemption.strategies": _l("How lenders and borrowers are compared before work is stopped."),
    "preemption.min_runtime_seconds": _l("How long a job is safe from being stopped once it runs."),
    "preemption.cost_gate": _l(
        "Whether fairness alone may stop work only when less is lost than is won."
    ),
    "preemption.max_lost_gpu_seconds_per_cycle": _l("A cap on work lost for fairness in one turn."),
    "hybrid": _l("Packs when full, spreads when empty, and keeps to one for a while in between."),
    "usage_weight_k": _l("How strongly past use lowers a team's part of what is left; 0 is not."),
    "half_life_seconds": _l("How fast past use is forgotten by fair share."),
    "aging_seconds_per_point": _l("How long one waits for one more point of priority; 0 is never."),
    "seed": _l("Where random choices begin."),
    "usage_capacity_milli": _l("What past use is a share of; by default all of the organisation."),
}
SECONDS = frozenset(
    {"preemption.min_runtime_seconds", "half_life_seconds", "aging_seconds_per_point"}
)
STRATEGIES: dict[tuple[str, ...], Choice] = {
    ("final",): (_l("By what is left after"), _l("Compare shares after the work is gone.")),
    ("final", "initial"): (
        _l("By what is left after, then by what there was"),
        _l("Also compare shares as they were before, one job of each team."),
    ),
    ("initial",): (_l("By what there was"), _l("Compare shares as they were before.")),
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
