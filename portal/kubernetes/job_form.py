"""A job as somebody fills it in, checked so that what comes out of it can be handed in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats
from portal.common.forms import offer
from portal.inventory import selectors as inventory
from portal.inventory.models import Pool
from portal.inventory.selectors import NamespaceRow
from portal.kubernetes import composing
from portal.kubernetes.composing import Order
from portal.reservations import selectors as reservations
from portal.reservations.models import HOLDING
from portal.reservations.selectors import ReservationRow
from portal.scheduling.rehearsing import Wish
from portal.teams import selectors as teams
from portal.teams.models import Team
from portal.teams.permissions import WORK
from portal.teams.selectors import Access
from portal.workloads.models import Kind

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
MOST_PODS, MOST_GPUS, MOST_CPU, MOST_GIB = 1000, 64, 1000, 16_384
LONGEST_HOURS = Decimal(24 * 365)
LONGEST_SAVE = 86_400
MOST_RESERVATIONS = 50
AUTOMATIC = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a person may choose from."""

    namespaces: Sequence[NamespaceRow]
    pools: Sequence[Pool]
    reservations: Sequence[ReservationRow]
    team_names: Mapping[int, str]
    isolation: Mapping[int, str]
    now: datetime

    @property
    def is_empty(self) -> bool:
        """Whether there is nowhere to put a job."""
        return not (self.namespaces and self.pools)


def desk_of(access: Access, *, now: datetime) -> Desk:
    """The namespaces and reservations of the teams somebody works in, and the pools there."""
    reached = access.teams(WORK)
    mine = [
        row
        for row in inventory.list_namespaces(now=now)
        if row.team_id is not None and (reached is None or row.team_id in reached)
    ]
    clusters = {row.cluster_id for row in mine}
    pools = Pool.objects.filter(cluster_id__in=clusters).select_related("cluster", "gpu_model")
    held = reservations.list_reservations(
        from_at=now, team_ids={row.team_id for row in mine if row.team_id}, states=HOLDING
    )
    isolated = Team.objects.filter(pk__in={row.team_id for row in mine}).exclude(runtime_class="")
    isolation = dict(isolated.values_list("pk", "runtime_class"))
    return Desk(mine, list(pools), held[:MOST_RESERVATIONS], teams.team_names(), isolation, now)


def beginning(desk: Desk, given: Mapping[str, Any]) -> dict[str, Any]:
    """What most would fill in, under what the address says."""
    pool = _chosen_pool(desk, str(given.get("pool", "")))
    cluster_id = pool.cluster_id if pool else 0
    place = next((row for row in desk.namespaces if row.cluster_id == cluster_id), None)
    values: dict[str, Any] = {
        "namespace": place.id if place else "",
        "pool": pool.pk if pool else "",
        "kind": composing.JOB,
        "job_class": Kind.TRAINING.value,
        "pods": 1,
        "gpus": 1,
        "cpu": 8,
        "memory_gib": 64,
        "hours": "4",
        "charge": AUTOMATIC,
        "name": "train",
        "image": "registry/team/train:1",
        "command": "python train.py",
    }
    return {**values, **{name: given[name] for name in NAMES if name in given}}


def _chosen_pool(desk: Desk, wanted: str) -> Pool | None:
    found = next((pool for pool in desk.pools if str(pool.pk) == wanted), None)
    return found or next(iter(desk.pools), None)


def _whole(label: Any, least: int, most: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=least, max_value=most, help_text=help_text,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )  # fmt: skip


class JobForm(forms.Form):
    """A job nobody has handed in yet."""

    namespace = forms.ChoiceField(label=gettext_lazy("Namespace"), choices=[])
    pool = forms.ChoiceField(label=gettext_lazy("Pool"), choices=[])
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=[(kind, kind) for kind in composing.KINDS]
    )
    job_class = forms.ChoiceField(label=gettext_lazy("Class"), choices=Kind.choices)
    gpus = _whole(gettext_lazy("GPUs of a pod"), 1, MOST_GPUS)
    pods = _whole(gettext_lazy("Pods"), 1, MOST_PODS, gettext_lazy("They start together."))
    cpu = _whole(gettext_lazy("CPU cores of a pod"), 1, MOST_CPU)
    memory_gib = _whole(gettext_lazy("Memory of a pod, GiB"), 1, MOST_GIB)
    hours = forms.DecimalField(
        label=gettext_lazy("Hours it takes"), required=False, min_value=Decimal("0.01"),
        max_value=LONGEST_HOURS, max_digits=8, decimal_places=2,
        help_text=gettext_lazy("An honest guess starts sooner: it fits into gaps."),
        widget=forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"}),
    )  # fmt: skip
    save_seconds = forms.IntegerField(
        label=gettext_lazy("Seconds to save"),
        required=False,
        min_value=0,
        max_value=LONGEST_SAVE,
        help_text=gettext_lazy("Empty: it cannot save, and loses all when it is stopped."),
    )
    restore_seconds = forms.IntegerField(
        label=gettext_lazy("Seconds to restore"),
        required=False,
        min_value=0,
        max_value=LONGEST_SAVE,
    )
    reservation = forms.ChoiceField(label=gettext_lazy("Reservation"), choices=[], required=False)
    charge = forms.ChoiceField(
        label=gettext_lazy("Counts as"), required=False,
        choices=[
            (AUTOMATIC, gettext_lazy("what it would now")),
            (composing.GUARANTEED, gettext_lazy("within the guarantee")),
            (composing.BURST, gettext_lazy("borrowed")),
        ],
    )  # fmt: skip
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=63,
        validators=[
            RegexValidator(
                f"^{LABEL.pattern}$",
                gettext_lazy("Small letters, digits and hyphens, no hyphen at either end."),
            )
        ],
    )
    image = forms.CharField(label=gettext_lazy("Image"), max_length=300)
    command = forms.CharField(label=gettext_lazy("Command"), max_length=2000, required=False)

    def __init__(self, *args: Any, desk: Desk, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._desk = desk
        clusters = {pool.cluster_id: pool.cluster.name for pool in desk.pools}
        self._choose(
            "namespace",
            [
                (str(row.id), f"{row.name} ({self._team(row.team_id)}, {clusters[row.cluster_id]})")
                for row in desk.namespaces
                if row.cluster_id in clusters
            ],
        )
        self._choose("pool", [(str(pool.pk), self._named(pool)) for pool in desk.pools])
        held = [(str(row.id), self._held(row)) for row in desk.reservations]
        self._choose("reservation", [("", _("none")), *held])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        offer(self, name, choices)

    def _team(self, team_id: int | None) -> str:
        return self._desk.team_names.get(team_id or 0, "")

    def _named(self, pool: Pool) -> str:
        several = len({one.cluster_id for one in self._desk.pools}) > 1
        return f"{pool.name} ({pool.cluster.name})" if several else pool.name

    def _held(self, row: ReservationRow) -> str:
        pool = next((p.name for p in self._desk.pools if p.pk == row.pool_id), "")
        span = formats.span(row.starts_at, row.ends_at, self._desk.now)
        return f"R-{row.id} · {self._team(row.team_id)} · {row.gpus} {pool} · {span}"

    def clean(self) -> dict[str, Any]:
        """What contradicts itself."""
        given = super().clean() or {}
        place, pool = self.place(given), self.chosen_pool(given)
        if place and pool and place.cluster_id != pool.cluster_id:
            self.add_error("pool", _("This pool is in another cluster than the namespace."))
        most = composing.LONGEST_NAME.get(given.get("kind", ""), 63)
        if len(given.get("name", "")) > most:
            self.add_error(
                "name", _("A %(kind)s's name has at most %(most)s characters.")
                % {"kind": given["kind"], "most": most},
            )  # fmt: skip
        if given.get("restore_seconds") is not None and given.get("save_seconds") is None:
            self.add_error(
                "save_seconds", _("What restores must have saved: say how long it takes.")
            )
        self._check_reservation(given, place, pool)
        return given

    def _check_reservation(
        self, given: Mapping[str, Any], place: NamespaceRow | None, pool: Pool | None
    ) -> None:
        row = self.reserved(given)
        if row is None or place is None or pool is None:
            return
        if row.team_id != place.team_id or row.pool_id != pool.pk:
            self.add_error("reservation", _("This reservation is of another team or another pool."))

    def place(self, given: Mapping[str, Any]) -> NamespaceRow | None:
        """The namespace chosen."""
        wanted = str(given.get("namespace", ""))
        return next((row for row in self._desk.namespaces if str(row.id) == wanted), None)

    def chosen_pool(self, given: Mapping[str, Any]) -> Pool | None:
        """The pool chosen."""
        wanted = str(given.get("pool", ""))
        return next((pool for pool in self._desk.pools if str(pool.pk) == wanted), None)

    def reserved(self, given: Mapping[str, Any]) -> ReservationRow | None:
        """The reservation chosen."""
        wanted = str(given.get("reservation", ""))
        return next((row for row in self._desk.reservations if str(row.id) == wanted), None)

    def wish(self) -> tuple[Wish, Pool]:
        """What the engine is asked; call it on a valid form."""
        given = self.cleaned_data
        place, pool, row = self.place(given), self.chosen_pool(given), self.reserved(given)
        assert place is not None
        assert pool is not None
        return Wish(
            team_id=place.team_id or 0, pool_id=pool.pk, tasks=given["pods"], gpus=given["gpus"],
            cpu_milli=1000 * given["cpu"], memory_mib=1024 * given["memory_gib"],
            kind=given["job_class"], duration_seconds=self._seconds(),
            save_seconds=given["save_seconds"], restore_seconds=given["restore_seconds"],
            reservation_id=row.id if row else None,
        ), pool  # fmt: skip

    def order(self, charge: str) -> Order:
        """What the manifest is made from; `charge` counts where none was chosen."""
        given = self.cleaned_data
        place, pool, row = self.place(given), self.chosen_pool(given), self.reserved(given)
        assert place is not None
        assert pool is not None
        return Order(
            kind=given["kind"], name=given["name"], namespace=place.name, pool=pool.name,
            resource=pool.resource_name, mode=pool.cluster.mode, job_class=given["job_class"],
            pods=given["pods"], gpus=given["gpus"], cpu=given["cpu"],
            memory_gib=given["memory_gib"], image=given["image"], command=given["command"],
            charge=given["charge"] or charge, duration_seconds=self._seconds(),
            save_seconds=given["save_seconds"], restore_seconds=given["restore_seconds"],
            reservation_id=row.id if row else None,
            runtime_class=self._desk.isolation.get(place.team_id or 0, "") or pool.runtime_class,
        )  # fmt: skip

    def _seconds(self) -> int | None:
        """How long it runs; a Deployment does until somebody takes it away."""
        hours = self.cleaned_data["hours"]
        for_ever = self.cleaned_data["kind"] == composing.DEPLOYMENT
        return None if hours is None or for_ever else max(1, int(hours * 3600))


NAMES = tuple(JobForm.base_fields)
"""What an address may say."""
