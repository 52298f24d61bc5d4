"""What admins change: mode, pause, undo, take over."""

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import once
from portal.common.errors import Invalid
from portal.inventory.models import ClusterMode
from portal.kubernetes import schemas, selectors, standing, taking, undoing
from portal.kubernetes.api import common


class ModeView(APIView):
    """How much is done in a cluster."""

    @ops.operation(schemas.CLUSTER, body=schemas.MODE_BODY)
    def post(self, request: Request, cluster_id: int) -> Response:
        """`was` (the mode the asker saw) and `mode`."""

        mode = _mode(request, "mode")
        standing.refuse_without_rights(cluster_id=cluster_id, mode=mode, now=clock.now())

        def act() -> Response:
            standing.set_mode(
                cluster_id=cluster_id, was=_mode(request, "was"), mode=mode,
                actor_id=common.who(request),
            )  # fmt: skip
            return common.now_of(cluster_id)

        return once(request, act)


class PauseView(APIView):
    """Let a sync rest."""

    @ops.operation(schemas.CLUSTER, body=schemas.PAUSE_BODY)
    def post(self, request: Request, cluster_id: int) -> Response:
        """With a `reason`."""

        def act() -> Response:
            reason = common.body(request).get("reason")
            if not isinstance(reason, str) or not reason.strip():
                raise Invalid(_("Say why."), fields={"reason": _("Say why.")})
            standing.pause(
                cluster_id=cluster_id, reason=reason, actor_id=common.who(request), now=clock.now()
            )
            return common.now_of(cluster_id)

        return once(request, act)


class ResumeView(APIView):
    """Let a sync go on."""

    @ops.operation(schemas.CLUSTER)
    def post(self, request: Request, cluster_id: int) -> Response:
        """No body."""

        def act() -> Response:
            standing.resume(cluster_id=cluster_id, actor_id=common.who(request), now=clock.now())
            return common.now_of(cluster_id)

        return once(request, act)


class UndoView(APIView):
    """What an undo of the last sync would do, and the undo."""

    @ops.operation(schemas.UNDO_LOOK, name="cluster-undo-preview", fails=(409,))
    def get(self, request: Request, cluster_id: int) -> Response:
        """The cluster is asked; nothing is written."""
        found = undoing.preview(cluster_id=cluster_id, now=clock.now())
        moved = [
            {
                "kind": one.kind, "namespace": one.namespace, "name": one.name,
                "field": one.field, "written": one.written, "found": one.found,
            }
            for one in found.moved
        ]  # fmt: skip
        return Response(
            {
                "sync": found.run.pk, "possible": found.is_possible,
                "writes": common.changes(found.writes), "removes": common.changes(found.removes),
                "moved": moved,
            }
        )  # fmt: skip

    @ops.operation(schemas.SYNC, body=schemas.UNDO_BODY)
    def post(self, request: Request, cluster_id: int) -> Response:
        """`sync`: the one the asker saw. The cluster is written outside any transaction."""
        run_id = common.body(request).get("sync")
        if not isinstance(run_id, int) or isinstance(run_id, bool):
            raise Invalid(_("Give the sync to undo."), fields={"sync": _("Give a whole number.")})

        def act() -> Response:
            done = undoing.undo(
                cluster_id=cluster_id, run_id=run_id, actor_id=common.who(request), now=clock.now()
            )
            return Response(common.run(done))

        return once(request, act, outside=True)


class TakeOverView(APIView):
    """Take a field back from whoever holds it."""

    @ops.operation(schemas.CLUSTER)
    def post(self, request: Request, drift_id: int) -> Response:
        """No body. The cluster is written outside any transaction."""

        def act() -> Response:
            row = selectors.get_drift(drift_id=drift_id)
            taking.take_over(drift_id=drift_id, actor_id=common.who(request), now=clock.now())
            return common.now_of(row.cluster_id)

        return once(request, act, outside=True)


def _mode(request: Request, name: str) -> ClusterMode:
    value = common.body(request).get(name)
    if not isinstance(value, str) or value not in ClusterMode.values:
        said = _("Give one of: %(words)s.") % {"words": ", ".join(ClusterMode.values)}
        raise Invalid(said, fields={name: said})
    return ClusterMode(value)
