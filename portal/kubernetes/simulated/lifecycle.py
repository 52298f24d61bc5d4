"""What happens to jobs and pods once they are there: run, save, stop, end, be deleted."""

from portal.kubernetes.simulated import chance, objects, records
from portal.kubernetes.simulated.records import ACTIVE, COMPLETE, FAILED, Job, Node, Pod
from portal.kubernetes.simulated.workshop import END, GONE, NODE, REAP, SAVE, State


def ready(state: State, pod: Pod, at: int) -> None:
    """A pod's image is there and it runs; once the whole gang runs, the work goes on."""
    pod.ready_at = at
    state.touch(pod)
    job = state.jobs[pod.job]
    pods = state.live[job.uid]
    if len(pods) < job.spec.tasks or any(p.ready_at is None or p.stopping_at for p in pods):
        return
    spec = job.spec
    restore = spec.restore_seconds if job.done_seconds else 0
    job.zero_at = at + restore - job.done_seconds
    goal = min(spec.work_seconds, spec.fails_after or spec.work_seconds)
    job.ends_at = max(at + 1, job.zero_at + goal)
    job.saves_at = at + restore + spec.save_every if spec.save_every else None
    state.expect(job.ends_at, END, job.uid)
    state.expect(job.saves_at, SAVE, job.uid)
    state.touch(job)


def save(state: State, job: Job, at: int) -> None:
    """A job saves what it has done."""
    assert job.zero_at is not None
    assert job.spec.save_every is not None
    job.done_seconds = at - job.zero_at
    job.saved_at = at
    job.saves_at = at + job.spec.save_every
    state.expect(job.saves_at, SAVE, job.uid)
    state.touch(job)


def finish(state: State, job: Job, at: int) -> None:
    """A job's work is done, or has failed; its pods end with it."""
    spec = job.spec
    failed = spec.fails_after is not None and spec.fails_after < spec.work_seconds
    job.state = FAILED if failed else COMPLETE
    _close(state, job, at, records.CRASHED if failed else records.SUCCEEDED)
    job.ended_at, job.reaped_at = at, at + state.rules.keep_finished_seconds
    state.expect(job.reaped_at, REAP, job.uid)
    state.touch(job)


def _close(state: State, job: Job, at: int, why: str) -> None:
    for pod in list(state.live[job.uid]):
        state.end(pod, job, at, why)
    job.zero_at = job.ends_at = job.saves_at = None


def grace(state: State, job: Job) -> int:
    """How long this job's pods take to go: long enough to save what they have done."""
    return max(state.rules.grace_seconds, job.spec.save_seconds if job.spec.save_every else 0)


def stop(
    state: State, job: Job, at: int, why: str, *, by: str = "", seconds: int | None = None
) -> None:
    """Let a job's pods go: those that hold devices after their grace, the others at once."""
    if seconds is None:
        seconds = grace(state, job)
    if job.zero_at is not None and job.spec.save_every and seconds >= job.spec.save_seconds:
        job.done_seconds = max(job.done_seconds, at - job.zero_at)
        job.saved_at = at
    job.zero_at = job.ends_at = job.saves_at = None
    for pod in list(state.live[job.uid]):
        if pod.stopping_at is not None:
            continue
        pod.why = why
        if by:
            pod.message = f"preempted by job {by}"
        pod.stopping_at = at
        pod.gone_at = at + (seconds if pod.scheduled_at is not None else 0)
        state.expect(pod.gone_at, GONE, pod.uid)
        state.touch(pod)
    state.touch(job)


def gone(state: State, pod: Pod, at: int) -> None:
    """A stopped pod is gone: its devices are free and the object is deleted."""
    job = state.jobs[pod.job]
    state.end(pod, job, at, pod.why)
    state.remove(pod, objects.pod(state, pod, job))
    if not state.live[job.uid] and job.state == records.DELETED:
        _forget(state, job)


def delete(state: State, job: Job, at: int) -> None:
    """Somebody deletes a job: its pods go first, then it."""
    job.state, job.ended_at = records.DELETED, at
    stop(state, job, at, records.DELETED)
    if not state.live[job.uid]:
        _forget(state, job)


def reap(state: State, job: Job) -> None:
    """A finished job has been kept long enough."""
    _forget(state, job)


def _forget(state: State, job: Job) -> None:
    for pod in [p for p in state.pods.values() if p.job == job.uid]:
        state.remove(pod, objects.pod(state, pod, job))
    state.remove(job, objects.job(state, job))
    state.live.pop(job.uid, None)


def change_node(state: State, node: Node, at: int) -> None:
    """A node is lost, with all that runs on it, or comes back."""
    seed = state.rules.seed
    node.ready = not node.ready
    node.changed_at = at
    if node.ready:
        life = state.rules.mean_node_life
        lived = chance.waiting_time(seed, life, "life", node.name, at) if life else None
        node.changes_at = None if lived is None else at + lived
    else:
        node.changes_at = at + chance.whole(seed, 1200, 21600, "repair", node.name, at)
        for job in _jobs_on(state, node):
            _lose(state, job, at)
    state.expect(node.changes_at, NODE, node.name)
    state.stirred.add(node.pool)
    state.touch(node)


def _jobs_on(state: State, node: Node) -> list[Job]:
    return [
        state.jobs[uid]
        for uid, pods in list(state.live.items())
        if any(pod.node == node.name for pod in pods)
    ]


def _lose(state: State, job: Job, at: int) -> None:
    """All pods of a job die at once with one of its nodes; what it had not saved is lost."""
    pods = list(state.live[job.uid])
    _close(state, job, at, records.NODE_LOST)
    for pod in pods:
        if pod.stopping_at is None:
            pod.stopping_at = at
        state.remove(pod, objects.pod(state, pod, job))
    if job.state == ACTIVE:
        state.touch(job)
    elif job.state == records.DELETED:
        _forget(state, job)
