"""Pages of the policy: what holds and since when, another one tried, applied and taken back."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from portal.common import clock, csv
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.inventory import selectors as inventory
from portal.inventory.models import Cluster
from portal.scheduling import policies, ruling, selectors, services, telling, trying
from portal.scheduling.forms import PolicyForm, UndoForm
from portal.scheduling.selectors import PolicyRow
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import DECIDE

TRY, APPLY = "try", "apply"
changed = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def policy(request: HttpRequest) -> HttpResponseBase:
    """The policy of a cluster in words, and every one before it."""
    clusters = inventory.list_clusters()
    wanted = request.GET.get("cluster", "")
    cluster = next((one for one in clusters if str(one.pk) == wanted), None) or next(
        iter(clusters), None
    )
    if cluster is None:
        return render(request, "scheduling/policy.html", {"cluster": None})
    now = clock.now()
    row = _row(cluster.pk, now)
    past = _past(cluster)
    if request.GET.get("format") == "csv":
        return csv.response(f"policies-{cluster.name}", telling.history_csv(past))
    tick = selectors.latest_tick(cluster_id=cluster.pk)
    context = {
        "cluster": cluster,
        "clusters": clusters,
        "row": row,
        "rules": ruling.describe(_plain(row.rules)),
        "past": past,
        "tick": tick,
        "is_followed": tick is not None and (tick.policy_id or 0) == row.id,
        "may_decide": access_of(request).holds(DECIDE),
        "now": now,
    }
    return render(request, "scheduling/policy.html", context)


def _past(cluster: Cluster) -> list[telling.Past]:
    rows = selectors.list_policies(cluster_id=cluster.pk)
    if not rows:
        return []
    people = User.objects.in_bulk({one.created_by_id for one in rows if one.created_by_id})
    before = [*(one.rules for one in rows[1:]), policies.default_rules(cluster.mode)]
    return [
        telling.Past(
            one, str(people.get(one.created_by_id or 0, "")),
            ruling.differences(_plain(old), _plain(one.rules)),
        )
        for one, old in zip(rows, before, strict=True)
    ]  # fmt: skip


def _plain(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Rules with every key spelled out; an old row may say what is no longer known."""
    try:
        return services.checked_rules(rules)
    except Refusal:
        return dict(rules)


@changed
def edit(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Fill in another policy, see what the next tick would do by it, then apply it."""
    cluster, now = _cluster(cluster_id), clock.now()
    row = _row(cluster_id, now)
    post = request.POST if request.method == "POST" else None
    form = PolicyForm(post, rules=_plain(row.rules), seen=row.id)
    tried: trying.Rehearsal | None = None
    if post is not None and form.is_valid():
        refusal = _attempt(lambda: _apply(request, cluster_id, form, now))
        if refusal is None and post.get("do") == APPLY:
            told = _("The next tick of %(cluster)s follows the new policy.")
            messages.success(request, told % {"cluster": cluster.name})
            return redirect(f"{_home()}?{urlencode({'cluster': cluster_id})}")
        if refusal is not None:
            add_refusal(form, refusal)
        else:
            tried = trying.try_policy(cluster_id=cluster_id, rules=form.rules(), now=now)
            form.fields["note"].required = True
    context = {
        "cluster": cluster,
        "form": form,
        "tried": tried,
        "told": telling.rehearsal(tried) if tried else None,
        "differences": ruling.differences(_plain(row.rules), form.rules()) if tried else [],
        "lab": urlencode({"rules": json.dumps(form.rules())}) if tried else "",
        "now": now,
    }
    return render(request, "scheduling/edit.html", context, status=422 if form.errors else 200)


def _apply(request: HttpRequest, cluster_id: int, form: PolicyForm, now: datetime) -> None:
    """Apply it, or only see whether the engine takes it."""
    said = form.cleaned_data
    if request.POST.get("do") != APPLY:
        services.checked_rules(form.rules())
        return
    telling.check_worth(_plain(_row(cluster_id, now).rules), form.rules(), said["note"])
    services.set_policy(
        cluster_id=cluster_id, rules=form.rules(), actor_id=request.user.pk, now=now,
        seen_policy_id=said["seen"], note=said["note"].strip(),
    )  # fmt: skip


@changed
def undo(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """What comes back with the policy before, and what the next tick would do by it."""
    cluster, now = _cluster(cluster_id), clock.now()
    row = _row(cluster_id, now)
    back = policies.before_newest(cluster_id=cluster_id, now=now)
    if back is None:
        messages.info(request, _("There is no policy to undo."))
        return redirect(f"{_home()}?{urlencode({'cluster': cluster_id})}")
    form = UndoForm(request.POST or None, initial={"seen": row.id})
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        refusal = _attempt(
            lambda: services.undo_policy(
                cluster_id=cluster_id, seen_policy_id=said["seen"], actor_id=request.user.pk,
                now=now, note=said["note"].strip(),
            )
        )  # fmt: skip
        if refusal is None:
            messages.success(request, _("The policy from before holds again."))
            return redirect(f"{_home()}?{urlencode({'cluster': cluster_id})}")
        add_refusal(form, refusal)
    tried = trying.try_policy(cluster_id=cluster_id, rules=back, now=now)
    context = {
        "cluster": cluster,
        "form": form,
        "told": telling.rehearsal(tried),
        "differences": ruling.differences(_plain(row.rules), _plain(back)),
        "now": now,
    }
    return render(request, "scheduling/undo.html", context, status=422 if form.errors else 200)


def _cluster(cluster_id: int) -> Cluster:
    found = next((one for one in inventory.list_clusters() if one.pk == cluster_id), None)
    if found is None:
        raise Http404
    return found


def _row(cluster_id: int, now: datetime) -> PolicyRow:
    row = selectors.get_policy(cluster_id=cluster_id, now=now)
    if row is None:
        raise Http404
    return row


def _home() -> str:
    return reverse("scheduling:policy")


def _attempt(act: Callable[[], object]) -> Refusal | None:
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None
