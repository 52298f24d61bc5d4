"""Which lines of the audit chain are news, of what kind, and for whom."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from portal.notifications.models import Mailing


class Audience(Enum):
    """Whom a line concerns. Nobody is told what they did themselves."""

    DECIDERS = "who may decide on it"
    FOLLOWERS = "who asked, answered or commented before"
    LEADS = "the leads of its team and of the branches above"
    BILL = "the leads of its team, and finance"
    OVERSEERS = "the organisation's admins"
    SELF = "whose account it is, also by their own hand"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of news, as people choose it in their settings."""

    name: str
    label: str | Promise
    mailing: Mailing


KINDS = (
    Kind("decide", _("Requests that wait for your decision"), Mailing.NOW),
    Kind("request", _("What becomes of requests you took part in"), Mailing.NOW),
    Kind("reservation", _("Reservations of your teams"), Mailing.DAILY),
    Kind("quota", _("Quotas and SLAs of your teams"), Mailing.DAILY),
    Kind("bill", _("Statements and budgets"), Mailing.DAILY),
    Kind("cluster", _("Clusters: pauses, undoing, take-overs"), Mailing.NOW),
    Kind("account", _("Your sign-in, tokens and roles"), Mailing.NOW),
)
BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class News:
    """What an action tells: its kind, its audience, and the sentence, with `{…}` to fill."""

    kind: str
    audience: Audience
    sentence: str


def _news(kind: str, audience: Audience) -> Callable[[str], News]:
    return lambda sentence: News(kind, audience, sentence)


_decide, _request = _news("decide", Audience.DECIDERS), _news("request", Audience.FOLLOWERS)
_reservation, _quota = _news("reservation", Audience.LEADS), _news("quota", Audience.LEADS)
_bill, _cluster = _news("bill", Audience.BILL), _news("cluster", Audience.OVERSEERS)
_account = _news("account", Audience.SELF)

NEWS: dict[str, News] = {
    "requests.submitted": _decide(gettext_noop("{actor} submitted request {id} for {team}.")),
    "requests.agreed": _decide(
        gettext_noop("{actor} agreed to request {id} for {team}; it needs one more.")
    ),
    "requests.approved": _request(gettext_noop("{actor} approved request {id} for {team}.")),
    "requests.rejected": _request(gettext_noop("{actor} rejected request {id} for {team}.")),
    "requests.cancelled": _request(gettext_noop("{actor} cancelled request {id} for {team}.")),
    "requests.expired": _request(
        gettext_noop("Request {id} for {team} lapsed: nobody decided in time.")
    ),
    "requests.commented": _request(gettext_noop("{actor} commented on request {id} for {team}.")),
    "reservations.held": _reservation(gettext_noop("{team} has reservation {id}.")),
    "reservations.opened": _reservation(gettext_noop("Reservation {id} of {team} has begun.")),
    "reservations.completed": _reservation(gettext_noop("Reservation {id} of {team} has ended.")),
    "reservations.cancelled": _reservation(
        gettext_noop("Reservation {id} of {team} was cancelled.")
    ),
    "reservations.extended": _reservation(gettext_noop("Reservation {id} of {team} was extended.")),
    "reservations.shortened": _reservation(
        gettext_noop("Reservation {id} of {team} was shortened.")
    ),
    "reservations.given_back": _reservation(
        gettext_noop("Reservation {id} of {team} was given back early.")
    ),
    "reservations.released": _reservation(
        gettext_noop("Reservation {id} of {team} was released: nobody used it.")
    ),
    "quotas.changed": _quota(gettext_noop("{actor} changed a quota of {team}.")),
    "slas.set": _quota(gettext_noop("{actor} changed the SLA of {team}.")),
    "finance.statement_revised": _bill(
        gettext_noop("Statement {id} of {team} has a new revision.")
    ),
    "finance.commented": _bill(gettext_noop("{actor} commented on statement {id} of {team}.")),
    "finance.budget_alert": _bill(gettext_noop("The budget of {team} is nearly used up.")),
    "finance.month_closed": _bill(gettext_noop("{actor} closed a month: statements are final.")),
    "kubernetes.sync_paused": _cluster(gettext_noop("{actor} paused the sync of a cluster.")),
    "kubernetes.sync_resumed": _cluster(gettext_noop("{actor} resumed the sync of a cluster.")),
    "kubernetes.sync_undone": _cluster(gettext_noop("{actor} undid the last sync of a cluster.")),
    "kubernetes.taken_over": _cluster(
        gettext_noop("{actor} took fields of a cluster over from another manager.")
    ),
    "teams.password_changed": _account(gettext_noop("Your password was changed.")),
    "teams.second_factor_added": _account(gettext_noop("Two-step sign-in was turned on.")),
    "teams.second_factor_removed": _account(gettext_noop("Two-step sign-in was turned off.")),
    "teams.second_factor_reset": _account(
        gettext_noop("{actor} turned your two-step sign-in off.")
    ),
    "teams.recovery_codes_renewed": _account(gettext_noop("Your recovery codes were renewed.")),
    "teams.token_created": _account(gettext_noop("An API token was made in your name.")),
    "teams.role_granted": _account(gettext_noop("{actor} gave you a role.")),
    "teams.role_revoked": _account(gettext_noop("{actor} took a role from you.")),
}
