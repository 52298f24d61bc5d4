"""Which Prometheus measures a cluster's use."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import once
from portal.teams.models import User
from portal.usage import monitoring, schemas


class MonitoringBody(serializers.Serializer[object]):
    """Where a cluster's Prometheus is; `token` left out keeps the one that is set."""

    address = serializers.CharField(max_length=400, allow_blank=True)
    selector = serializers.CharField(max_length=400, allow_blank=True, default="")
    token = serializers.CharField(max_length=4000, allow_blank=True, required=False)


class MonitoringView(APIView):
    """The Prometheus that watches a cluster, and how reading it goes."""

    @ops.operation(schemas.MONITORING)
    def get(self, request: Request, cluster_id: int) -> Response:
        """All null where none is set."""
        return _monitoring(cluster_id)

    @ops.operation(schemas.MONITORING, body=MonitoringBody)
    def put(self, request: Request, cluster_id: int) -> Response:
        """`address` of an allowed host, `selector` and `token`; an empty address asks none."""

        def act() -> Response:
            given = MonitoringBody(data=request.data)
            given.is_valid(raise_exception=True)
            assert isinstance(request.user, User)
            monitoring.set_monitoring(
                cluster_id=cluster_id, actor_id=request.user.pk, now=clock.now(),
                **given.validated_data,
            )  # fmt: skip
            return _monitoring(cluster_id)

        return once(request, act)


def _monitoring(cluster_id: int) -> Response:
    row = monitoring.get_monitoring(cluster_id=cluster_id)
    names = ("address", "selector", "has_token", "read_until", "read_at", "pods", "last_error")
    return Response({name: getattr(row, name, None) for name in names})
