"""Makes a simulated cluster out of nodes and jobs of any trace.

What a trace lacks is drawn from the seed: the pool of a job that names no model, CPU and memory,
the estimate, the class of work, failures, cancellations, saving, the time an image takes. GPUs and
durations are the trace's own; a share of a GPU takes a whole one, since pools are dedicated.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portal.kubernetes.simulated import chance, file
from portal.kubernetes.simulated.records import Node, Spec, Stored
from portal.kubernetes.simulated.workshop import Arrival, Rules
from scheduler_core.traces import Job as TraceJob
from scheduler_core.traces import Node as TraceNode

WHOLE_GPU = 1000
MEDIAN_SECONDS = 3600
UNOWNED = "sandbox"
KINDS = ("training", "inference", "interactive", "batch")


@dataclass(frozen=True)
class Plan:
    """What a new cluster is made of. `people` names who works in a namespace."""

    nodes: tuple[TraceNode, ...]
    jobs: tuple[TraceJob, ...]
    rules: Rules
    namespace_of: Callable[[TraceJob], str]
    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unowned_share: float = 0.01


def pool_name(gpu_model: str) -> str:
    """The name of the pool of a GPU model: letters, digits and dashes."""
    kept = "".join(c if c.isalnum() else "-" for c in gpu_model.lower()).strip("-")
    return kept or "gpu"


def pools(nodes: Iterable[TraceNode]) -> dict[str, list[TraceNode]]:
    """The machines with GPUs, by pool."""
    found: dict[str, list[TraceNode]] = {}
    for node in nodes:
        if node.gpus:
            found.setdefault(pool_name(node.gpu_model), []).append(node)
    return found


def pool_of(job: TraceJob, known: Mapping[str, list[TraceNode]], seed: int) -> str:
    """The pool of a job: of a model it names, else drawn, pools of more nodes more often.

    Only pools count whose nodes hold the job whole, or else those it is at most a third of.
    """
    named = [pool_name(model) for model in job.gpu_models]
    names = sorted(name for name in known if name in named) or sorted(known)
    gpus = -(-job.gpu_milli // WHOLE_GPU)
    wide = [n for n in names if max(node.gpus for node in known[n]) >= gpus] or [
        n for n in names if sum(node.gpus for node in known[n]) >= 3 * gpus
    ]
    names = wide or names
    weights = [len(known[name]) for name in names]
    return chance.one_of(seed, names, weights, "pool", job.id)


def create(path: Path, plan: Plan) -> None:
    """Make the cluster's file. Raises `FileExistsError`."""
    known = pools(plan.nodes)
    seed = plan.rules.seed
    jobs = [job for job in plan.jobs if job.gpu_milli > 0]
    first = min((job.submitted_at for job in jobs), default=0)
    arrivals = [
        Arrival(job.submitted_at - first, spec)
        for job in jobs
        for spec in [spec_of(job, plan, known)]
    ]
    namespaces = sorted({arrival.spec.namespace for arrival in arrivals} | set(plan.people))
    nodes = [_node(node, name, plan.rules) for name, members in known.items() for node in members]
    stored = [
        Stored(chance.uid(seed, "Namespace", name), "Namespace", "", name, plan.rules.starts_at, {})
        for name in namespaces
    ]
    file.create(path, plan.rules, nodes, stored, arrivals)


def _node(node: TraceNode, pool: str, rules: Rules) -> Node:
    seed, life = rules.seed, rules.mean_node_life
    lost_at = rules.starts_at + chance.waiting_time(seed, life, "life", node.name) if life else None
    return Node(
        uid=chance.uid(seed, "node", node.name), name=node.name, pool=pool,
        gpu_model=node.gpu_model, resource="nvidia.com/gpu", gpus=node.gpus,
        cpu_milli=node.cpu_milli, memory_mib=node.memory_mib, created_at=rules.starts_at,
        changed_at=rules.starts_at, changes_at=lost_at,
    )  # fmt: skip


def spec_of(job: TraceJob, plan: Plan, known: Mapping[str, list[TraceNode]]) -> Spec:
    """The job as a person would hand it in, with everything drawn that the trace lacks."""
    seed, key = plan.rules.seed, job.id
    pool = pool_of(job, known, seed)
    widest = max(known[pool], key=lambda node: node.gpus)
    tasks, gpus = shape(job, widest.gpus)
    work = max(60, job.duration_seconds or MEDIAN_SECONDS)
    kind = _kind(seed, job, work, tasks * gpus)
    namespace = plan.namespace_of(job)
    people = plan.people.get(namespace, ())
    person = job.user or (
        chance.one_of(seed, people, _few(people), "person", key) if people else ""
    )
    if chance.share(seed, "unowned", key) < plan.unowned_share:
        namespace = UNOWNED
    spec = Spec(
        name=f"{kind}-{key}", namespace=namespace, pool=pool, gpus=gpus, work_seconds=work,
        tasks=tasks, cpu_milli=job.cpu_milli or _cpu(seed, key, gpus, widest),
        memory_mib=job.memory_mib or _memory(seed, key, gpus, widest),
        start_delay=chance.whole(seed, 15, 180, "image", key),
        patience=chance.whole(seed, 7200, 21600, "patience", key),
        waits_at_most=chance.whole(seed, 18 * 3600, 72 * 3600, "waits", key),
    )  # fmt: skip
    _draw_endings(seed, spec, kind, key)
    spec.annotations = _annotations(seed, spec, job, kind, person)
    return spec


def shape(job: TraceJob, widest: int) -> tuple[int, int]:
    """Tasks and GPUs of each: one task if a node can hold the job, else tasks of whole nodes."""
    gpus = -(-job.gpu_milli // WHOLE_GPU)
    if job.tasks > 1:
        return job.tasks, min(gpus, widest)
    return (1, gpus) if gpus <= widest else (-(-gpus // widest), widest)


def _few(people: tuple[str, ...]) -> list[float]:
    """A few people hand in most jobs."""
    return [1.0 / (number + 1) for number in range(len(people))]


def _kind(seed: int, job: TraceJob, work: int, gpus: int) -> str:
    if job.kind != "batch":
        return job.kind
    odds = (0.55, 0.05, 0.10, 0.30) if gpus < 4 else (0.88, 0.02, 0.0, 0.10)
    if work > 6 * 3600 and gpus < 4:
        odds = (0.70, 0.15, 0.0, 0.15)
    return chance.one_of(seed, KINDS, odds, "kind", job.id)


def _cpu(seed: int, key: str, gpus: int, node: TraceNode) -> int:
    """Between a third and nine tenths of the GPUs' even part of a node, rarely more."""
    part = node.cpu_milli * gpus // node.gpus
    percent = chance.whole(seed, 33, 90, "cpu", key)
    if gpus < node.gpus and chance.share(seed, "hungry", key) < 0.04:
        percent = 160
    return min(node.cpu_milli * 9 // 10, part * percent // 100 // 500 * 500)


def _memory(seed: int, key: str, gpus: int, node: TraceNode) -> int:
    part = node.memory_mib * gpus // node.gpus
    return part * chance.whole(seed, 25, 85, "memory", key) // 100 // 256 * 256


def _draw_endings(seed: int, spec: Spec, kind: str, key: str) -> None:
    """Failures, cancellations and saving."""
    if chance.share(seed, "fails", key) < 0.06:
        spec.fails_after = chance.whole(seed, 60, spec.work_seconds, "fails after", key)
    elif chance.share(seed, "cancelled", key) < 0.03:
        spec.cancelled_after = chance.whole(seed, 300, 2 * spec.work_seconds, "gives up", key)
    if kind == "training" and chance.share(seed, "saves", key) < 0.7:
        spec.save_every = chance.whole(seed, 40, 180, "rhythm", key) * 60
        spec.save_seconds = chance.whole(seed, 10, 120, "save", key)
        spec.restore_seconds = chance.whole(seed, 20, 240, "restore", key)


def _annotations(seed: int, spec: Spec, job: TraceJob, kind: str, person: str) -> dict[str, str]:
    given = {"class": kind, "preemptible": "true" if job.preemptible else "false"}
    if person:
        given["user"] = person
    if job.priority:
        given["priority"] = str(job.priority)
    estimate = job.estimate_seconds
    if estimate is None and chance.share(seed, "estimates", job.id) < 0.85:
        percent = chance.whole(seed, 80, 220, "estimate", job.id)
        estimate = max(300, spec.work_seconds * percent // 100 // 300 * 300)
    if estimate is not None:
        given["duration"] = str(estimate)
    if spec.save_every:
        given["save-seconds"] = str(spec.save_seconds)
        given["restore-seconds"] = str(spec.restore_seconds)
    return {f"evenshare.io/{name}": value for name, value in given.items()}
