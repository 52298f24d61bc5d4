"""The matrix as a form: one row of figures per team of a pool, and from when they hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.errors import Refusal
from portal.quotas.services import Wanted
from portal.requests import local_times
from portal.requests.forms import moment, whole
from portal.requests.quota_figures import FIGURES
from portal.teams.selectors import TeamRow


class FiguresForm(forms.Form):
    """One team's figures; an empty one is not set."""

    guaranteed = whole(_("Guaranteed"), 0, required=True)
    limit = whole(_("Limit"), 0)
    weight = whole(_("Weight"), 1)
    borrowing_limit = whole(_("Borrowing limit"), 0)
    lending_limit = whole(_("Lending limit"), 0)
    per_user_limit = whole(_("Limit per person"), 1)
    seen_id = forms.IntegerField(required=False, widget=forms.HiddenInput())

    def __init__(
        self, data: Mapping[str, Any] | None, *, team: TeamRow, initial: Mapping[str, Any]
    ) -> None:
        super().__init__(data, initial={**initial}, prefix=f"t{team.id}")
        self.team = team
        for name in FIGURES:
            # Its column and its row are its label: nothing else is said twice in a table.
            label = f"{team.name}: {self.fields[name].label}"
            self.fields[name].widget.attrs["aria-label"] = label

    def clean(self) -> dict[str, Any]:
        """A limit is never below the guarantee."""
        cleaned = super().clean() or self.cleaned_data
        guaranteed, limit = cleaned.get("guaranteed"), cleaned.get("limit")
        if guaranteed is not None and limit is not None and guaranteed > limit:
            self.add_error("limit", _("The limit is below the guarantee."))
        return cleaned

    def wanted(self) -> Wanted:
        """What was typed."""
        figures = {name: self.cleaned_data[name] for name in FIGURES}
        return Wanted(team_id=self.team.id, seen_id=self.cleaned_data["seen_id"], **figures)


class WhenForm(forms.Form):
    """From when the figures hold."""

    valid_from = moment(_("From"), _("Empty: as soon as it is saved."))
    zone = forms.CharField(max_length=64, widget=forms.HiddenInput())

    def clean(self) -> dict[str, Any]:
        """Read the local time once the zone is known."""
        cleaned = super().clean() or self.cleaned_data
        text, zone = cleaned.get("valid_from") or "", cleaned.get("zone") or ""
        cleaned["valid_from"] = None
        if text and zone:
            try:
                cleaned["valid_from"] = local_times.read(text, zone)
            except (local_times.NotATime, KeyError, ValueError) as fault:
                self.add_error("valid_from", str(fault))
        return cleaned


@dataclass(slots=True)
class MatrixForm:
    """All rows and the date, read together."""

    when: WhenForm
    rows: list[FiguresForm]

    def is_valid(self) -> bool:
        """Whether every row and the date can be read."""
        return all([self.when.is_valid(), *(row.is_valid() for row in self.rows)])

    def faults(self) -> list[str]:
        """What keeps it from being read, each with its team and its figure."""
        found = [str(say) for errors in self.when.errors.values() for say in errors]
        for row in self.rows:
            for name, errors in row.errors.items():
                label = row.fields[name].label if name in row.fields else ""
                found.append(f"{row.team.name} · {label}: {' '.join(map(str, errors))}")
        return found

    def wanted(self) -> list[Wanted]:
        """What was typed, team by team."""
        return [row.wanted() for row in self.rows]

    def valid_from(self, now: datetime) -> datetime:
        """From when, now where nothing was typed."""
        found: datetime | None = self.when.cleaned_data["valid_from"]
        return now if found is None else found

    def take(self, refusal: Refusal) -> None:
        """Show a refusal: at the row of the team it names, else above them all."""
        team_id = refusal.details.get("team_id")
        row = next((row for row in self.rows if row.team.id == team_id), None)
        for name, say in refusal.fields.items():
            if row is not None and name in row.fields:
                row.add_error(name, say)
        self.when.add_error(None, str(refusal.message))


def form_of(
    teams: Sequence[TeamRow],
    *,
    zone: str,
    data: Mapping[str, Any] | None = None,
    figures: Mapping[int, Mapping[str, int | None]] | None = None,
    newest: Mapping[int, int] | None = None,
) -> MatrixForm:
    """The form for these teams, as typed, or filled in with what they have."""
    had, seen = figures or {}, newest or {}
    return MatrixForm(
        when=WhenForm(data, initial={"zone": zone}),
        rows=[
            FiguresForm(
                data, team=team, initial={**had.get(team.id, {}), "seen_id": seen.get(team.id, 0)}
            )
            for team in teams
        ],
    )  # fmt: skip
