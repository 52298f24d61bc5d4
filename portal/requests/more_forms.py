"""The forms of what is asked about a reservation or an SLA, and which form each kind has."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common import formats
from portal.common.forms import offer
from portal.requests.forms import AskForm, QuotaForm, ReservationForm, moment
from portal.requests.models import RequestKind
from portal.requests.services import Asked
from portal.reservations import selectors as reservations
from portal.reservations.models import HOLDING
from portal.reservations.selectors import ReservationRow
from portal.slas import selectors as slas
from portal.teams.selectors import TeamRow


class AboutForm(AskForm):
    """Something about a reservation: its team and pool are the reservation's."""

    moments = ("ends_at",)
    needed: tuple[str, ...] = ("reservation", "ends_at", "reason")

    reservation = forms.TypedChoiceField(label=_("Reservation"), coerce=int, required=False)
    ends_at = moment(_("New end"))

    field_order = ("reservation", "ends_at", "reason")

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        teams: Iterable[TeamRow],
        pools: Iterable[tuple[int, str]],
        **kwargs: Any,
    ) -> None:
        own, known = list(teams), list(pools)
        super().__init__(data, teams=own, pools=known, **kwargs)
        del self.fields["team"], self.fields["pool"]
        self.held = {
            row.id: row
            for row in reservations.list_reservations(
                team_ids=[team.id for team in own], states=HOLDING
            )
        }
        names, pool_names = {team.id: team.name for team in own}, dict(known)
        told = ((row.id, _in_words(row, names, pool_names)) for row in self.held.values())
        offer(self, "reservation", [("", "—"), *told])

    @property
    def has_choices(self) -> bool:
        """Whether there is anything to ask it for."""
        return bool(self.held)

    def asked(self) -> Asked:
        """What was filled in, for the reservation's team and pool."""
        self.raise_faults()
        chosen = self.held.get(self.cleaned_data["reservation"] or 0)
        if chosen is None:
            self.add_error("reservation", str(_("Say which reservation.")))
            self.raise_faults()
        assert chosen is not None
        return Asked(
            kind=self.kind, team_id=chosen.team_id, pool_id=chosen.pool_id, about_id=chosen.id,
            ends_at=self.cleaned_data["ends_at"], zone=self.cleaned_data["zone"],
            reason=self.cleaned_data["reason"],
        )  # fmt: skip


def _in_words(row: ReservationRow, teams: Mapping[int, str], pools: Mapping[int, str]) -> str:
    """A reservation as one chooses it from a list."""
    span = formats.span(row.starts_at, row.ends_at)
    what = f"{row.gpus} × {pools.get(row.pool_id, '')}"
    return f"R-{row.id} · {teams.get(row.team_id, '')} · {what} · {span}"


class ExtensionForm(AboutForm):
    """A reservation ends later."""

    kind = RequestKind.EXTENSION


class GiveBackForm(AboutForm):
    """A reservation ends earlier."""

    kind = RequestKind.GIVE_BACK
    needed = ("reservation", "reason")

    ends_at = moment(_("New end"), _("Empty: at once."))


class SlaForm(AskForm):
    """Another tier for a team in a pool."""

    kind = RequestKind.SLA
    moments = ("starts_at", "ends_at")
    needed = ("tier", "reason")

    tier = forms.TypedChoiceField(label=_("Tier"), coerce=int, required=False)
    starts_at = moment(_("From"), _("Empty: as soon as it is approved."))
    ends_at = moment(_("Until"), _("Empty: until it is changed."))

    field_order = ("team", "pool", "tier", "starts_at", "ends_at", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        told = (
            (tier.pk, f"{tier.name} · {formats.duration(tier.target_wait_seconds)}")
            for tier in slas.list_tiers()
        )
        offer(self, "tier", [("", "—"), *told])

    def asked(self) -> Asked:
        """What was filled in."""
        self.raise_faults()
        found = self.cleaned_data
        return Asked(
            kind=self.kind, team_id=found["team"], pool_id=found["pool"],
            tier_id=found["tier"] or None, starts_at=found["starts_at"],
            ends_at=found["ends_at"], zone=found["zone"], reason=found["reason"],
        )  # fmt: skip


FORMS: dict[RequestKind, type[AskForm]] = {
    RequestKind.RESERVATION: ReservationForm,
    RequestKind.EXTENSION: ExtensionForm,
    RequestKind.GIVE_BACK: GiveBackForm,
    RequestKind.QUOTA: QuotaForm,
    RequestKind.SLA: SlaForm,
}
