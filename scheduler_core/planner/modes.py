"""Which placement this cycle uses: the policy's, or what the hybrid switch says."""

from scheduler_core.scratch import State


def placement_mode(state: State) -> str:
    """Return the placement's name.

    The hybrid packs at or above `high`, spreads at or below `low`, and between the two, or before
    it has dwelt long enough, stays as it is.
    """
    hybrid = state.policy.hybrid
    if hybrid is None:
        return state.policy.placement
    if hybrid.since is not None and state.now - hybrid.since < hybrid.min_dwell_seconds:
        return hybrid.mode
    capacity = sum(book.capacity.gpu_milli for book in state.books)
    used = sum(one.gpu_milli for book in state.books for one in book.own)
    if used >= hybrid.high * capacity:
        return "pack"
    if used <= hybrid.low * capacity:
        return "spread"
    return hybrid.mode
