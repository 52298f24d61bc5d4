"""The order in which things happen: from event to event, up to the instant the caller names."""

import heapq
from collections.abc import Callable

from portal.kubernetes.simulated import controller, lifecycle, records, scheduler, tenants, workshop
from portal.kubernetes.simulated.workshop import State


def advance(state: State, to: int) -> None:
    """Let everything happen that is due up to and including `to`; never backwards.

    Called with the clock's own instant it settles what a call from outside has stirred.
    """
    if state.stirred:
        scheduler.schedule(state, state.clock)
    while state.heap and state.heap[0][0] <= to:
        at = state.heap[0][0]
        state.clock = max(state.clock, at)
        while state.heap and state.heap[0][0] == at:
            _, rank, key = heapq.heappop(state.heap)
            HANDLERS[rank](state, key, at)
        if state.stirred:
            scheduler.schedule(state, at)
    state.clock = max(state.clock, to)


def _end(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None and job.ends_at == at:
        lifecycle.finish(state, job, at)


def _gone(state: State, key: str, at: int) -> None:
    pod = state.pods.get(key)
    if pod is not None and pod.gone_at == at and pod.ended_at is None:
        lifecycle.gone(state, pod, at)


def _node(state: State, key: str, at: int) -> None:
    node = state.nodes.get(key)
    if node is not None and node.changes_at == at:
        lifecycle.change_node(state, node, at)


def _ready(state: State, key: str, at: int) -> None:
    pod = state.pods.get(key)
    if pod is not None and pod.ready_due == at and pod.ready_at is None and not pod.stopping_at:
        lifecycle.ready(state, pod, at)


def _save(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None and job.saves_at == at:
        lifecycle.save(state, job, at)


def _cancel(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None and job.cancels_at == at and job.state == records.ACTIVE:
        lifecycle.delete(state, job, at)


def _reap(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None and job.reaped_at == at:
        lifecycle.reap(state, job)


def _arrive(state: State, key: str, at: int) -> None:
    tenants.arrive(state, at)


def _lose_patience(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None:
        tenants.reconsider(state, job.spec.namespace, at)


def _give_up(state: State, key: str, at: int) -> None:
    job = state.jobs.get(key)
    if job is not None and not job.started and job.state == records.ACTIVE:
        lifecycle.delete(state, job, at)


def _retry(state: State, key: str, at: int) -> None:
    if state.retries.get(key) == at:
        del state.retries[key]
        tenants.reconsider(state, key, at)
        controller.reconcile_namespace(state, key, at)


HANDLERS: dict[int, Callable[[State, str, int], None]] = {
    workshop.END: _end,
    workshop.GONE: _gone,
    workshop.NODE: _node,
    workshop.READY: _ready,
    workshop.SAVE: _save,
    workshop.CANCEL: _cancel,
    workshop.REAP: _reap,
    workshop.ARRIVAL: _arrive,
    workshop.PATIENCE: _lose_patience,
    workshop.GIVE_UP: _give_up,
    workshop.RETRY: _retry,
}
