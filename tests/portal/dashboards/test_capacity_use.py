"""Capacity keeps what is allocated and what computes apart, and says what cut GPUs would serve."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.dashboards import cutting
from portal.usage.models import HourlyUse
from portal.workloads.models import Workload
from scheduler_core import mig
from tests import builders
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World

H100 = mig.MODELS["H100-80GB"]


def measured(world: World, percent: int) -> None:
    """What Vision's first job computed in the hour before."""
    hour = world.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    HourlyUse.objects.create(
        hour=hour, cluster=world.pool.cluster, pool=world.pool, team=world.vision,
        workload_id=world.running.pk, gpu_model="H100", charged_to="guaranteed",
        gpu_milli_seconds=14_000 * 3600, measured_milli_seconds=14_000 * 3600,
        used_milli_seconds=140 * 3600 * percent,
    )  # fmt: skip


def test_allocation_and_use_are_two_numbers(world: World) -> None:
    page = text(get(world, "lead", "/capacity/"))
    assert "78 % allocated · use not measured" in page
    measured(world, 62)
    page = text(get(world, "lead", "/capacity/"))
    assert "78 % allocated · 62 % of it computing, last 3 hours" in page


@pytest.mark.parametrize(("percent", "css"), [(62, "solid hue-accent"), (3, "hatched hue-warn")])
def test_the_map_shows_what_computes_and_what_is_idle(world: World, percent: int, css: str) -> None:
    """14 devices are the measured job's, 11 are held by others, 7 are free."""
    measured(world, percent)
    body = get(world, "lead", "/capacity/?show=use").content.decode()
    map_ = body[body.index('<ul class="map"') :]
    map_ = map_[: map_.index("</ul>")]
    assert map_.count(f'class="cell {css}"') == 14
    assert map_.count('class="cell dashed hue-soft"') == 11
    assert map_.count('class="cell "') == 7


def test_what_another_layout_would_serve_is_counted_from_open_tasks(world: World) -> None:
    """On 32 GPUs of seven slices: ten tasks of a seventh fit any, four of a half only 4g and up."""
    for name, tasks, milli in (("small", 10, 140), ("half", 4, 500)):
        job = builders.a_workload(world.speech, world.pool, name, tasks=tasks, gpu_milli=milli)
        assert Workload.objects.get(pk=job.pk).ended_at is None
    page = text(get(world, "lead", "/capacity/"))
    assert "14 open tasks ask for less than a GPU" in page
    assert "7 × 1g.10gb 224 10" in page
    assert "1 × 4g.40gb 32 14" in page


def test_the_mixed_cut_serves_as_many_as_the_engine_says() -> None:
    asked = cutting.cut(H100, gpus=3, asks={140: 5, 400: 2, 900: 1})
    layouts, unserved = mig.serve(H100, {"1g.10gb": 5, "3g.40gb": 2, "7g.80gb": 1}, 3)
    assert asked.rows[-1].served == 8 - sum(unserved.values())
    assert asked.rows[-1].devices == sum(len(one.instances) for one in layouts)


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.sampled_from([100, 140, 280, 420, 500, 900]), st.integers(1, 9), min_size=1),
    st.integers(0, 12),
)
def test_taking_a_layout_many_times_at_once_changes_nothing(
    asks: dict[int, int], gpus: int
) -> None:
    found = cutting.cut(H100, gpus=gpus, asks=asks)
    plain = [p for p in H100.profiles if not p.media]
    demand = cutting._by_profile(H100, plain, asks)
    layouts, unserved = mig.serve(H100, demand, gpus)
    assert found.rows[-1].served == demand.total() - unserved.total()
    assert found.rows[-1].devices == sum(len(one.instances) for one in layouts)


@pytest.mark.parametrize(
    ("name", "memory", "model"),
    [("NVIDIA-H100-80GB-HBM3", 81_559, "H100-80GB"), ("A100-SXM4-40GB", 40_960, "A100-40GB"),
     ("NVIDIA A30", 24_576, "A30-24GB"), ("H100", 81_559, "H100-80GB"), ("T4", 15_360, None),
     ("H100", None, None)],
)  # fmt: skip
def test_a_gpu_is_known_by_its_name_and_memory(
    name: str, memory: int | None, model: str | None
) -> None:
    found = cutting.geometry_of(name, memory)
    assert (found.model if found else None) == model


def test_a_pool_that_is_cut_already_says_how() -> None:
    assert cutting.devices_each(H100, "nvidia.com/mig-3g.40gb") == 2
    rows = cutting.cut(H100, gpus=4, asks={}, resource_name="nvidia.com/mig-3g.40gb").rows
    assert [row.label for row in rows if row.now] == ["2 × 3g.40gb"]
