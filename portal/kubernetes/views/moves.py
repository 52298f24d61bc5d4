"""What an admin changes: mode, pause, undo, take over. Each asks first, by itself."""

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.common import clock
from portal.common.errors import Missing, Refusal
from portal.common.forms import add_refusal
from portal.inventory.models import ClusterMode
from portal.kubernetes import selectors, standing, taking, undoing, words
from portal.kubernetes.forms import ModeForm, PauseForm
from portal.kubernetes.models import SyncState
from portal.kubernetes.undoing import Preview
from portal.kubernetes.views import clusters
from portal.teams.models import User

MOST_MOVED = 100
confirmed = require_http_methods(["GET", "HEAD", "POST"])


@confirmed
def mode(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """What each mode does and cannot do; a step up or down."""
    row = clusters.found(cluster_id)
    form = ModeForm(request.POST or None, mode=row.mode)
    if request.method == "POST" and form.is_valid():
        wanted = ClusterMode(form.cleaned_data["mode"])
        refusal = attempt(
            lambda: standing.change_mode(
                cluster_id=cluster_id, was=_mode(form.cleaned_data["was"]), mode=wanted,
                actor_id=who(request), now=clock.now(),
            )
        )  # fmt: skip
        if refusal is None:
            told = _("%(cluster)s is in the mode %(mode)s now.")
            messages.success(request, told % {"cluster": row.name, "mode": wanted.label})
            return redirect("kubernetes:cluster", cluster_id=cluster_id)
        add_refusal(form, refusal)
    context = {"row": row, "form": form, "modes": words.MODES, "mode": words.mode(row.mode)}
    status = 422 if form.errors else 200
    return render(request, "kubernetes/mode.html", context, status=status)


def _mode(text: str) -> ClusterMode:
    return ClusterMode(text) if text in ClusterMode.values else ClusterMode.OBSERVE


@confirmed
def pause(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Let the sync of a cluster rest, with a reason everybody reads."""
    row = clusters.found(cluster_id)
    form = PauseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        standing.pause(
            cluster_id=cluster_id, reason=form.cleaned_data["reason"], actor_id=who(request),
            now=clock.now(),
        )  # fmt: skip
        messages.success(request, _("The sync of %(cluster)s is paused.") % {"cluster": row.name})
        return redirect("kubernetes:cluster", cluster_id=cluster_id)
    status = 422 if form.errors else 200
    return render(request, "kubernetes/pause.html", {"row": row, "form": form}, status=status)


@confirmed
def resume(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Let the sync go on: the next one writes what the last tick wants."""
    row = clusters.found(cluster_id)
    if request.method == "POST":
        standing.resume(cluster_id=cluster_id, actor_id=who(request), now=clock.now())
        messages.success(request, _("The sync of %(cluster)s goes on.") % {"cluster": row.name})
        return redirect("kubernetes:cluster", cluster_id=cluster_id)
    return render(request, "kubernetes/resume.html", {"row": row})


@confirmed
def undo(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """What an undo of the last sync would write; then write it."""
    row = clusters.found(cluster_id)
    refusal: Refusal | None = None
    if request.method == "POST":
        refusal = attempt(lambda: _undo(request, cluster_id))
        if refusal is None:
            return redirect("kubernetes:log", cluster_id=cluster_id)
    found: Preview | None = None
    try:
        found = undoing.preview(cluster_id=cluster_id, now=clock.now())
    except Refusal as error:
        refusal = refusal or error
    context = {"row": row, "found": found, "refusal": refusal, **_shown(found)}
    status = refusal.status if refusal is not None and request.method == "POST" else 200
    return render(request, "kubernetes/undo.html", context, status=status)


def _shown(found: Preview | None) -> dict[str, object]:
    """What the page lists of a preview, values as people read them."""
    if found is None:
        return {}
    lines = clusters.lines([*found.writes, *found.removes])
    return {
        "lines": [(line, words.value(line.was), words.value(line.now)) for line in lines],
        "moved": [
            (one, words.value(one.written), words.value(one.found))
            for one in found.moved[:MOST_MOVED]
        ],
        "removed": {write.name for write in found.removes},
    }


def _undo(request: HttpRequest, cluster_id: int) -> None:
    text = request.POST.get("run", "")
    run_id = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    done = undoing.undo(
        cluster_id=cluster_id, run_id=run_id, actor_id=who(request), now=clock.now()
    )
    if done.state == SyncState.DONE:
        messages.success(
            request,
            _("Sync %(id)s is undone. Nothing more is written until the sync is resumed.")
            % {"id": run_id},
        )
    else:
        messages.warning(
            request, _("Not all of it could be written back: %(why)s") % {"why": done.message}
        )


@confirmed
def take_over(request: HttpRequest, drift_id: int) -> HttpResponse:
    """Ask before a field is taken from whoever holds it; then take it."""
    try:
        drift = selectors.get_drift(drift_id=drift_id)
    except Missing as error:
        raise Http404 from error
    refusal: Refusal | None = None
    if request.method == "POST":
        refusal = attempt(
            lambda: taking.take_over(drift_id=drift_id, actor_id=who(request), now=clock.now())
        )
        if refusal is None:
            messages.success(request, _("%(name)s is as wanted again.") % {"name": drift.name})
            return redirect("kubernetes:cluster", cluster_id=drift.cluster_id)
    context = {
        "drift": drift, "name": words.named(drift.namespace, drift.name), "refusal": refusal,
        "wanted": words.value(drift.wanted), "found": words.value(drift.found),
        "possible": words.may_take_over(drift), "meaning": words.meaning(drift),
    }  # fmt: skip
    status = refusal.status if refusal is not None else 200
    return render(request, "kubernetes/take_over.html", context, status=status)


def attempt(act: Callable[[], object]) -> Refusal | None:
    """Do it, or say why not."""
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None


def who(request: HttpRequest) -> int | None:
    """The id of whoever asks."""
    return request.user.pk if isinstance(request.user, User) else None
