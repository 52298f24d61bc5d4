"""Why a job does not run, as far as only the cluster knows: a word, its numbers, the sentence. Pure.

The first that applies: suspended; pods refused (quota, policy); held by a gate; no scheduler has
looked; the scheduler's sentence, where its own words fit several causes told apart by our count of
nodes; then, with a node chosen, what its start waits for. Numbers that change with every pod that
comes and goes are left out, except where a word needs them: rows follow numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portal.kubernetes import pods, reach, starting, verdict
from portal.kubernetes.port import Manifest
from portal.kubernetes.reach import Need, Room
from portal.kubernetes.verdict import Kind, Verdict

QUEUE = "kueue.x-k8s.io/queue-name"
DEFAULT_SCHEDULER = "default-scheduler"
MILLI = 1000
WORDS: dict[Kind, str] = {
    Kind.STORAGE: "cluster_storage",
    Kind.TOPOLOGY: "cluster_topology",
    Kind.NEIGHBOURS: "cluster_affinity",
    Kind.CPU_MEMORY: "cluster_cpu_memory",
    Kind.DEVICES: "cluster_gpu_short",
    Kind.LABELS: "cluster_affinity",
    Kind.TAINT: "cluster_taint",
    Kind.CORDON: "cluster_taint",
}
"""In order of preference where a sentence names several for as many nodes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A `cluster_*` word, the cluster's own sentence, and the numbers of the word."""

    word: str = ""
    sentence: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


NOTHING = Reason()


def why(owner: Manifest, members: Sequence[Manifest], refusal: str, room: Room) -> Reason:
    """Why a job with these pods does not run; nothing is said of one that does."""
    spec = owner.get("spec") or {}
    if spec.get("suspend"):
        queue = str((owner["metadata"].get("labels") or {}).get(QUEUE, ""))
        return Reason("cluster_suspended", "", {"queue": queue} if queue else {})
    refused = refusal or _told_by(owner)
    if refused:
        word = "cluster_quota" if _is_quota(refused) else "cluster_policy"
        return Reason(word, refused)
    waiting = [item for item in members if _waits(item)]
    if waiting:
        return _unplaced(waiting, room)
    return _placed(members)


def _is_quota(refused: str) -> bool:
    marks = ("exceeded quota", "insufficient quota", "status unknown for quota")
    return any(mark in refused for mark in marks)


def _told_by(owner: Manifest) -> str:
    """A refusal the owner itself still shows, after its event is gone."""
    told = pods.condition(owner, "ReplicaFailure")
    return str(told.get("message", "")) if told.get("status") == "True" else ""


def _waits(item: Manifest) -> bool:
    ended = item.get("status", {}).get("phase") in pods.ENDED
    return not (item.get("spec", {}).get("nodeName") or ended)


def _unplaced(waiting: Sequence[Manifest], room: Room) -> Reason:
    """Of pods without a node: gates first, then the first of them that was given a sentence."""
    told = [pods.condition(item, "PodScheduled") for item in waiting]
    for item, condition in zip(waiting, told, strict=True):
        if condition.get("reason") == "SchedulingGated" or item["spec"].get("schedulingGates"):
            gates = [str(gate.get("name", "")) for gate in item["spec"].get("schedulingGates", [])]
            return Reason("cluster_gated", str(condition.get("message", "")), {"gates": gates})
    for item, condition in zip(waiting, told, strict=True):
        if condition.get("message"):
            return _judged(item, str(condition["message"]), room)
    scheduler = str(waiting[0]["spec"].get("schedulerName") or DEFAULT_SCHEDULER)
    return Reason("cluster_scheduler", "", {"scheduler": scheduler})


def _judged(item: Manifest, sentence: str, room: Room) -> Reason:
    """The cause of a sentence, for one pod; thousands that ask alike and are told alike share it."""
    if item.get("status", {}).get("nominatedNodeName"):
        return Reason("cluster_preempting", sentence)
    spec = item["spec"]
    needs = reach.need(spec)
    case = (reach.terms(spec), needs.key, sentence)
    return room.once(case, lambda: _unschedulable(spec, needs, verdict.parse(sentence), room))


def _unschedulable(spec: Mapping[str, Any], needs: Need, said: Verdict, room: Room) -> Reason:
    if said.makes_room:
        return Reason("cluster_preempting", said.sentence)
    reachable = room.of(spec)
    counted = said.counted()
    if kind_before := _before(said):
        return Reason(WORDS.get(kind_before, "cluster_unknown"), said.sentence)
    if room.machines and Kind.LABELS in counted and not reachable.matching:
        return Reason("cluster_affinity", said.sentence, {"by": "labels"})
    closed = Kind.TAINT in counted or Kind.CORDON in counted
    if reachable.matching and not reachable.usable and closed:
        return _kept_away(said, reachable.matching)
    wide = [m for m in reachable.usable if _holds_devices(m, needs)]
    if Kind.DEVICES in counted and reachable.usable and not wide:
        return _too_few_devices(said, needs, reachable.usable)
    if Kind.CPU_MEMORY in counted and wide and not any(_holds_rest(m, needs) for m in wide):
        return _too_little_beside(said, needs, wide)
    return _by_the_sentence(said, bool(wide))


def _before(said: Verdict) -> Kind | None:
    """What stood in the way before any node was looked at."""
    if not said.before or said.reasons:
        return None
    return verdict.kind_of(said.before)


def _kept_away(said: Verdict, matching: Sequence[reach.Machine]) -> Reason:
    cordoned = sum(not machine.open for machine in matching)
    return Reason("cluster_taint", said.sentence, {"nodes": len(matching), "cordoned": cordoned})


def _holds_devices(machine: reach.Machine, needs: Need) -> bool:
    return all(machine.free[name] >= count for name, count in needs.devices.items())


def _holds_rest(machine: reach.Machine, needs: Need) -> bool:
    return machine.free_cpu >= needs.cpu_milli and machine.free_memory >= needs.memory_mib


def _too_few_devices(said: Verdict, needs: Need, usable: Iterable[reach.Machine]) -> Reason:
    """Shortage, or fragmentation: the sum over nodes it may use fits, no node does."""
    there = list(usable)
    name = next(n for n, c in needs.devices.items() if any(m.free[n] < c for m in there))
    asked = needs.devices[name]
    free = [max(0, machine.free[name]) for machine in there]
    short = sum(count for count, text in said.reasons if verdict.kind_of(text) is Kind.DEVICES)
    detail: dict[str, Any] = {
        "needs_on_one_node": MILLI * asked,
        "largest_node": MILLI * max((m.offers.get(name, 0) for m in there), default=0),
        "resource": name,
        "nodes_short": short,
        "nodes": said.nodes or len(there),
    }
    if sum(free) < asked:
        return Reason("cluster_gpu_short", said.sentence, detail)
    counts = {"free_gpu_milli": MILLI * sum(free), "largest_on_one_node": MILLI * max(free)}
    return Reason("cluster_fragmented", said.sentence, {**detail, **counts})


def _too_little_beside(said: Verdict, needs: Need, wide: Sequence[reach.Machine]) -> Reason:
    """Of nodes with devices enough: which of the two is short, and the most one has at all."""
    if any(machine.free_cpu >= needs.cpu_milli for machine in wide):
        most = max(machine.memory_mib for machine in wide)
        detail = {"lacks": "memory", "needs": needs.memory_mib, "largest": most}
    else:
        most = max(machine.cpu_milli for machine in wide)
        detail = {"lacks": "cpu", "needs": needs.cpu_milli, "largest": most}
    return Reason("cluster_cpu_memory", said.sentence, detail)


def _by_the_sentence(said: Verdict, fits: bool) -> Reason:
    """What stands in the way on most nodes; where devices and labels do not, anything else first."""
    counted = said.counted()
    by_count = sorted(
        (kind for kind in WORDS if counted[kind]),
        key=lambda kind: (fits and kind in _JUDGED, -counted[kind], list(WORDS).index(kind)),
    )
    if not by_count:
        return Reason("cluster_unknown", said.sentence)
    detail = {"by": "neighbours"} if by_count[0] is Kind.NEIGHBOURS else {}
    return Reason(WORDS[by_count[0]], said.sentence, detail)


_JUDGED = frozenset({Kind.DEVICES, Kind.LABELS, Kind.TAINT, Kind.CORDON})
"""What our own count has ruled out where a node fits."""


def _placed(members: Iterable[Manifest]) -> Reason:
    """Of pods with a node: what the start of the first that is not ready waits for."""
    for item in members:
        word, sentence = starting.waits_for(item)
        if word:
            return Reason(word, sentence)
    return NOTHING
