"""The page of rules as forms: who has to agree, what pools ask, what classes may do."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common.forms import offer
from portal.inventory.selectors import PoolRow
from portal.requests.forms import whole
from portal.reservations.rules import FIGURES, Rules
from portal.workloads.classes import FIGURES as FIGURES_OF_CLASS
from portal.workloads.classes import Class, Classes, Door
from portal.workloads.models import Kind, Placing

MICRO = 1_000_000
"""Micro-units of a currency unit."""


class ApprovalForm(forms.Form):
    """A rule that says how many people have to agree."""

    pool = forms.TypedChoiceField(label=gettext_lazy("Pool"), coerce=int, required=False)
    min_gpus = whole(gettext_lazy("From so many GPUs"), 1)
    min_hours = whole(gettext_lazy("From so many hours"), 1)
    min_cost = forms.DecimalField(
        label=gettext_lazy("From this cost"), min_value=Decimal(1), max_digits=12,
        decimal_places=0, required=False,
    )  # fmt: skip
    approvals = forms.TypedChoiceField(
        label=gettext_lazy("Have to agree"), coerce=int,
        choices=[
            (0, gettext_lazy("Nobody")), (1, gettext_lazy("One person")),
            (2, gettext_lazy("Two people")),
        ],
        initial=2,
    )  # fmt: skip

    def __init__(self, data: Mapping[str, Any] | None = None, *, pools: Iterable[PoolRow]) -> None:
        super().__init__(data)
        names = [(pool.id, pool.name) for pool in pools]
        offer(self, "pool", [("", _("all pools")), *names])

    def rule(self) -> dict[str, Any]:
        """What was filled in, as the service takes it."""
        said = self.cleaned_data
        cost = said["min_cost"]
        return {
            "pool_id": said["pool"] or None, "min_gpus": said["min_gpus"],
            "min_hours": said["min_hours"], "approvals": said["approvals"],
            "min_cost_micro": None if cost is None else int(cost) * MICRO,
        }  # fmt: skip


class _Row(forms.Form):
    """One row of a table of inputs: what it is about and the column name each of them."""

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{name}: {field.label}"


class BookingForm(_Row):
    """What a pool asks of its reservations."""

    longest_hours = whole(gettext_lazy("Longest, in hours"), 1)
    ahead_days = whole(gettext_lazy("Booked ahead, in days"), 1)
    extension_hours = whole(gettext_lazy("Extended in the last hours"), 1)
    rest_hours = whole(gettext_lazy("Hours between two of a team"), 0)
    grace_minutes = whole(gettext_lazy("Given back unused after minutes"), 1)

    def rules(self) -> Rules:
        """What was filled in."""
        return Rules(**{name: self.cleaned_data[name] for name in FIGURES})


class ClassForm(_Row):
    """What holds for the jobs of a class."""

    preemptible = forms.ChoiceField(
        label=gettext_lazy("May be stopped"), required=False,
        choices=[
            ("", gettext_lazy("as the job says")), ("yes", gettext_lazy("yes")),
            ("no", gettext_lazy("no")),
        ],
    )  # fmt: skip
    order = forms.IntegerField(
        label=gettext_lazy("Added to its priority"), min_value=-1_000_000, max_value=1_000_000,
    )  # fmt: skip
    together = forms.ChoiceField(label=gettext_lazy("Tasks kept together"), required=False)
    placement = forms.ChoiceField(
        label=gettext_lazy("Where its jobs go"), required=False,
        choices=[("", gettext_lazy("as the policy says")), *Placing.choices],
    )  # fmt: skip
    idle_hours = whole(gettext_lazy("Idle hours before it goes first"), 1)

    def __init__(self, *args: Any, levels: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("anywhere")), ("node", _("on one node")), *((w, w) for w in levels)]
        offer(self, "together", choices)

    def rule(self) -> Class:
        """What was filled in."""
        said = self.cleaned_data
        return Class(
            preemptible={"yes": True, "no": False}.get(said["preemptible"]),
            order=said["order"], together=said["together"], placement=said["placement"],
            idle_hours=said["idle_hours"],
        )  # fmt: skip


class DoorForm(_Row):
    """The fewest GPUs a pool takes of each class; 0 takes none, empty takes all."""

    training = whole(Kind.TRAINING.label, 0)
    inference = whole(Kind.INFERENCE.label, 0)
    interactive = whole(Kind.INTERACTIVE.label, 0)
    batch = whole(Kind.BATCH.label, 0)

    def doors(self) -> dict[str, Door]:
        """What was filled in."""
        return {
            kind: Door(is_open=least != 0, min_gpus=least or None)
            for kind in Kind.values
            if (least := self.cleaned_data[kind]) is not None
        }


def booking_rows(
    pools: Iterable[PoolRow], rules: Mapping[int, Rules], data: Mapping[str, Any] | None = None
) -> list[tuple[int, BookingForm]]:
    """A row a pool."""
    return [
        (
            pool.id,
            BookingForm(
                data, name=pool.name, prefix=f"b{pool.id}",
                initial={n: getattr(rules.get(pool.id, Rules()), n) for n in FIGURES},
            ),
        )
        for pool in pools
    ]  # fmt: skip


def class_rows(
    classes: Classes, levels: Iterable[str], data: Mapping[str, Any] | None = None
) -> list[tuple[str, ClassForm]]:
    """A row a class."""
    known = list(levels)
    words = {True: "yes", False: "no", None: ""}
    found: list[tuple[str, ClassForm]] = []
    for kind in Kind:
        rule = classes.of(kind)
        initial = {
            **{name: getattr(rule, name) for name in FIGURES_OF_CLASS},
            "preemptible": words[rule.preemptible],
        }  # fmt: skip
        form = ClassForm(
            data, name=str(kind.label), prefix=f"c-{kind.value}", initial=initial, levels=known
        )
        found.append((kind.value, form))
    return found


def door_rows(
    pools: Iterable[PoolRow], classes: Classes, data: Mapping[str, Any] | None = None
) -> list[tuple[int, DoorForm]]:
    """A row a pool."""
    found: list[tuple[int, DoorForm]] = []
    for pool in pools:
        doors = {kind: classes.doors.get((pool.id, kind), Door()) for kind in Kind.values}
        initial = {k: d.min_gpus if d.is_open else 0 for k, d in doors.items()}
        form = DoorForm(data, name=pool.name, prefix=f"d{pool.id}", initial=initial)
        found.append((pool.id, form))
    return found
