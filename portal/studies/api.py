"""Studies and traces under /api/v1. Times are UTC, waits in seconds, money in micro-units."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, once
from portal.common.api_shapes import DONE, page
from portal.common.errors import Missing
from portal.inventory import parameters
from portal.studies import answers, schemas, scoping, selectors, services, starting
from portal.studies.checking import Asked
from portal.studies.models import Draw, Study, StudyState
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from scheduler_core.traces import READERS

MOST_ID = 2**63 - 1


class _Strict(serializers.Serializer[object]):
    """Refuses what it does not know, so that a slip of the pen is no default."""

    def to_internal_value(self, data: Any) -> Any:
        """The known fields."""
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            raise serializers.ValidationError({name: [_("Unknown.")] for name in unknown})
        return super().to_internal_value(data)


def _id(**kwargs: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=MOST_ID, **kwargs)


def _second() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=-(2**62), max_value=2**62, required=False, allow_null=True, default=None
    )


class StudyBody(_Strict):
    """A study to run: of our own past (`from`, `to`) or of a trace; `change` is the one thing."""

    name = serializers.CharField(max_length=120)
    note = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    cluster = _id(required=False, allow_null=True, default=None)
    trace = _id(required=False, allow_null=True, default=None)
    nodes = serializers.CharField(max_length=12, required=False, allow_blank=True, default="")
    first_second = _second()
    until_second = _second()
    change = serializers.DictField()
    draw = serializers.ChoiceField(choices=Draw.choices, default=Draw.RESAMPLED)
    seeds = serializers.IntegerField(min_value=1, max_value=services.MOST_SEEDS, default=5)
    first_seed = serializers.IntegerField(min_value=0, max_value=2**31 - 100, default=1)
    team = _id(required=False, allow_null=True, default=None)

    def get_fields(self) -> dict[str, Any]:
        """Two of the names are words of Python."""
        moments: dict[str, Any] = {
            name: serializers.DateTimeField(required=False, allow_null=True, default=None)
            for name in ("from", "to")
        }
        return {**super().get_fields(), **moments}


class DescribeBody(_Strict):
    """What a study is called, whether it is kept, and the team it is shared with."""

    name = serializers.CharField(max_length=120)
    note = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    kept = serializers.BooleanField(default=False)
    team = _id(required=False, allow_null=True, default=None)


class TraceBody(serializers.Serializer[object]):
    """A trace as a form with a file."""

    name = serializers.CharField(max_length=80)
    format = serializers.ChoiceField(choices=[(name, name) for name in READERS])
    file = serializers.FileField()


class StudyListView(APIView):
    """The studies the asker may see."""

    @ops.operation(
        page(schemas.STUDY), query=(ops.word("state", StudyState.values, "Only in this state."),)
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        state = parameters.one_of(request, "state", StudyState.values) or ""
        paging = Paging()
        found: list[Study] = paging.paginate_queryset(
            selectors.query_studies(access_of(request._request), state=state), request, view=self
        ) or []  # fmt: skip
        rows = selectors.rows(found)
        told = [answers.study(row, one.change) for row, one in zip(rows, found, strict=True)]
        return paging.get_paginated_response(told)

    @ops.operation(schemas.STUDY_IN_FULL, body=StudyBody, status=201)
    def post(self, request: Request) -> Response:
        """Put a study in the queue; it runs in a process of its own."""

        def act() -> Response:
            body = StudyBody(data=request.data)
            body.is_valid(raise_exception=True)
            access, now = access_of(request._request), clock.now()
            said = dict(body.validated_data)
            team_id = scoping.team_for(access, teams.get_tree(now=now), said["team"])
            made = services.ask(
                asked=_asked(said, team_id), actor_id=request.user.pk, now=now,
                real_now=clock.real_now(),
            )  # fmt: skip
            transaction.on_commit(starting.wake)
            return Response(_in_full(request, made.pk), status=CREATED)

        return once(request, act)


def _asked(said: dict[str, Any], team_id: int | None) -> Asked:
    return Asked(
        name=said["name"], note=said["note"], change=said["change"], cluster_id=said["cluster"],
        trace_id=said["trace"], from_at=said["from"], to_at=said["to"],
        first_second=said["first_second"], until_second=said["until_second"], nodes=said["nodes"],
        draw=said["draw"], seeds=said["seeds"], first_seed=said["first_seed"], team_id=team_id,
    )  # fmt: skip


def _in_full(request: Request, study_id: int) -> dict[str, Any]:
    detail = selectors.get_study(
        access_of(request._request), study_id=study_id, real_now=clock.real_now()
    )
    if detail is None:
        raise Missing
    return answers.study_in_full(detail)


class StudyDetailView(APIView):
    """One study."""

    @ops.operation(schemas.STUDY_IN_FULL)
    def get(self, request: Request, study_id: int) -> Response:
        """Both sides beside each other, as far as it is."""
        return Response(_in_full(request, study_id))

    @ops.operation(schemas.STUDY_IN_FULL, body=DescribeBody)
    def put(self, request: Request, study_id: int) -> Response:
        """Name, keep and share it."""

        def act() -> Response:
            body = DescribeBody(data=request.data)
            body.is_valid(raise_exception=True)
            said = body.validated_data
            access, tree = access_of(request._request), teams.get_tree(now=clock.now())
            services.describe(
                study_id=study_id, name=said["name"], note=said["note"], is_kept=said["kept"],
                team_id=scoping.team_for(access, tree, said["team"]), actor_id=request.user.pk,
            )  # fmt: skip
            return Response(_in_full(request, study_id))

        return once(request, act)

    @ops.operation(DONE)
    def delete(self, request: Request, study_id: int) -> Response:
        """Forget it."""

        def act() -> Response:
            services.delete(study_id=study_id, actor_id=request.user.pk)
            return Response({"id": study_id})

        return once(request, act)


class CancelView(APIView):
    """Stops a study."""

    @ops.operation(schemas.STUDY_IN_FULL)
    def post(self, request: Request, study_id: int) -> Response:
        """At once where it waits, else within some seconds."""

        def act() -> Response:
            services.cancel(study_id=study_id, actor_id=request.user.pk, real_now=clock.real_now())
            return Response(_in_full(request, study_id))

        return once(request, act)


class AgainView(APIView):
    """Runs a study again."""

    @ops.operation(schemas.STUDY_IN_FULL, status=201)
    def post(self, request: Request, study_id: int) -> Response:
        """The same jobs and terms, the seeds that follow."""

        def act() -> Response:
            made = services.again(
                study_id=study_id, actor_id=request.user.pk, now=clock.now(),
                real_now=clock.real_now(),
            )  # fmt: skip
            transaction.on_commit(starting.wake)
            return Response(_in_full(request, made.pk), status=CREATED)

        return once(request, act)


class TraceListView(APIView):
    """Uploaded traces."""

    parser_classes = (MultiPartParser,)

    @ops.operation(page(schemas.TRACE))
    def get(self, request: Request) -> Response:
        """Newest first."""
        paging = Paging()
        found = paging.paginate_queryset(selectors.list_traces(), request, view=self) or []
        return paging.get_paginated_response([answers.trace(row) for row in found])

    @ops.operation(schemas.TRACE, body=TraceBody, status=201)
    def post(self, request: Request) -> Response:
        """Bring one, as multipart/form-data."""
        body = TraceBody(data=request.data)
        body.is_valid(raise_exception=True)
        said = body.validated_data
        made = services.upload(
            name=said["name"], form=said["format"], pieces=said["file"].chunks(),
            actor_id=request.user.pk, real_now=clock.real_now(),
        )  # fmt: skip
        row = selectors.get_trace(trace_id=made.pk)
        assert row is not None
        return Response(answers.trace(row), status=CREATED)


class TraceDetailView(APIView):
    """One uploaded trace."""

    @ops.operation(schemas.TRACE)
    def get(self, request: Request, trace_id: int) -> Response:
        """As it was read."""
        row = selectors.get_trace(trace_id=trace_id)
        if row is None:
            raise Missing
        return Response(answers.trace(row))

    @ops.operation(DONE)
    def delete(self, request: Request, trace_id: int) -> Response:
        """Forget it, unless a study uses it."""

        def act() -> Response:
            services.delete_trace(trace_id=trace_id, actor_id=request.user.pk)
            return Response({"id": trace_id})

        return once(request, act)
