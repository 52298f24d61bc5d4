"""The rules under /api/v1: all may read them, the organisation's admins set them."""

from typing import Any, cast

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, once
from portal.common.api_shapes import DONE
from portal.inventory import selectors as inventory
from portal.inventory import sent
from portal.requests import approving, schemas
from portal.requests.models import ApprovalRule
from portal.reservations import rules as booking
from portal.reservations import services as reservations
from portal.reservations.rules import FIGURES, Rules
from portal.workloads import classes
from portal.workloads.classes import Class, Classes, Door
from portal.workloads.models import Kind, Placing


class RuleListView(APIView):
    """Everything that binds requests, reservations and classes of jobs."""

    @ops.operation(schemas.RULES)
    def get(self, request: Request) -> Response:
        """Approval rules, and each pool's and each class's."""
        known = classes.get_classes()
        pools, rules = inventory.list_pools(now=clock.now()), booking.list_rules()
        return Response(
            {
                "approvals": [_approval(rule) for rule in approving.list_rules()],
                "pools": [
                    _pool(pool.id, pool.name, rules.get(pool.id, Rules()), known) for pool in pools
                ],
                "classes": [{"kind": kind, **_class(known.of(kind))} for kind in Kind.values],
            }
        )


def _figure(least: int = 1) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=least, default=None, allow_null=True)


class _ApprovalBody(sent.Strict):
    pool = sent.an_id(optional=True)
    min_gpus = _figure()
    min_hours = _figure()
    min_cost_micro = _figure()
    approvals = serializers.IntegerField(min_value=0, max_value=2)


class _DoorBody(sent.Strict):
    is_open = serializers.BooleanField(default=True)
    min_gpus = _figure()


class _PoolBody(sent.Strict):
    longest_hours = _figure()
    ahead_days = _figure()
    extension_hours = _figure()
    rest_hours = _figure(0)
    grace_minutes = _figure()
    classes = serializers.DictField(child=_DoorBody(), default=dict)


class _ClassBody(sent.Strict):
    preemptible = serializers.BooleanField(default=None, allow_null=True)
    order = serializers.IntegerField(default=0)
    together = serializers.CharField(default="", allow_blank=True, max_length=40)
    placement = serializers.ChoiceField(Placing.values, default="", allow_blank=True)
    idle_hours = _figure()


class ApprovalRuleView(APIView):
    """A rule that says how many people have to agree."""

    @ops.operation(schemas.APPROVAL_RULE, body=_ApprovalBody, status=201)
    def post(self, request: Request) -> Response:
        """`approvals`, and the figures a request has to reach; those left out all reach."""

        def act() -> Response:
            body = sent.read(_ApprovalBody, request.data)
            body["pool_id"] = body.pop("pool")
            rule = approving.add_rule(actor_id=_who(request), **body)
            return Response(_approval(rule), status=CREATED)

        return once(request, act)


class ApprovalRuleDropView(APIView):
    """A rule that binds no more."""

    @ops.operation(DONE)
    def post(self, request: Request, rule_id: int) -> Response:
        """No body."""

        def act() -> Response:
            approving.drop_rule(rule_id=rule_id, actor_id=_who(request))
            return Response({"id": rule_id})

        return once(request, act)


class PoolRulesView(APIView):
    """What a pool asks of reservations, and takes of each class."""

    @ops.operation(schemas.POOL_RULES, body=_PoolBody)
    def post(self, request: Request, pool_id: int) -> Response:
        """All of it at once; what is left out asks nothing."""

        def act() -> Response:
            body = sent.read(_PoolBody, request.data)
            doors = {kind: Door(**door) for kind, door in body["classes"].items()}
            rules, now = Rules(**{name: body[name] for name in FIGURES}), clock.now()
            with transaction.atomic():
                reservations.set_rules(
                    pool_id=pool_id, figures=rules, actor_id=_who(request), now=now
                )
                classes.set_doors(pool_id=pool_id, doors=doors, actor_id=_who(request))
            pool = inventory.get_pool(pool_id=pool_id, now=now)
            return Response(_pool(pool.id, pool.name, rules, classes.get_classes()))

        return once(request, act)


class ClassRuleView(APIView):
    """What holds for a class of jobs."""

    @ops.operation(schemas.CLASS_RULE, body=_ClassBody)
    def post(self, request: Request, kind: str) -> Response:
        """All of it at once; what is left out is as without a rule."""

        def act() -> Response:
            rule = Class(**sent.read(_ClassBody, request.data))
            classes.set_class(kind=kind, rule=rule, actor_id=_who(request))
            return Response({"kind": kind, **_class(rule)})

        return once(request, act)


def _approval(rule: ApprovalRule) -> dict[str, Any]:
    return {
        "id": rule.pk, "pool": rule.pool_id, "min_gpus": rule.min_gpus,
        "min_hours": rule.min_hours, "min_cost_micro": rule.min_cost_micro,
        "approvals": rule.approvals,
    }  # fmt: skip


def _pool(pool_id: int, name: str, rules: Rules, known: Classes) -> dict[str, Any]:
    return {
        "id": pool_id,
        "name": name,
        **{figure: getattr(rules, figure) for figure in FIGURES},
        "classes": {
            kind: {"is_open": door.is_open, "min_gpus": door.min_gpus}
            for (pool, kind), door in known.doors.items()
            if pool == pool_id
        },
    }


def _class(rule: Class) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in classes.FIGURES}


def _who(request: Request) -> int:
    return cast(int, request.user.pk)
