"""What the plan reports beside its decisions: shares, quotas, fairness, fragmentation."""

from fractions import Fraction

import numpy as np

from scheduler_core import division, metrics
from scheduler_core.metrics.fragmentation import Kind
from scheduler_core.model import ChargedTo, Fairness, PoolFragmentation, QuotaOut, Share, Workload
from scheduler_core.ordering import factors
from scheduler_core.resources import DEVICE, NOTHING, Amount, devices_of, gpus_down, gpus_up
from scheduler_core.scratch import USED_UNIT, State


class Report:
    """Divides before the walk, reports after it. Figures are milli-GPU."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._fair = [self._divide(pool) for pool in range(len(state.books))]
        self._factors = factors(state.tree, [team.weight for team in state.tree.teams], state.used)

    def _pool_of(self, workload: Workload) -> int | None:
        """Return the pool a waiting workload counts in: the first it may run in."""
        return next(iter(self._state.pools_for(workload)), None)

    def _requests(self, pool: int) -> list[Amount]:
        """Return what each team runs and waits for in the pool."""
        state = self._state
        asked = list(state.books[pool].own)
        for workload in state.waiting.values():
            if self._pool_of(workload) == pool:
                team = state.tree.index[workload.team]
                asked[team] = asked[team].plus(workload.ask)
        return asked

    def _divide(self, pool: int) -> list[int]:
        state = self._state
        book = state.books[pool]
        claims = division.Claims(
            guaranteed=book.entitled,
            requests=[asked.gpu_milli for asked in self._requests(pool)],
            limits=book.terms.limits,
            weights=book.terms.weights,
            used=self._used_shares(),
        )
        return division.fair_shares(
            state.tree,
            claims,
            book.capacity.gpu_milli,
            k=state.policy.usage_weight_k,
            whole_devices=not state.nodes.shared[pool],
        )

    def _used_shares(self) -> list[Fraction]:
        """Return each subtree's decayed use as a share of the organisation's capacity."""
        state = self._state
        if not state.policy.usage_weight_k:
            return [Fraction(0)] * len(state.tree)
        capacity = state.policy.usage_capacity_milli
        if capacity is None:
            capacity = sum(
                book.capacity.gpu_milli * pool.gpu_equivalent_milli // 1000
                for book, pool in zip(state.books, state.snapshot.pools, strict=True)
            )
        below = state.tree.subtree_sums(state.used)
        return [
            metrics.usage_share(used // USED_UNIT, capacity, state.policy.half_life_seconds)
            for used in below
        ]

    def shares(self, charged: dict[str, ChargedTo]) -> tuple[Share, ...]:
        """Return a row for each team with a quota or work in a pool."""
        borrowed = self._borrowed(charged)
        rows: list[Share] = []
        for pool, book in enumerate(self._state.books):
            requests = self._requests(pool)
            lent = self._lent(pool)
            rows += [
                self._share(pool, team, requests[team], borrowed.get((pool, team), 0), lent[team])
                for team in range(len(self._state.tree))
                if book.terms.has_quota[team] or book.own[team] != NOTHING
            ]
        return tuple(rows)

    def _share(self, pool: int, team: int, request: Amount, borrowed: int, lent: int) -> Share:
        book = self._state.books[pool]
        own = book.own[team]
        factor = self._factors[team]
        return Share(
            team=self._state.tree.teams[team].name,
            pool=self._state.snapshot.pools[pool].name,
            guaranteed=book.terms.guaranteed[team],
            reserved=book.terms.reserved[team],
            fair_share=self._fair[pool][team],
            allocated=own.gpu_milli,
            borrowed=borrowed,
            lent=lent,
            available=book.available(team),
            dominant_share=metrics.dominant_share(own, book.capacity),
            satisfaction=float(metrics.satisfaction(own, request)),
            factor=None if factor is None else float(factor),
        )

    def _borrowed(self, charged: dict[str, ChargedTo]) -> dict[tuple[int, int], int]:
        sums: dict[tuple[int, int], int] = {}
        for name, held in self._state.running.items():
            if charged[name] == "borrowed":
                key = (held.pool, held.team)
                sums[key] = sums.get(key, 0) + held.gpu_milli
        return sums

    def _lent(self, pool: int) -> list[int]:
        """Return what of each team's entitlement others use.

        What is borrowed comes first from what nobody was promised; the rest is spread over the
        lenders by what they leave unused, the remainders to the largest fractions.
        """
        book = self._state.books[pool]
        use = [own.gpu_milli for own in book.own]
        pairs = list(zip(book.entitled, use, strict=True))
        unused = [max(0, entitled - used) for entitled, used in pairs]
        borrowed = sum(max(0, used - entitled) for entitled, used in pairs)
        lent = min(sum(unused), max(0, borrowed - book.unpromised()))
        if not lent:
            return [0] * len(unused)
        total = sum(unused)
        parts = [lent * one // total for one in unused]
        order = sorted(range(len(unused)), key=lambda team: (-(lent * unused[team] % total), team))
        for team in order[: lent - sum(parts)]:
            parts[team] += 1
        return parts

    def quotas(self, charged: dict[str, ChargedTo]) -> tuple[QuotaOut, ...]:
        """Return what Kubernetes is to be told, in whole devices."""
        borrowed = self._borrowed(charged)
        rows: list[QuotaOut] = []
        for pool, book in enumerate(self._state.books):
            for team, entitled in enumerate(book.entitled):
                if not book.terms.has_quota[team]:
                    continue
                beyond = gpus_down(self._fair[pool][team] - entitled)
                lent_now = gpus_up(borrowed.get((pool, team), 0))
                rows.append(
                    QuotaOut(
                        self._state.tree.teams[team].name,
                        self._state.snapshot.pools[pool].name,
                        gpus_down(entitled),
                        max(beyond, lent_now, 0),
                    )
                )
        return tuple(rows)

    def fairness(self) -> Fairness:
        """Return Jain's index over allocated ÷ fair share of the teams with a request."""
        served = [
            Fraction(book.own[team].gpu_milli, fair)
            for pool, book in enumerate(self._state.books)
            for team, fair in enumerate(self._fair[pool])
            if fair
        ]
        return Fairness(metrics.jain(served))

    def fragmentation(self) -> tuple[PoolFragmentation, ...]:
        """Return what is free in each pool, and what of it typical work cannot use."""
        nodes = self._state.nodes
        kinds = metrics.typical_kinds(self._kinds().items())
        rows = []
        for pool, where in zip(self._state.snapshot.pools, nodes.slices, strict=True):
            usable = nodes.usable[where]
            free = np.where(usable, nodes.gpu_free[where], 0)
            lost = metrics.fragmented(
                nodes.devices[where][usable],
                nodes.cpu_free[where][usable],
                [node.gpu_model for node in np.array(nodes.nodes[where], dtype=object)[usable]],
                kinds,
            )
            rows.append(
                PoolFragmentation(
                    pool.name,
                    int(free.sum()),
                    int(free.max(initial=0)),
                    round(float(lost.sum())),
                )
            )
        return tuple(rows)

    def _kinds(self) -> dict[Kind, int]:
        """Count the tasks of all workloads by kind."""
        counts: dict[Kind, int] = {}
        for workload in self._state.snapshot.workloads:
            per_task = workload.per_task
            milli = per_task.gpu_milli
            kind = Kind(
                per_task.cpu_milli, min(milli, DEVICE), devices_of(milli), workload.gpu_models
            )
            counts[kind] = counts.get(kind, 0) + workload.tasks
        return counts
