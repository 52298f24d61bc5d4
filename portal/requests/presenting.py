"""Requests and answers as plain JSON, times in UTC with a Z."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

from portal.inventory.calendar import FOREVER
from portal.requests import kinds, words
from portal.requests.effects import Effects
from portal.requests.examining import Examined
from portal.requests.models import Request, RequestKind
from portal.requests.quota_figures import FIGURES
from portal.requests.selectors import Said
from portal.teams.permissions import COST
from portal.teams.selectors import Access

RESERVATION = ("gpus", "gpus_per_node", "source", "starts_at", "ends_at", "zone")
COLUMNS: dict[RequestKind, tuple[str, ...]] = {
    RequestKind.RESERVATION: RESERVATION,
    RequestKind.EXTENSION: ("about_id", *RESERVATION),
    RequestKind.GIVE_BACK: ("about_id", "gpus", "ends_at", "zone"),
    RequestKind.QUOTA: (*FIGURES, "starts_at"),
    RequestKind.SLA: ("tier_id", "starts_at", "ends_at", "zone"),
}
NAMES = {"about_id": "about", "tier_id": "tier"}


def text(at: datetime | None) -> str | None:
    """An instant, spelled the same in a first answer and in one remembered for its key."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def request(row: Request, access: Access, now: datetime) -> dict[str, Any]:
    """One request; what it costs only for those who may see it."""
    columns = COLUMNS[RequestKind(row.kind)]
    shown: dict[str, Any] = {
        "id": row.pk,
        "kind": row.kind,
        "state": row.state,
        "lapsed": words.has_lapsed(row, now),
        "team": {"id": row.team_id, "name": row.team.name},
        "pool": {"id": row.pool_id, "name": row.pool.name},
        "requested_by": row.requested_by_id,
        "submitted_by": row.submitted_by_id,
        "reason": row.reason,
        **{NAMES.get(name, name): plain(getattr(row, name)) for name in columns},
        "granted_gpus": row.granted_gpus,
        "created_at": text(row.created_at),
        "submitted_at": text(row.submitted_at),
        "expires_at": text(row.expires_at),
        "decided_at": text(row.decided_at),
        "decided_by": row.decided_by_id,
        "cancelled_by": row.cancelled_by_id,
        "decision_note": row.decision_note,
        "reservation": row.reservation_id,
        "quota": row.quota_id,
        "sla": row.sla_id,
        "approvals_needed": row.approvals_needed,
        "version": row.version,
    }
    if access.holds(COST, team_id=row.team_id):
        shown |= {"cost_micro": row.cost_micro, "currency": row.currency}
    return shown


def comment(said: Said) -> dict[str, Any]:
    """One comment."""
    return {"id": said.id, "author": said.author_id, "at": text(said.at), "text": said.text}


def examined(
    found: Examined | None, row: Request, now: datetime, *, priced: bool
) -> dict[str, Any]:
    """An answer in numbers and in sentences; what is not filled in yet where there is none."""
    if found is None:
        kind = kinds.of(row)
        return {"fits": None, "fields": {**kind.missing(row, now), **kind.faults(row, now)}}
    body: dict[str, Any] = plain(found.answer)
    body.pop("names", None)
    body["sentences"] = [found.said.head, *found.said.lines]
    body["ways"] = [{**plain(a.way), "sentence": a.text} for a in found.alternatives]
    if not priced:
        body.pop("price", None)
        body.pop("beyond_budget", None)
        for way in body["ways"]:
            way.pop("price", None)
    return body


def effects(found: Effects) -> dict[str, Any]:
    """What a change of quotas would do; the refusal as a problem's code and words."""
    refusal = found.refusal
    return {
        "fits": refusal is None,
        "valid_from": text(found.from_at),
        "before": plain(found.before),
        "after": plain(found.after),
        "changes": [
            {
                "team": {"id": c.team_id, "name": c.team}, "before": dict(c.before),
                "after": dict(c.after), "sentences": list(c.lines),
            }
            for c in found.changed
        ],
        "sentences": list(found.others),
        "refusal": None
        if refusal is None
        else {"code": refusal.code, "title": str(refusal.message), "details": refusal.details},
    }  # fmt: skip


def plain(value: Any) -> Any:
    """Dataclasses, enums and instants as JSON knows them; the end of time is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(v) for name, v in asdict(value).items()}
    if isinstance(value, datetime):
        return None if value == FOREVER else text(value)
    if isinstance(value, Mapping):
        return {str(name): plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value
