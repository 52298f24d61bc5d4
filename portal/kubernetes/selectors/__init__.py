"""Reads of how clusters stand: what was looked at and written when, what differs, what Ray counts."""

from portal.kubernetes.selectors.clusters import ClusterRow, get_cluster, list_clusters
from portal.kubernetes.selectors.drift import SORTS, get_drift, list_drift, list_managers, sort_of
from portal.kubernetes.selectors.jobs import STANDS_STILL, list_asks, list_stops
from portal.kubernetes.selectors.log import get_run, list_changes, list_runs
from portal.kubernetes.selectors.ray import list_ray

__all__ = [
    "SORTS",
    "STANDS_STILL",
    "ClusterRow",
    "get_cluster",
    "get_drift",
    "get_run",
    "list_asks",
    "list_changes",
    "list_clusters",
    "list_drift",
    "list_managers",
    "list_ray",
    "list_runs",
    "list_stops",
    "sort_of",
]
