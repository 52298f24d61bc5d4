"""The one place where a decision becomes a sentence, for pages and for the API.

Give it the word, its numbers and the names this reader may see; it answers in the language that
is active. Every word has a sentence, also one whose numbers are missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.utils.translation import gettext as _

from portal.scheduling import words_of_cluster, words_of_engine
from portal.scheduling.models import Verb
from portal.scheduling.wording import Facts, Names, Sentence, moment, say
from portal.workloads.models import ChargedTo

__all__ = ["WORDS", "Names", "Said", "Sentence", "build", "reason_sentence"]

WORDS = (*words_of_engine.IN_SHORT, *words_of_cluster.IN_SHORT)
"""Every word that can stand as a reason."""
OURS = ("cluster_suspended", "cluster_gated")
"""How a job waits for us in the cluster: says nothing that the engine's reason does not."""
_BUILDERS = {**words_of_engine.BUILDERS, **words_of_cluster.BUILDERS}
_IN_SHORT = {**words_of_engine.IN_SHORT, **words_of_cluster.IN_SHORT}


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of one workload's decision. `verb` empty: no tick has spoken of it yet."""

    verb: str = ""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    charged_to: str = ""
    position: int | None = None
    planned_start: datetime | None = None
    cluster_reason: str = ""
    cluster_message: str = ""
    cluster_detail: Mapping[str, Any] = field(default_factory=dict)


def build(said: Said, *, names: Names, zone: tzinfo = UTC, now: datetime | None = None) -> Sentence:
    """The sentence for a workload: the engine's reason, or what the cluster says after a start."""
    facts = Facts(said.detail, names, zone, now)
    if said.verb == Verb.WAIT:
        return _waiting(said, facts)
    after = words_of_cluster.AFTER_PLACING if said.verb == Verb.RUN else _IN_SHORT
    if said.cluster_reason in after and said.verb in ("", Verb.START, Verb.RUN):
        return _in_the_cluster(said, facts)
    match said.verb:
        case Verb.START:
            return _starting(said)
        case Verb.RUN:
            return _running(said.charged_to)
        case Verb.PREEMPT:
            return _making_room(facts)
        case _:
            return say(_("**Not yet looked at**: the next tick decides."))


def reason_sentence(
    word: str,
    detail: Mapping[str, Any],
    *,
    names: Names,
    zone: tzinfo = UTC,
    now: datetime | None = None,
    message: str = "",
) -> Sentence:
    """The sentence of one word alone; `message` is the cluster's own, quoted after it."""
    facts = Facts(detail, names, zone, now)
    also = [_in_short(other) for other in detail.get("also", ()) if other in _IN_SHORT]
    if message:
        also.append(_("The cluster says: %(message)s") % {"message": message})
    return replace(_of_word(word, facts), also=tuple(also))


def _of_word(word: str, facts: Facts) -> Sentence:
    try:
        return _BUILDERS[word](facts)
    except (KeyError, TypeError, ValueError):
        return say(_in_short_marked(word))


def _in_short_marked(word: str) -> str:
    template = _IN_SHORT.get(word)
    if template is None:
        return _("It waits (%(word)s).").replace("%(word)s", word.replace("%", "%%"))
    return _(template)


def _in_short(word: str) -> str:
    return say(_in_short_marked(word)).text


def _in_the_cluster(said: Said, facts: Facts) -> Sentence:
    """What the cluster says, with what it counted and its own words."""
    return reason_sentence(
        said.cluster_reason, said.cluster_detail, names=facts.names, zone=facts.zone,
        now=facts.now, message=said.cluster_message,
    )  # fmt: skip


def _waiting(said: Said, facts: Facts) -> Sentence:
    """The engine's reason; beside it the cluster's, where pods are there already."""
    sentence = reason_sentence(
        said.reason, said.detail, names=facts.names, zone=facts.zone, now=facts.now
    )
    more = list(sentence.also)
    if said.cluster_reason in _IN_SHORT and said.cluster_reason not in OURS:
        there = _in_the_cluster(said, facts)
        more += [_("In the cluster: %(sentence)s") % {"sentence": there.text}, *there.also]
    if said.planned_start is not None:
        when = moment(said.planned_start, facts.zone, facts.now)
        more.append(_("Planned to start at %(when)s.") % {"when": when})
    if said.position is not None:
        more.append(_("Number %(position)s in the queue.") % {"position": said.position})
    return replace(sentence, also=tuple(more))


def _starting(said: Said) -> Sentence:
    if said.detail.get("after"):
        return say(_("It **starts as soon as others have made room**."))
    nodes = [str(place["node"]) for place in said.detail.get("placements", ())]
    if not nodes:
        return say(_("It **may start now**."))
    return say(_("It **may start now**, on %(nodes)s."), nodes=", ".join(nodes))


def _running(charged_to: str) -> Sentence:
    match charged_to:
        case ChargedTo.GUARANTEED:
            return say(_("It runs **within the team's guarantee**."))
        case ChargedTo.RESERVED:
            return say(_("It runs **within a reservation**."))
        case ChargedTo.BORROWED:
            return say(_("It runs **on borrowed GPUs** and is the first to make room."))
        case _:
            return say(_("It **runs**."))


def _making_room(facts: Facts) -> Sentence:
    job = facts.job("for")
    if job is not None:
        return say(_("It **makes room for %(job)s**."), job=job)
    return say(_("It **makes room for a job that has the better right**."))
