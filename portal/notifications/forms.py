"""Forms of the room."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common.forms import offer
from portal.notifications.kinds import KINDS
from portal.notifications.models import Hook, Mailing

MAILINGS = [
    (Mailing.NOW, _("at once")),
    (Mailing.DAILY, _("once a day")),
    (Mailing.NEVER, _("never")),
]


class WishesForm(forms.Form):
    """How one wants each kind of news by e-mail."""

    def __init__(self, *args: Any, wishes: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in KINDS:
            self.fields[kind.name] = forms.ChoiceField(
                label=str(kind.label), choices=MAILINGS, initial=wishes[kind.name]
            )


class HookForm(forms.Form):
    """A program or a chat to tell."""

    name = forms.CharField(label=_("Name"), max_length=80)
    way = forms.ChoiceField(
        label=_("Kind"),
        choices=[(Hook.Way.WEBHOOK, _("webhook, signed")), (Hook.Way.CHAT, _("chat"))],
    )
    address = forms.CharField(
        label=_("Address"), max_length=1000,
        help_text=_(
            "For a webhook https://…; for a chat an address such as slack://… with its keys. It is "
            "kept sealed."
        ),
    )  # fmt: skip
    team = forms.ChoiceField(label=_("Of whom"), required=False)
    kinds = forms.MultipleChoiceField(
        label=_("What"), required=False, choices=[(kind.name, kind.label) for kind in KINDS],
        widget=forms.CheckboxSelectMultiple, help_text=_("None chosen: everything."),
    )  # fmt: skip

    def __init__(self, *args: Any, teams: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        everyone = [("", _("The whole organisation"))]
        offer(self, "team", [*everyone, *teams])
