"""Whether a job that is only thought of would start now, and as what it would count.

The engine is asked with the job behind all others, on the rows as they are: quota, calendar,
others' right and free nodes are weighed as the next tick would weigh them.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import clock, formats
from portal.inventory.models import ClusterMode, Pool
from portal.kubernetes import composing
from portal.quotas import selectors as quotas
from portal.scheduling import rehearsing, sentences
from portal.scheduling import selectors as scheduling
from portal.scheduling import services as deciding
from portal.scheduling.models import Verb
from portal.scheduling.rehearsing import Wish
from portal.scheduling.selectors import Sentence, ShareRow, queue
from portal.scheduling.sentences import Said
from portal.teams.selectors import Access
from portal.workloads.models import ChargedTo


@dataclass(frozen=True, slots=True)
class Weighed:
    """The answer: what would become of it in few words, why, more of less weight, the charge."""

    tone: str
    head: str
    sentence: Sentence
    more: tuple[str, ...]
    charge: str
    starts: bool
    planned_start: datetime | None


def weigh(
    wish: Wish, pool: Pool, *, access: Access, zone: tzinfo, now: datetime
) -> Weighed:  # fmt: skip
    """Ask the engine about a job that is only thought of."""
    said = rehearsing.ask(cluster_id=pool.cluster_id, wish=wish, now=now)
    names = queue.names_for([said.detail], access)
    if said.reason in _NEVER:
        said = replace(said, position=None)
    starts = said.verb == Verb.START
    charge = _charge(wish, said, now)
    sentence = _starting(said) if starts else _waiting(said, names, zone, now)
    late = deciding.too_old(pool.cluster, clock.real_now())
    more = [*sentence.also, *_besides(wish, said, now), *_of_the_mode(pool, starts=starts)]
    never = said.reason in _NEVER
    return Weighed(
        tone="bad" if never else "good" if starts and not late else "warn",
        head=_("By what was last known:") if late else _head(starts=starts, never=never),
        sentence=Sentence(sentence.text, sentence.strong),
        more=(late, *more) if late else tuple(more),
        charge=charge,
        starts=starts,
        planned_start=said.planned_start,
    )


def refused_as(charge: str, wish: Wish, pool: Pool) -> str:
    """Why the cluster's quotas would refuse pods of this class, as they are written now; or empty."""
    if pool.cluster.mode == ClusterMode.OBSERVE or charge != composing.GUARANTEED:
        return ""
    share = _share(wish)
    asks = wish.tasks * wish.gpus
    if share is None or asks <= share.guaranteed_gpus:
        return ""
    return _(
        "Within the guarantee its pods would be refused: the quota of that class is %(quota)s, and "
        "they ask for %(asks)s. Let it count as borrowed."
    ) % {"quota": formats.number(share.guaranteed_gpus), "asks": formats.number(asks)}


def _share(wish: Wish) -> ShareRow | None:
    """What the newest tick gave the team in the pool."""
    found = scheduling.shares_now(team_id=wish.team_id, pool_id=wish.pool_id)
    return next(iter(found), None)


_NEVER = frozenset(
    {
        "no_quota_in_pool", "never_fits", "quota_exceeded", "gpu_model_absent",
        "gpu_memory_short", "fraction_on_dedicated_pool", "taint", "zone", "topology",
    }
)  # fmt: skip
"""What waiting alone does not mend, or not surely."""


def _head(*, starts: bool, never: bool) -> str:
    if starts:
        return _("It would start.")
    return _("It would not start as things are.") if never else _("It would wait.")


def _charge(wish: Wish, said: Said, now: datetime) -> str:
    """The class its pods should carry: by what the engine counts it as, else by the guarantee."""
    if said.charged_to:
        return composing.BURST if said.charged_to == ChargedTo.BORROWED else composing.GUARANTEED
    quota = quotas.get_quota(team_id=wish.team_id, pool_id=wish.pool_id, at=now)
    within = quota is not None and wish.tasks * wish.gpus <= quota.guaranteed
    return composing.GUARANTEED if within else composing.BURST


def _starting(said: Said) -> Sentence:
    if said.detail.get("after"):
        return Sentence(_("As soon as others have made room."))
    nodes = len({place["node"] for place in said.detail["placements"]})
    text = ngettext("Now, on %(nodes)s node.", "Now, on %(nodes)s nodes.", nodes)
    return Sentence(text % {"nodes": formats.number(nodes)})


def _waiting(
    said: Said, names: sentences.Names, zone: tzinfo, now: datetime
) -> Sentence:  # fmt: skip
    return sentences.build(said, names=names, zone=zone, now=now)


def _besides(wish: Wish, said: Said, now: datetime) -> list[str]:
    """What it would count as, and what its team has."""
    lines: list[str] = []
    if said.charged_to:
        counted = {
            ChargedTo.GUARANTEED: _("It would count within the team's guarantee."),
            ChargedTo.RESERVED: _("It would count within a reservation."),
            ChargedTo.BORROWED: _("It would run on borrowed GPUs, and be the first to make room."),
        }
        lines.append(counted[ChargedTo(said.charged_to)])
    share = _share(wish)
    if share is not None:
        numbers = {
            "used": formats.gpus(share.allocated), "guaranteed": formats.gpus(share.guaranteed)
        }  # fmt: skip
        lines.append(_("In use by the team now: %(used)s; guaranteed: %(guaranteed)s.") % numbers)
    if wish.duration_seconds is not None and said.verb == Verb.START:
        ends = now + timedelta(seconds=wish.duration_seconds)
        lines.append(_("It would be done %(at)s.") % {"at": formats.when(ends, now, inside=True)})
    return lines


def _of_the_mode(pool: Pool, *, starts: bool) -> list[str]:
    """What the cluster's mode makes of the answer."""
    match pool.cluster.mode:
        case ClusterMode.OBSERVE:
            return [_("The cluster is only observed: its own scheduler decides, by its own rules.")]
        case ClusterMode.QUOTA | ClusterMode.RECLAIM if starts:
            return [_("The cluster's own scheduler places it; this is what Evenshare expects.")]
        case _:
            return []
