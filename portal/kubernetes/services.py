"""The two ways between rows and a cluster: `collect` reads, `sync_cluster` writes."""

from portal.kubernetes.collecting import Collected, Looked, collect, look
from portal.kubernetes.syncing import dry_run, sync_cluster
from portal.kubernetes.taking import take_over

__all__ = ["Collected", "Looked", "collect", "dry_run", "look", "sync_cluster", "take_over"]
