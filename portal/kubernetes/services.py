"""The ways between rows and a cluster: `collect` and `watch` read, `sync_cluster` writes."""

from portal.kubernetes.collecting import Collected, Looked, collect, look
from portal.kubernetes.syncing import dry_run, sync_cluster
from portal.kubernetes.taking import take_over
from portal.kubernetes.watching.starting import is_watched, watch

__all__ = [
    "Collected", "Looked", "collect", "dry_run", "is_watched", "look", "sync_cluster",
    "take_over", "watch",
]  # fmt: skip
