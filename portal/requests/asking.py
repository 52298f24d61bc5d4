"""From what somebody typed or sent to an asking, the same for a page and for the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.inventory import selectors as inventory
from portal.requests import kinds
from portal.requests.forms import AskForm
from portal.requests.models import Request, RequestKind
from portal.requests.more_forms import FORMS
from portal.requests.services import Asked
from portal.teams import selectors as teams
from portal.teams.permissions import ASK
from portal.teams.selectors import Access, Tree

SERVER_SIDE = frozenset({"kind"})
"""Keys of a body that are read before the form is chosen."""


def form_for(
    kind: RequestKind,
    data: Mapping[str, Any] | None,
    *,
    access: Access,
    tree: Tree,
    pools: list[inventory.PoolRow],
) -> AskForm:
    """The form of a kind, for the teams this person may ask for."""
    return FORMS[kind](
        data,
        teams=teams.list_teams(access, roles=ASK, tree=tree),
        pools=[(pool.id, pool.name) for pool in pools],
    )


def asked_from(
    body: Mapping[str, Any], *, access: Access, now: datetime, default_zone: str
) -> Asked:
    """Read a body of the API. Raises `Invalid`; what a form does not name cannot be set."""
    kind = body.get("kind", "")
    if not isinstance(kind, str) or kind not in kinds.KINDS:
        say = _("There is no request of this kind.")
        raise Invalid(say, fields={"kind": say})
    tree, pools = teams.get_tree(now=now), inventory.list_pools(now=now)
    data = {"zone": default_zone, **body}
    if kind == RequestKind.RESERVATION:
        data.setdefault("source", "pool")
    form = form_for(RequestKind(kind), data, access=access, tree=tree, pools=pools)
    unknown = sorted(set(body) - set(form.fields) - SERVER_SIDE)
    if unknown:
        say = _("This cannot be set.")
        raise Invalid(say, fields=dict.fromkeys(unknown, say))
    return form.asked()


def unsaved(asked: Asked, now: datetime) -> Request:
    """A row that is never saved, to look at what was asked."""
    row = Request(kind=asked.kind, team_id=asked.team_id, pool_id=asked.pool_id)
    for name in kinds.of(row).columns:
        setattr(row, name, getattr(asked, name))
    kinds.of(row).fill(row, now)
    return row
