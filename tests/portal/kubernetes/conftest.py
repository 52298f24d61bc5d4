"""Clusters of a test live in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from portal.common import clock
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import ports
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.teams.models import Organisation
from tests.portal.kubernetes import world
from tests.portal.kubernetes.labs import Lab
from tests.portal.kubernetes.test_syncing import a_tick, sync
from tests.portal.kubernetes.world import START, minutes


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where clusters keep themselves."""
    with override_settings(VAR_DIR=tmp_path):
        yield tmp_path


@pytest.fixture
def cluster(folder: Path, db: None) -> Iterator[Cluster]:
    """A cluster synced twice, at five past, with a field in another's hands."""
    Organisation.objects.create(id=1, name="Hanbit")
    found = world.a_registered(folder, world.a_plan())[0]
    clock.set_anchor(real_at=clock.real_now(), organisation_at=START + minutes(5), speed=1)
    for minute, figures in ((1, (6, 4)), (2, (7, 3))):
        a_tick(found, minute, a100=figures)
        sync(found, minute)
    yield found
    ports.forget(ports.simulated_file(found))


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return ports.open_simulated(ports.simulated_file(cluster))


@pytest.fixture
def lab(folder: Path, db: None) -> Lab:
    cluster, port = world.a_registered(folder, world.a_plan())
    Cluster.objects.update(mode=ClusterMode.ADMISSION)
    cluster.refresh_from_db()
    return Lab(cluster, port)
