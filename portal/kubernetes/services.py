"""Between rows and a cluster: `collect` and `watch` read, `sync_cluster` and `carry_out` write."""

from portal.kubernetes.carrying import Carried, carry_out, rehearse
from portal.kubernetes.collecting import Collected, Looked, collect, look
from portal.kubernetes.rights import missing as missing_rights
from portal.kubernetes.syncing import dry_run, sync_cluster
from portal.kubernetes.taking import take_over
from portal.kubernetes.watching.starting import is_watched, watch

__all__ = [
    "Carried", "Collected", "Looked", "carry_out", "collect", "dry_run", "is_watched", "look",
    "missing_rights", "rehearse", "sync_cluster", "take_over", "watch",
]  # fmt: skip
