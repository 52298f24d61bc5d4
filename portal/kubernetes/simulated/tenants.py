"""The people at the cluster: they hand in the trace's jobs, name a class, and lose patience.

They know their quota and nothing else: whoever finds room in the team's guarantee names the
guaranteed class, else the burst class; a job that still waits after a while is handed in again
when the guarantee has room by then. Where jobs are admitted they hand them in suspended, services
with a gate on their pods, and leave the rest to whoever admits.
"""

from dataclasses import replace

from portal.kubernetes.simulated import chance, controller, lifecycle
from portal.kubernetes.simulated.records import ACTIVE, Job, Spec
from portal.kubernetes.simulated.workshop import ARRIVAL, CANCEL, GIVE_UP, PATIENCE, Arrival, State


def expect_next(state: State) -> None:
    """Let the next job of the trace come; after the last one the trace begins again."""
    rules = state.rules
    if state.cursor >= len(state.arrivals):
        if not state.arrivals or rules.repeat_seconds is None:
            return
        state.cycle, state.cursor = state.cycle + 1, 0
    at = next_arrival(state)
    state.expect(at, ARRIVAL, "")


def next_arrival(state: State) -> int:
    """When the job at the cursor comes."""
    rules = state.rules
    return rules.starts_at + state.cycle * (rules.repeat_seconds or 0) + _next(state).offset


def _next(state: State) -> Arrival:
    return state.arrivals[state.cursor]


def arrive(state: State, at: int) -> None:
    """The job at the cursor comes, and the next one is awaited."""
    spec = _next(state).spec
    if state.cycle:
        spec = replace(spec, name=f"{spec.name}-{state.cycle}")
    state.cursor += 1
    submit(state, spec, at)
    expect_next(state)


def submit(state: State, spec: Spec, at: int) -> Job:
    """Somebody creates a job; its pods follow at once, if they may."""
    uid = chance.uid(state.rules.seed, "job", spec.namespace, spec.name, at, state.version)
    job = Job(uid=uid, spec=spec, created_at=at, priority_class=spec.priority_class)
    if state.admits:
        job.gated = spec.annotations.get("evenshare.io/class") == "inference"
        job.suspended = not job.gated
    if not spec.priority_class:
        job.priority_class = _class_for(state, job)
    if spec.cancelled_after is not None:
        job.cancels_at = at + spec.cancelled_after
        state.expect(job.cancels_at, CANCEL, uid)
    if spec.waits_at_most is not None:
        state.expect(at + spec.waits_at_most, GIVE_UP, uid)
    state.jobs[uid] = job
    state.touch(job)
    controller.reconcile(state, job, at)
    if spec.patience is not None:
        state.expect(at + spec.patience, PATIENCE, uid)
    return job


def guaranteed(pool: str) -> str:
    """The class for work within the guarantee."""
    return f"evenshare-guaranteed-{pool}"


def burst(pool: str) -> str:
    """The class for work beyond it."""
    return f"evenshare-burst-{pool}"


def _class_for(state: State, job: Job) -> str:
    return guaranteed(job.spec.pool) if _has_room(state, job) else burst(job.spec.pool)


def _has_room(state: State, job: Job) -> bool:
    """Whether the team's guarantee has room for all of a job now."""
    name = guaranteed(job.spec.pool)
    if ("ResourceQuota", job.spec.namespace, name) not in state.stored:
        return False
    tightest = controller.headroom(state, job, name)
    return tightest is not None and job.spec.gpus * job.spec.tasks <= tightest[2] - tightest[1]


def reconsider(state: State, namespace: str, at: int) -> None:
    """Hand in again, as guaranteed, what has waited long and would find room by now."""
    for job in _impatient(state, namespace, at):
        if _has_room(state, job):
            lifecycle.delete(state, job, at)
            submit(state, job.spec, at)


def _impatient(state: State, namespace: str, at: int) -> list[Job]:
    return sorted(
        (
            job
            for job in state.jobs.values()
            if job.spec.namespace == namespace
            and job.state == ACTIVE
            and job.spec.patience is not None
            and job.created_at + job.spec.patience <= at
            and job.priority_class == burst(job.spec.pool)
            and not job.spec.priority_class
            and not (job.suspended or job.gated)
            and all(pod.scheduled_at is None for pod in state.live[job.uid])
        ),
        key=lambda job: (job.created_at, job.uid),
    )
