"""The two ways between rows and a cluster: `collect` reads, `sync_cluster` writes."""

from portal.kubernetes.collecting import Collected, collect

__all__ = ["Collected", "collect"]
