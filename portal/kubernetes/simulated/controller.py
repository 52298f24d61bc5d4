"""The job controller and the quota admission it meets: pods are created, or refused in words.

A gang's pods are created together or not at all. A refusal stays on the job until pods exist.
"""

from typing import Any

from portal.kubernetes.simulated import chance
from portal.kubernetes.simulated.records import ACTIVE, Job, Pod, Stored
from portal.kubernetes.simulated.workshop import State, covers


def reconcile(state: State, job: Job, at: int) -> bool:
    """Create the pods of an active job that has none; say whether it has them now."""
    if job.state != ACTIVE or job.suspended or state.live[job.uid]:
        return False
    refusal = _refusal(state, job)
    if refusal:
        _refuse(state, job, at, refusal)
        return False
    klass = _priority_class(state, job)
    assert klass is not None
    job.attempt += 1
    for index in range(job.spec.tasks):
        state.create(_pod(state, job, index, at, klass.body), job)
    if job.refusal:
        job.refusal, job.refused_at = "", None
    state.touch(job)
    return True


def reconcile_namespace(state: State, namespace: str, at: int) -> None:
    """Look at a namespace's waiting jobs again, oldest first."""
    tried: set[tuple[str, str, int]] = set()
    for job in waiting(state, namespace):
        spec = job.spec
        shape = (job.priority_class, spec.pool, spec.gpus * spec.tasks)
        # Room only shrinks during this walk: what was refused once is refused again.
        if shape in tried and job.refusal:
            continue
        if not reconcile(state, job, at):
            tried.add(shape)


def waiting(state: State, namespace: str) -> list[Job]:
    """Active jobs of a namespace without pods, oldest first."""
    return sorted(
        (
            job
            for job in state.jobs.values()
            if job.spec.namespace == namespace
            and job.state == ACTIVE
            and not job.suspended
            and not state.live[job.uid]
        ),
        key=lambda job: (job.created_at, job.uid),
    )


def headroom(state: State, job: Job, priority_class: str) -> tuple[Stored, int, int] | None:
    """The quota with the least room for pods of a class: (quota, used, hard); None without one."""
    resource = state.resource_of(job.spec.pool)
    tightest: tuple[Stored, int, int] | None = None
    for quota in state.quotas[job.spec.namespace]:
        hard = hard_of(quota).get(f"requests.{resource}")
        if hard is None or not covers(quota, priority_class):
            continue
        used = state.quota_used(quota, resource)
        if tightest is None or hard - used < tightest[2] - tightest[1]:
            tightest = (quota, used, hard)
    return tightest


def hard_of(quota: Stored) -> dict[str, int]:
    """A quota's limits as whole numbers."""
    return {name: int(value) for name, value in quota.body.get("spec", {}).get("hard", {}).items()}


def _refusal(state: State, job: Job) -> str:
    """Why pods of this job may not be created; empty if they may."""
    name = f'pods "{job.spec.name}" is forbidden'
    if _priority_class(state, job) is None:
        return f"{name}: no PriorityClass with name {job.priority_class} was found"
    asked = job.spec.gpus * job.spec.tasks
    tightest = headroom(state, job, job.priority_class)
    if tightest is None or asked <= tightest[2] - tightest[1]:
        return ""
    quota, used, hard = tightest
    resource = f"requests.{state.resource_of(job.spec.pool)}"
    return (
        f"{name}: exceeded quota: {quota.name}, requested: {resource}={asked}, "
        f"used: {resource}={used}, limited: {resource}={hard}"
    )


def _refuse(state: State, job: Job, at: int, refusal: str) -> None:
    if refusal != job.refusal:
        job.refusal, job.refused_at = refusal, at
        state.touch(job)


def _priority_class(state: State, job: Job) -> Stored | None:
    return state.stored.get(("PriorityClass", "", job.priority_class))


def _pod(state: State, job: Job, index: int, at: int, klass: dict[str, Any]) -> Pod:
    uid = chance.uid(state.rules.seed, "pod", job.uid, job.attempt, index)
    return Pod(
        uid=uid,
        name=f"{job.spec.name}-{index}-{uid[:5]}",
        job=job.uid,
        index=index,
        created_at=at,
        priority=int(klass.get("value", 0)),
        preempts=klass.get("preemptionPolicy", "PreemptLowerPriority") != "Never",
        gated=job.gated,
    )
