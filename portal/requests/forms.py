"""What may be filled in, read the same from a page and from the API.

A form reads types and times; what contradicts itself is the kind's to say, in one place for both.
What a form does not name cannot be set.
"""

import zoneinfo
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.errors import Invalid
from portal.common.filters import PlainSelect
from portal.common.forms import offer, offered
from portal.requests import local_times
from portal.requests.faulting import LONGEST_TEXT
from portal.requests.kinds.contract import MOST
from portal.requests.models import RequestKind
from portal.requests.services import Asked
from portal.reservations.models import Source
from portal.teams.selectors import TeamRow

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class MomentInput(forms.DateTimeInput):
    """The browser's own picker; a plain line where the text carries an offset."""

    input_type = "datetime-local"

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Choose the kind of input by what has to be shown in it."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        shown = context["widget"]["value"] or ""
        if len(shown) > len("2026-11-02T09:00"):
            context["widget"]["type"] = "text"
        return context


def whole(
    label: "StrOrPromise", least: int, help_text: "StrOrPromise" = "", required: bool = False
) -> forms.IntegerField:
    """A field for a number of GPUs."""
    return forms.IntegerField(
        label=label, min_value=least, max_value=MOST, required=required, help_text=help_text,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )  # fmt: skip


def moment(label: "StrOrPromise", help_text: "StrOrPromise" = "") -> forms.CharField:
    """A field for a local time, read once its zone is known."""
    return forms.CharField(
        label=label, required=False, max_length=40, widget=MomentInput(), help_text=help_text
    )


class NeedingForm(forms.Form):
    """Says which fields are needed to go all the way, and reads without them too.

    A draft may leave them out and a rule may make them up; a page still marks them as needed.
    """

    needed: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._need(True)

    def full_clean(self) -> None:
        """Read what is there."""
        self._need(False)
        super().full_clean()
        self._need(True)

    def _need(self, needed: bool) -> None:
        for name in self.needed:
            self.fields[name].required = needed


class AskForm(NeedingForm):
    """What every kind asks for."""

    kind: RequestKind
    moments: tuple[str, ...] = ()
    needed: tuple[str, ...] = ("reason",)

    team = forms.TypedChoiceField(label=_("Team"), coerce=int, widget=PlainSelect)
    pool = forms.TypedChoiceField(label=_("Pool"), coerce=int)
    zone = forms.CharField(max_length=64, widget=forms.HiddenInput())
    reason = forms.CharField(
        label=_("What it is for"), required=False, max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}), help_text=_("Whoever decides reads it."),
    )  # fmt: skip

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        teams: Iterable[TeamRow],
        pools: Iterable[tuple[int, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(data, **kwargs)
        offer(self, "team", [(t.id, t.name) for t in teams])
        offer(self, "pool", list(pools))

    def clean_zone(self) -> str:
        """A zone the machine knows."""
        zone = str(self.cleaned_data["zone"])
        if zone not in zoneinfo.available_timezones():
            raise forms.ValidationError(_("There is no time zone of this name."))
        return zone

    def clean(self) -> dict[str, Any]:
        """Read local times once the zone is known."""
        cleaned = super().clean() or self.cleaned_data
        for name in self.moments:
            text = cleaned.get(name) or ""
            cleaned[name] = None
            if text and "zone" in cleaned:
                cleaned[name] = self._instant(name, text, cleaned["zone"])
        return cleaned

    def asked(self) -> Asked:
        """What was filled in; raises `Invalid` with every fault when it cannot be read."""
        self.raise_faults()
        values = {k: v for k, v in self.cleaned_data.items() if k not in ("team", "pool")}
        return Asked(
            kind=self.kind, team_id=self.cleaned_data["team"], pool_id=self.cleaned_data["pool"],
            **values,
        )  # fmt: skip

    def first_choices(self) -> dict[str, Any]:
        """What stands first where something has to be chosen, for a form nobody has filled in."""
        found: dict[str, Any] = {}
        for name in ("team", "pool", "reservation"):
            choices = list(getattr(self.fields.get(name), "choices", ()))
            found[name] = next((value for value, _label in choices if value), "")
        return found

    @property
    def has_choices(self) -> bool:
        """Whether there is anything to ask it for."""
        return bool(offered(self, "pool"))

    def raise_faults(self) -> None:
        """Raise `Invalid` with every fault when it cannot be read."""
        if not self.is_valid():
            raise Invalid(self.first_fault(), fields=self.faults())

    def faults(self) -> dict[str, str]:
        """Field → what is wrong with it."""
        return {name: " ".join(map(str, errors)) for name, errors in self.errors.items()}

    def first_fault(self) -> str:
        """One sentence for a program that shows only one."""
        return next(iter(self.faults().values()), "")

    def take(self, refusal: Invalid) -> None:
        """Show the faults a service found beside the fields they belong to."""
        for name, say in refusal.fields.items():
            self.add_error(name if name in self.fields else None, say)
        if not refusal.fields:
            self.add_error(None, str(refusal.message))

    def _instant(self, name: str, text: str, zone: str) -> datetime | None:
        try:
            return local_times.read(text, zone)
        except local_times.NotATime as fault:
            self.add_error(name, str(fault))
            return None


class ReservationForm(AskForm):
    """GPUs from one time to another."""

    kind = RequestKind.RESERVATION
    moments = ("starts_at", "ends_at")
    needed = ("gpus", "starts_at", "ends_at", "reason")

    gpus = whole(_("GPUs"), 1)
    gpus_per_node = whole(_("On each node"), 1, _("Leave empty if any nodes will do."))
    source = forms.ChoiceField(label=_("Taken from"), choices=Source.choices)
    starts_at = moment(_("From"))
    ends_at = moment(_("Until"))

    field_order = ("team", "gpus", "gpus_per_node", "source", "starts_at", "ends_at", "reason")


class QuotaForm(AskForm):
    """A team's figures in a pool."""

    kind = RequestKind.QUOTA
    moments = ("starts_at",)
    needed = ("guaranteed", "reason")

    guaranteed = whole(_("Guaranteed"), 0, _("GPUs the team can always have back."))
    limit = whole(_("Limit"), 0, _("The most it may use at once. Empty: no limit."))
    borrowing_limit = whole(_("Borrowing limit"), 0, _("Empty: up to the limit."))
    lending_limit = whole(_("Lending limit"), 0, _("Empty: all of the guarantee."))
    weight = whole(_("Weight"), 1, _("Empty: the team's own weight."))
    per_user_limit = whole(_("Limit per person"), 1, _("Empty: no limit."))
    starts_at = moment(_("From"), _("Empty: as soon as it is approved."))

    field_order = (
        "team", "pool", "guaranteed", "limit", "borrowing_limit", "lending_limit", "weight",
        "per_user_limit", "starts_at", "reason",
    )  # fmt: skip


class DecisionForm(NeedingForm):
    """What whoever decides may say; the note is required to reject."""

    needed = ("granted_gpus",)

    granted_gpus = whole(_("GPUs to grant"), 0, _("Fewer than asked approves a part."))
    note = forms.CharField(
        label=_("Note"), required=False, max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 2}), help_text=_("Required to reject."),
    )  # fmt: skip
    version = forms.IntegerField(required=False, widget=forms.HiddenInput())

    def __init__(self, *args: Any, in_part: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not in_part:
            self.fields["granted_gpus"].widget = forms.HiddenInput()


class CommentForm(forms.Form):
    """One comment."""

    text = forms.CharField(
        label=_("Comment"), max_length=LONGEST_TEXT, widget=forms.Textarea(attrs={"rows": 2})
    )
