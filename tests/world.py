"""A small whole organisation for tests that walk every door: each kind of thing twice.

Everything exists once in `ours` (team Vision) and once in `theirs` (team Search); `ids` gives the
arguments a route takes, by name, for either side.
"""

import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.common.models import Channel, OutboxMessage
from portal.finance.models import Budget, Month, Statement
from portal.inventory.models import Cluster, MaintenanceWindow, Node, Pool
from portal.kubernetes.models import Drift, SyncRun, SyncState
from portal.notifications.models import Hook
from portal.quotas.models import Quota
from portal.requests.models import ApprovalRule, Request, RequestKind, RequestState
from portal.reservations.models import CalendarFeed, Reservation
from portal.scheduling.models import Decision, Tick, TickState, Verb
from portal.slas.models import Breach
from portal.studies.models import Study, Trace
from portal.teams.models import Invitation, Role, RoleAssignment, Team, User
from portal.workloads.models import Workload
from tests import builders


@dataclass(frozen=True)
class Side:
    """One team and one of each thing that is its own."""

    team: Team
    workload: Workload
    request: Request
    reservation: Reservation
    quota: Quota
    breach: Breach
    assignment: RoleAssignment
    invitation: Invitation
    feed: CalendarFeed
    statement: Statement
    study: Study
    trace: Trace


@dataclass(frozen=True)
class World:
    """Both sides and what belongs to the organisation."""

    ours: Side
    theirs: Side
    cluster: Cluster
    pool: Pool
    node: Node
    tick: Tick
    rules: dict[Team, ApprovalRule]
    window: MaintenanceWindow
    budget: Budget
    statement: Statement
    run: SyncRun
    drift: Drift
    hook: Hook
    message: OutboxMessage

    def ids(self, side: Side) -> dict[str, object]:
        """Arguments of routes by name, for a side; things of the organisation are the same."""
        return {
            "team_id": side.team.pk,
            "workload_id": side.workload.pk,
            "request_id": side.request.pk,
            "reservation_id": side.reservation.pk,
            "quota_id": side.quota.pk,
            "breach_id": side.breach.pk,
            "assignment_id": side.assignment.pk,
            "invitation_id": side.invitation.pk,
            "feed_id": side.feed.pk,
            "token": f"{side.team.slug}-token",
            "tier_id": side.breach.sla.tier_id,
            "statement_id": side.statement.pk,
            "cluster_id": self.cluster.pk,
            "pool_id": self.pool.pk,
            "node_id": self.node.pk,
            "tick_id": self.tick.pk,
            "run_id": self.run.pk,
            "drift_id": self.drift.pk,
            "hook_id": self.hook.pk,
            "message_id": self.message.pk,
            "user_id": side.request.requested_by_id,
            "month": "2026-11",
            "provider_id": "oidc",
            "kind": "batch",
            "rule_id": self.rules[side.team].pk,
            "window_id": self.window.pk,
            "budget_id": self.budget.pk,
            "study_id": side.study.pk,
            "trace_id": side.trace.pk,
        }


def a_world(now: datetime) -> World:
    """Build both sides; every row by hand, so that no service is needed to test the doors."""
    cluster = builders.a_cluster()
    pool = builders.a_pool(cluster=cluster, nodes=2)
    sides = [_a_side(builders.a_team(slug), pool, now) for slug in ("vision", "search")]
    tick = Tick.objects.create(
        cluster=cluster, at=now, state=TickState.DONE, started_real_at=now,
        snapshot=zlib.compress(b"{}"),
    )  # fmt: skip
    for side in sides:
        Decision.objects.create(tick=tick, workload=side.workload, verb=Verb.WAIT)
    return World(
        ours=sides[0], theirs=sides[1], cluster=cluster, pool=pool,
        node=Node.objects.filter(pool=pool)[0], tick=tick, statement=_a_statement(None, now),
        rules={side.team: ApprovalRule.objects.create(approvals=1) for side in sides},
        window=MaintenanceWindow.objects.create(
            node=Node.objects.filter(pool=pool)[1], starts_at=now + timedelta(days=9),
            ends_at=now + timedelta(days=10),
        ),
        budget=Budget.objects.create(
            team=sides[0].team, period="month", amount_micro=10**9, currency="KRW",
            valid_from=now - timedelta(days=1), created_at=now,
        ),
        run=SyncRun.objects.create(cluster=cluster, at=now, state=SyncState.DONE),
        drift=Drift.objects.create(
            cluster=cluster, kind="ResourceQuota", namespace="vision", name="evenshare-total",
            field="spec.hard[requests.nvidia.com/gpu]", wanted="8", found="9", manager="kubectl",
            opened_at=now,
        ),
        hook=Hook.objects.create(name="chat", way=Hook.Way.CHAT, address="", created_at=now),
        message=OutboxMessage.objects.create(
            key="k", channel=Channel.MAIL, address="a@example.org", body="b", created_at=now,
            due_at=now, given_up_at=now,
        ),
    )  # fmt: skip


def _a_side(team: Team, pool: Pool, now: datetime) -> Side:
    asker = builders.a_user(f"asker-{team.slug}", role=Role.LEAD, team=team)
    reservation = Reservation.objects.create(
        team=team, pool=pool, gpus=2, starts_at=now + timedelta(hours=1),
        ends_at=now + timedelta(hours=3), planned_ends_at=now + timedelta(hours=3),
        zone="Asia/Seoul", purpose=f"{team.slug} secret purpose", created_at=now,
    )  # fmt: skip
    workload = a_workload(team, pool, now)
    return Side(
        team=team,
        workload=workload,
        request=_a_request(team, pool, asker, now),
        reservation=reservation,
        quota=builders.a_quota(team, pool, guaranteed=2),
        breach=builders.a_breach(workload, now),
        assignment=RoleAssignment.objects.create(
            user=builders.a_user(f"member-{team.slug}"), role=Role.MEMBER, team=team,
            created_at=now,
        ),
        invitation=Invitation.objects.create(
            email="new@example.org", role=Role.MEMBER, team=team, digest=team.slug,
            created_at=now, expires_at=now + timedelta(days=7),
        ),
        feed=CalendarFeed.objects.create(
            team=team, name="calendar", digest=team.slug, created_at=now
        ),
        statement=_a_statement(team, now),
        study=builders.a_study(team, pool.cluster, now),
        trace=builders.a_trace(now),
    )  # fmt: skip


def a_workload(team: Team, pool: Pool, now: datetime, name: str = "") -> Workload:
    """A waiting job of two tasks of one GPU."""
    name = name or f"{team.slug}-secret-job"
    return Workload.objects.create(
        cluster=pool.cluster, uid=name, name=name, namespace=team.slug, team=team, pool=pool,
        tasks=2, gpu_milli=1000, cpu_milli=8000, memory_mib=65536,
        submitted_at=now - timedelta(minutes=5), seen_at=now, person=f"{team.slug}-person",
    )  # fmt: skip


def _a_request(team: Team, pool: Pool, asker: User, now: datetime) -> Request:
    return Request.objects.create(
        kind=RequestKind.RESERVATION, team=team, pool=pool, state=RequestState.SUBMITTED,
        requested_by=asker, reason=f"{team.slug} secret reason", gpus=2, zone="Asia/Seoul",
        starts_at=now + timedelta(days=1), ends_at=now + timedelta(days=1, hours=4),
        created_at=now, submitted_at=now, expires_at=now + timedelta(days=14),
    )  # fmt: skip


def _a_statement(team: Team | None, now: datetime) -> Statement:
    month, _made = Month.objects.get_or_create(
        name=f"{now:%Y-%m}",
        defaults={"starts_at": now.replace(day=1), "ends_at": now.replace(day=28), "zone": "UTC"},
    )
    return Statement.objects.create(
        month=month, team=team, team_name=team.name if team else "", period_starts_at=now.replace(day=1),
        period_ends_at=now.replace(day=28), zone="UTC", currency="KRW", computed_at=now,
    )  # fmt: skip


HOLDERS: dict[str, tuple[Role, bool]] = {
    "member": (Role.MEMBER, True),
    "lead": (Role.LEAD, True),
    "branch admin": (Role.ADMIN, True),
    "admin": (Role.ADMIN, False),
    "finance": (Role.FINANCE, False),
    "auditor": (Role.AUDITOR, False),
}
"""Name → role and whether it is held in our team only."""


def a_holder(name: str, ours: Team) -> User:
    """A person who holds just that role."""
    role, in_team = HOLDERS[name]
    return builders.a_user(name.replace(" ", "-"), role=role, team=ours if in_team else None)
