"""Two teams, their people and a pool of sixteen: enough to ask, agree and refuse."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.test import Client

from portal.inventory.models import Pool
from portal.quotas import services as quotas
from portal.requests import services
from portal.requests.models import Request
from portal.requests.services import Asked
from portal.reservations import services as reservations
from portal.reservations.models import Reservation
from portal.slas import services as slas
from portal.slas.models import Tier
from portal.teams.models import Role, Team, User
from tests import builders

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class World:
    """Who there is; figures of quotas are vision 4 of at most 16, speech 4 without a limit."""

    vision: Team
    speech: Team
    pool: Pool
    lead: User
    member: User
    other_lead: User
    admin: User
    branch_admin: User
    finance: User


def a_world(now: datetime) -> World:
    """Two nodes of eight, eight of the sixteen guaranteed."""
    vision, speech = builders.a_team("vision"), builders.a_team("speech")
    pool = builders.a_pool(nodes=2, gpus=8)
    for team, limit in ((vision, 16), (speech, None)):
        quotas.change(
            team_id=team.pk, pool_id=pool.pk, guaranteed=4, limit=limit, valid_from=now,
            actor_id=None, now=now,
        )  # fmt: skip
    return World(
        vision=vision,
        speech=speech,
        pool=pool,
        lead=builders.a_user("lead", role=Role.LEAD, team=vision),
        member=builders.a_user("member", role=Role.MEMBER, team=vision),
        other_lead=builders.a_user("other-lead", role=Role.LEAD, team=speech),
        admin=builders.a_user("admin", role=Role.ADMIN),
        branch_admin=builders.a_user("branch-admin", role=Role.ADMIN, team=vision),
        finance=builders.a_user("finance", role=Role.FINANCE),
    )


def asked(world: World, now: datetime, **changed: Any) -> Asked:
    """Four GPUs of the pool for Vision, tomorrow for four hours."""
    values: dict[str, Any] = {
        "kind": "reservation", "team_id": world.vision.pk, "pool_id": world.pool.pk,
        "reason": "Retrain the detector", "gpus": 4, "starts_at": now + DAY,
        "ends_at": now + DAY + 4 * HOUR, "zone": "Asia/Seoul",
    }  # fmt: skip
    return Asked(**{**values, **changed})


def quota_asked(world: World, now: datetime, **changed: Any) -> Asked:
    """Six GPUs guaranteed to Vision instead of four."""
    values: dict[str, Any] = {
        "kind": "quota", "team_id": world.vision.pk, "pool_id": world.pool.pk,
        "reason": "The group grew", "guaranteed": 6, "limit": 16, "zone": "Asia/Seoul",
    }  # fmt: skip
    return Asked(**{**values, **changed})


def a_draft(world: World, now: datetime, **changed: Any) -> Request:
    """The asking as a draft of the lead's."""
    return services.save_draft(asked=asked(world, now, **changed), actor_id=world.lead.pk, now=now)


def a_submitted(world: World, now: datetime, **changed: Any) -> Request:
    """The asking, submitted by the lead."""
    row = a_draft(world, now, **changed)
    return services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)


def a_submitted_quota(world: World, now: datetime, **changed: Any) -> Request:
    """The quota change, submitted by the lead."""
    row = services.save_draft(
        asked=quota_asked(world, now, **changed), actor_id=world.lead.pk, now=now
    )
    return services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now)


def held(world: World, now: datetime, first: int = 1, last: int = 5, **given: Any) -> Reservation:
    """Four GPUs for Vision, from hour to hour."""
    return reservations.hold(
        **{
            "team_id": world.vision.pk, "pool_id": world.pool.pk, "gpus": 4,
            "starts_at": now + first * HOUR, "ends_at": now + last * HOUR, "zone": "Asia/Seoul",
            "actor_id": None, "now": now, **given,
        }
    )  # fmt: skip


def ask(
    world: World, now: datetime, kind: str, row: Reservation | None = None, **given: Any
) -> Request:
    """Submitted by the lead of Vision."""
    values: dict[str, Any] = {
        "kind": kind, "team_id": world.vision.pk, "pool_id": world.pool.pk, "zone": "Asia/Seoul",
        "reason": "It is not done yet", "about_id": row.pk if row else None, **given,
    }  # fmt: skip
    return services.ask(asked=Asked(**values), actor_id=world.lead.pk, now=now, submitting=True)


def approve(
    world: World, row: Request, now: datetime, who: User | None = None, **given: Any
) -> Request:
    return services.approve(request_id=row.pk, actor_id=(who or world.admin).pk, now=now, **given)


def a_tier(minutes: int = 30, **given: Any) -> Tier:
    return slas.create_tier(
        name=f"{minutes} minutes", target_wait_seconds=minutes * 60, actor_id=None,
        now=builders.LONG_AGO, **given,
    )  # fmt: skip


def signed_in(client: Client, user: User, language: str = "en") -> Client:
    """The browser of somebody who reads this language."""
    User.objects.filter(pk=user.pk).update(language=language)
    client.force_login(user)
    return client


def text_of(response: object) -> str:
    """What a reader reads of a page."""
    body = response.content.decode()  # type: ignore[attr-defined]  # the client's answers have one
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))
