"""Where a cluster's measured use comes from, and how much of it is known."""

from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.inventory.models import Cluster, ClusterKind
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE
from portal.usage import appending, measuring, monitoring
from portal.usage.forms import MonitoringForm

SHOWN = timedelta(hours=24)


@require_http_methods(["GET", "HEAD", "POST"])
def of_cluster(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """What is set, how the reading goes, and the gaps of the last day; admins set it."""
    cluster, now = Cluster.objects.filter(pk=cluster_id).first(), clock.now()
    if cluster is None:
        raise Http404
    row = monitoring.get_monitoring(cluster_id=cluster_id)
    form = MonitoringForm(request.POST or None, row=row)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        assert isinstance(request.user, User)
        try:
            monitoring.set_monitoring(
                cluster_id=cluster_id, address=said["address"], selector=said["selector"],
                token=said["token"] or None, actor_id=request.user.pk, now=now,
            )  # fmt: skip
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("Kept. The last day is read within a few minutes."))
            return redirect("usage:monitoring", cluster_id=cluster_id)
    last = appending.hour_of(now)
    context = {
        "cluster": cluster,
        "row": row,
        "form": form,
        "simulated": cluster.kind == ClusterKind.SIMULATED and not (row and row.address),
        "may_set": access_of(request).holds(DECIDE),
        "hours": measuring.hours_measured(cluster_id, last - SHOWN, last),
        "as_of": now,
    }
    status = 422 if form.errors else 200
    return render(request, "usage/monitoring.html", context, status=status)
