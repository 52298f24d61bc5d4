"""How the tests of these pages open them, and what they read there."""

import html
import re

from django.http import HttpResponse
from django.test import Client

from portal.inventory.models import Cluster
from portal.kubernetes.models import Drift
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.teams.models import Role, User
from tests import builders
from tests.portal.kubernetes.test_syncing import sync
from tests.portal.kubernetes.test_undoing import edit
from tests.portal.kubernetes.world import START


def person(name: str) -> User:
    """Somebody with the role of that name, for the organisation."""
    found = User.objects.filter(username=name).first()
    return found or builders.a_user(name, role=Role(name))


def get(path: str, who: str = "admin") -> HttpResponse:
    """The page, as somebody sees it."""
    client = Client()
    client.force_login(person(who))
    return client.get(path)  # type: ignore[return-value]


def post(path: str, **data: object) -> HttpResponse:
    """What an admin sends."""
    client = Client()
    client.force_login(person("admin"))
    return client.post(path, data)  # type: ignore[return-value]


def text(response: HttpResponse) -> str:
    """What a reader reads."""
    body = response.content.decode()
    main = body[body.index("<main") : body.index("</main>")]
    plain = re.sub(r"<[^>]+>", " ", re.sub(r"</?(b|time)\b[^>]*>", "", main))
    return html.unescape(re.sub(r"\s+", " ", plain))


def drifted(cluster: Cluster, port: SimulatedCluster) -> Drift:
    """A guarantee that somebody edits, as the next sync finds it."""
    edit(port, "99")
    sync(cluster, 4)
    return Drift.objects.get(closed_at=None)


def a_drift(cluster: Cluster, field: str, **more: object) -> Drift:
    """A difference of a quota."""
    values: dict[str, object] = {"wanted": "4", "found": "2", "name": "q", **more}
    return Drift.objects.create(
        cluster=cluster, kind="ResourceQuota", namespace="vision", field=field,
        opened_at=START, **values,
    )  # fmt: skip
