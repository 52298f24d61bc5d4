"""The one thing that a study changes, and the terms with it changed.

A change is kept as JSON with a `kind`:

| kind | the rest |
|---|---|
| `rules` | `rules`: keys of the policy with their new values, one as a rule |
| `quota` | `team`, `pool`, `guaranteed` and `limit` in GPUs, no limit being null |
| `nodes` | `pool` (null on bare nodes) and `nodes`, how many come or, below zero, go |
| `reserve` | `team`, `pool`, `gpus`, `starts_at` and `ends_at` in whole seconds |
| `unreserve` | `reservation` |
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.scheduling import naming, trials
from portal.scheduling import services as scheduling
from scheduler_core import document
from scheduler_core import model as engine
from scheduler_core.resources import DEVICE

Change = Mapping[str, Any]
Terms = engine.Snapshot
MOST_NODES = 10_000


def applied(change: Change, terms: Terms) -> Terms:
    """The terms with the one thing changed. Raises `Invalid` where that makes no sense."""
    return _APPLY[change["kind"]](change, terms)


def changed_rules(change: Change, rules: Mapping[str, object]) -> dict[str, object]:
    """A policy with the change in it; the policy itself where something else changes."""
    merged = dict(rules)
    for key, value in change.get("rules", {}).items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = {**old, **value} if both else value  # type: ignore[dict-item]
    return scheduling.checked_rules(merged)


def _rules(change: Change, terms: Terms) -> Terms:
    before = document.policy_to_json(terms.policy)
    tick = before.pop("tick_seconds")
    rules = changed_rules(change, before)
    return replace(terms, policy=document.parse_policy({**rules, "tick_seconds": tick}))


def _quota(change: Change, terms: Terms) -> Terms:
    team, pool = naming.team(change["team"]), _pool(change)
    _known(terms, team, pool)
    limit = None if change["limit"] is None else change["limit"] * DEVICE
    old = next(
        (q for q in terms.quotas if (q.team, q.pool) == (team, pool) and q.valid_at(terms.now)),
        engine.Quota(team, pool, 0),
    )
    new = replace(
        old, guaranteed=change["guaranteed"] * DEVICE, limit=limit, valid_from=None, valid_to=None
    )
    others = tuple(q for q in terms.quotas if (q.team, q.pool) != (team, pool))
    return replace(terms, quotas=(*others, new))


def _nodes(change: Change, terms: Terms) -> Terms:
    pool, count = _pool(change), int(change["nodes"])
    mine = [node for node in terms.nodes if node.pool == pool]
    if not mine:
        raise Invalid(_("This pool has no nodes to begin with."), fields={"pool": _("No nodes.")})
    if count < 0:
        if -count >= len(mine):
            raise Invalid(
                _("The pool has %(have)d nodes; at least one has to stay.") % {"have": len(mine)},
                fields={"nodes": _("Take fewer away.")},
            )
        gone = {node.name for node in mine[count:]}
        return replace(terms, nodes=tuple(n for n in terms.nodes if n.name not in gone))
    usual = _most_usual(mine)
    new = tuple(replace(usual, name=f"{usual.name}-new-{number}") for number in range(count))
    place = max(i for i, node in enumerate(terms.nodes) if node.pool == pool) + 1
    return replace(terms, nodes=(*terms.nodes[:place], *new, *terms.nodes[place:]))


def _most_usual(nodes: list[engine.Node]) -> engine.Node:
    """The last node of the size most nodes of the pool have."""
    sizes = Counter(node.gpus for node in nodes)
    size = max(sizes, key=lambda gpus: (sizes[gpus], gpus))
    return [node for node in nodes if node.gpus == size][-1]


def _reserve(change: Change, terms: Terms) -> Terms:
    team, pool = naming.team(change["team"]), _pool(change)
    _known(terms, team, pool)
    new = engine.Reservation(
        id="new", team=team, pool=pool, gpu_milli=change["gpus"] * DEVICE,
        starts_at=change["starts_at"], ends_at=change["ends_at"],
    )  # fmt: skip
    return replace(terms, reservations=(*terms.reservations, new))


def _unreserve(change: Change, terms: Terms) -> Terms:
    name = naming.reservation(change["reservation"])
    left = tuple(one for one in terms.reservations if one.id != name)
    if len(left) == len(terms.reservations):
        raise Invalid(
            _("This reservation is not in the period."),
            fields={"reservation": _("Choose one of the period.")},
        )
    return replace(terms, reservations=left)


def _pool(change: Change) -> str:
    return trials.POOL if change["pool"] is None else naming.pool(change["pool"])


def _known(terms: Terms, team: str, pool: str) -> None:
    if team not in {one.name for one in terms.teams}:
        raise Invalid(_("There is no such team."), fields={"team": _("Unknown.")})
    if pool not in {one.name for one in terms.pools}:
        raise Invalid(_("The cluster has no such pool."), fields={"pool": _("Unknown.")})


_APPLY: dict[str, Callable[[Change, Terms], Terms]] = {
    "rules": _rules,
    "quota": _quota,
    "nodes": _nodes,
    "reserve": _reserve,
    "unreserve": _unreserve,
}
KINDS = frozenset(_APPLY)
