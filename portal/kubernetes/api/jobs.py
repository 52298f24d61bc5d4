"""A job nobody has handed in: what would become of it, and the manifest to hand in."""

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.errors import Invalid
from portal.kubernetes import composing, job_form, schemas, weighing
from portal.kubernetes.api import common
from portal.teams.middleware import access_of


class JobCheckView(APIView):
    """What would become of a job nobody has handed in, and the manifest to hand in."""

    @ops.operation(schemas.JOB, body=schemas.JOB_BODY, looks=True)
    def post(self, request: Request) -> Response:
        """The fields of the page New job; what is left out is as the page begins. Writes nothing."""
        access, now = access_of(request._request), clock.now()
        desk = job_form.desk_of(access, now=now)
        given = {name: "" if v is None else v for name, v in common.body(request).items()}
        form = job_form.JobForm(job_form.beginning(desk, given), desk=desk)
        if not form.is_valid():
            faults = {name: str(errors[0]) for name, errors in form.errors.items()}
            raise Invalid(_("The job has faults."), fields=faults)
        wish, pool = form.wish()
        zone = timezone.get_current_timezone()
        found = weighing.weigh(wish, pool, access=access, zone=zone, now=now)
        order = form.order(found.charge)
        return Response(
            {
                "starts": found.starts, "planned_start": found.planned_start,
                "sentence": found.sentence.text, "more": list(found.more),
                "charge": found.charge, "manifest": composing.manifest(order),
                "yaml": composing.text(order),
            }
        )  # fmt: skip
