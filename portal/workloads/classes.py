"""The classes of jobs: what holds for each, and which pools take it.

The rules bind when a job is to start: one that runs already stays where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Invalid, Missing
from portal.inventory.models import Pool
from portal.workloads.models import ClassRule, Kind, Placing, PoolClass

MOST_ORDER = 1_000_000
LONGEST_IDLE = 24 * 30


@dataclass(frozen=True, slots=True)
class Class:
    """The rule of a class; the defaults change nothing."""

    preemptible: bool | None = None
    order: int = 0
    together: str = ""
    placement: str = ""
    idle_hours: int | None = None


@dataclass(frozen=True, slots=True)
class Door:
    """What a pool takes of a class."""

    is_open: bool = True
    min_gpus: int | None = None

    def takes(self, gpu_milli: int) -> bool:
        """Whether it takes a job of this size."""
        return self.is_open and gpu_milli >= (self.min_gpus or 0) * 1000


FIGURES = ("preemptible", "order", "together", "placement", "idle_hours")
PLAIN = Class()
"""What a class nobody made a rule for is."""


@dataclass(frozen=True)
class Classes:
    """All rules, read once."""

    rules: Mapping[str, Class] = field(default_factory=dict)
    doors: Mapping[tuple[int, str], Door] = field(default_factory=dict)

    def of(self, kind: str) -> Class:
        """The rule of a class."""
        return self.rules.get(kind, PLAIN)

    def takes(self, pool_id: int, kind: str, gpu_milli: int) -> bool:
        """Whether a pool takes a job of this class and size."""
        return self.doors.get((pool_id, kind), Door()).takes(gpu_milli)

    @cached_property
    def guarded(self) -> frozenset[int]:
        """The pools that do not take everything."""
        return frozenset(
            pool_id for (pool_id, _kind), d in self.doors.items() if not d.is_open or d.min_gpus
        )


def get_classes() -> Classes:
    """Every rule: two queries."""
    rules = {
        row.kind: Class(**{name: getattr(row, name) for name in FIGURES})
        for row in ClassRule.objects.all()
    }
    doors = {
        (row.pool_id, row.kind): Door(row.is_open, row.min_gpus) for row in PoolClass.objects.all()
    }
    return Classes(rules, doors)


@transaction.atomic
def set_class(*, kind: str, rule: Class, actor_id: int | None) -> None:
    """Let a class be treated so from the next tick on."""
    faults: dict[str, str] = {}
    if kind not in Kind.values:
        faults["kind"] = _("There is no such class.")
    if abs(rule.order) > MOST_ORDER:
        faults["order"] = _("Give a whole number of at most %(most)d.") % {"most": MOST_ORDER}
    if rule.idle_hours is not None and not 1 <= rule.idle_hours <= LONGEST_IDLE:
        faults["idle_hours"] = _("Give a whole number from %(least)d to %(most)d.") % {
            "least": 1, "most": LONGEST_IDLE
        }  # fmt: skip
    if rule.placement and rule.placement not in Placing.values:
        faults["placement"] = _("Give pack or spread, or nothing.")
    if len(rule.together) > 40:
        faults["together"] = _("Give a level of the topology, such as node.")
    if faults:
        raise Invalid(_("This rule cannot be set."), fields=faults)
    figures = _figures(rule)
    before = ClassRule.objects.select_for_update(no_key=True).filter(kind=kind).first()
    was = _figures(get_classes().of(kind)) if before else None
    ClassRule.objects.update_or_create(kind=kind, defaults=figures)
    audit.record(
        actor_id=actor_id, action="workloads.class_set", target_type="class", target_id=None,
        data={"kind": kind, "was": was, "now": figures},
    )  # fmt: skip


@transaction.atomic
def set_doors(*, pool_id: int, doors: Mapping[str, Door], actor_id: int | None) -> None:
    """Let a pool take of each class what is said here, and all of a class that is left out."""
    pool = Pool.objects.select_for_update(no_key=True).filter(pk=pool_id).first()
    if pool is None:
        raise Missing
    faults = {
        kind: _("Give a whole number from %(least)d to %(most)d.") % {"least": 1, "most": 1_000_000}
        for kind, door in doors.items()
        if door.min_gpus is not None and not 1 <= door.min_gpus <= 1_000_000
    } | {kind: _("There is no such class.") for kind in doors if kind not in Kind.values}
    if faults:
        raise Invalid(_("This rule cannot be set."), fields=faults)
    was = _plain({k: d for (p, k), d in get_classes().doors.items() if p == pool_id})
    PoolClass.objects.filter(pool_id=pool_id).delete()
    PoolClass.objects.bulk_create(
        PoolClass(pool_id=pool_id, kind=kind, is_open=door.is_open, min_gpus=door.min_gpus)
        for kind, door in sorted(doors.items())
        if door != Door()
    )
    audit.record(
        actor_id=actor_id, action="workloads.doors_set", target_type="pool", target_id=pool_id,
        data={"was": was, "now": _plain(doors)},
    )  # fmt: skip


def whole_hours(now: datetime, count: int) -> list[datetime]:
    """The newest whole hours before now, the latest first."""
    last = now.replace(minute=0, second=0, microsecond=0)
    return [last - timedelta(hours=number) for number in range(1, count + 1)]


def _figures(rule: Class) -> dict[str, object]:
    return {name: getattr(rule, name) for name in FIGURES}


def _plain(doors: Mapping[str, Door]) -> dict[str, object]:
    return {
        kind: {"is_open": door.is_open, "min_gpus": door.min_gpus} for kind, door in doors.items()
    }
