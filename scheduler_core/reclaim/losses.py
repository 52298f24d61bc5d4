"""What a preemption costs."""

from scheduler_core.model import Workload


def lost_milli_seconds(workload: Workload, started_at: int, now: int, tasks: int) -> int:
    """Return the work lost when so many tasks stop, in milli-GPU-seconds.

    GPUs × (seconds since the last checkpoint + save + restore). Work that cannot save loses all
    since its start; a checkpoint from before the start counts as made at the start.
    """
    milli = tasks * workload.per_task.gpu_milli
    checkpoint = workload.checkpoint
    if checkpoint is None:
        return milli * max(0, now - started_at)
    saved_at = max(started_at, checkpoint.last_saved_at or 0)
    seconds = max(0, now - saved_at) + checkpoint.save_seconds + checkpoint.restore_seconds
    return milli * seconds
