"""MIG layouts against the published maps: 12 maximal combinations, 127, 19 and 9 multisets."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import mig

SEVEN = mig.MODELS["A100-80GB"]
NAMES = {1: "1g.10gb", 2: "2g.20gb", 3: "3g.40gb", 4: "4g.40gb", 7: "7g.80gb"}
MAXIMAL = [
    "1111111",
    "111112",
    "11113",
    "11122",
    "1114",
    "1123",
    "1222",
    "124",
    "223",
    "33",
    "34",
    "7",
]
SEVEN_SLICE_MODELS = [name for name, geometry in mig.MODELS.items() if geometry.slices == 8]


def counts(sizes: str) -> Counter[str]:
    """Name the instances of a string of sizes: "34" is one 3g and one 4g."""
    return Counter(NAMES[int(size)] for size in sizes)


def sizes(layout: mig.Layout) -> str:
    """Write a layout as its sorted sizes."""
    return "".join(sorted(instance.profile[0] for instance in layout.instances))


def plain(geometry: mig.Geometry) -> list[str]:
    """Return the profiles without a variant, and without double memory."""
    named = [profile for profile in geometry.profiles if not set("+-") & set(profile.name)]
    smallest = {profile.compute: profile.name for profile in sorted(named, key=lambda p: -p.size)}
    return list(smallest.values())


@pytest.mark.parametrize("model", SEVEN_SLICE_MODELS)
def test_a_seven_slice_gpu_has_twelve_maximal_combinations(model: str) -> None:
    geometry = mig.MODELS[model]
    found = mig.maximal_layouts(geometry, plain(geometry))
    assert sorted(map(sizes, found)) == sorted(MAXIMAL)


@pytest.mark.parametrize("model", ["A30-24GB", "RTX-PRO-6000-96GB"])
def test_a_four_slice_gpu_has_four_maximal_combinations(model: str) -> None:
    geometry = mig.MODELS[model]
    found = mig.maximal_layouts(geometry, plain(geometry))
    assert sorted(map(sizes, found)) == ["1111", "112", "22", "4"]


def test_all_multisets_of_a_seven_slice_gpu_number_127() -> None:
    every = [profile.name for profile in SEVEN.profiles]
    assert len(list(mig.layouts(SEVEN, every))) == 127


def test_all_multisets_of_an_a30_number_19_and_of_an_rtx_pro_6000_number_9() -> None:
    a30, rtx = mig.MODELS["A30-24GB"], mig.MODELS["RTX-PRO-6000-96GB"]
    assert len(list(mig.layouts(a30, [profile.name for profile in a30.profiles]))) == 19
    assert len(list(mig.layouts(rtx, plain(rtx)))) == 9


def test_placed_maximal_layouts_of_a_seven_slice_gpu_number_19() -> None:
    places = [
        mig.Instance(profile.name, start)
        for profile in SEVEN.profiles
        if profile.name in NAMES.values()
        for start in profile.starts
    ]
    valid = set()
    for number in range(1, 8):
        for chosen in combinations(places, number):
            masks = [SEVEN.profile(instance.profile).mask(instance.start) for instance in chosen]
            if sum(mask.bit_count() for mask in masks) == _union(masks).bit_count():
                valid.add(frozenset(chosen))
    maximal = [
        one for one in valid if not any(one | {place} in valid for place in set(places) - one)
    ]
    assert len(maximal) == 19


def _union(masks: list[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


@pytest.mark.parametrize(
    ("model", "balanced"),
    [
        ("A100-80GB", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ("H200-141GB", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}),
        ("B200-180GB", {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}),
        ("A30-24GB", {"1g.6gb": 2, "2g.12gb": 1}),
    ],
)
def test_the_stock_balanced_layouts_are_valid(model: str, balanced: dict[str, int]) -> None:
    assert mig.fits(mig.MODELS[model], balanced)


def test_three_large_and_four_small_instances_do_not_fit() -> None:
    assert not mig.fits(SEVEN, counts("33") + counts("1"))
    assert not mig.fits(SEVEN, counts("44"))


def test_only_one_instance_carries_the_media_engines() -> None:
    a30 = mig.MODELS["A30-24GB"]
    assert mig.fits(a30, {"1g.6gb+me": 1, "2g.12gb": 1})
    assert not mig.fits(a30, {"1g.6gb+me": 1, "2g.12gb+me": 1})


def test_double_memory_costs_a_slice_of_memory_and_none_of_compute() -> None:
    assert mig.fits(SEVEN, {"1g.20gb": 4})
    assert not mig.fits(SEVEN, {"1g.20gb": 4, "1g.10gb": 1})
    assert mig.fits(SEVEN, {"1g.20gb": 3, "1g.10gb": 1})


def test_on_a_partly_used_gpu_places_decide_and_not_sums() -> None:
    middle = [mig.Instance("1g.10gb", 3)]
    assert sum(SEVEN.profile(name).size for name in ("1g.10gb", "4g.40gb")) < SEVEN.slices
    assert not mig.fits(SEVEN, counts("4"), middle)
    assert mig.arrange(SEVEN, counts("3"), middle) == mig.Layout((mig.Instance("3g.40gb", 4),))


def test_what_is_in_use_counts_toward_the_limits() -> None:
    used = [mig.Instance("1g.10gb+me", 0)]
    assert not mig.fits(SEVEN, {"1g.10gb+me": 1}, used)


def test_a_small_instance_is_put_where_a_large_one_may_still_begin() -> None:
    first = mig.arrange(SEVEN, counts("1"))
    assert first is not None
    assert mig.fits(SEVEN, counts("24"), first.instances)


def test_instances_come_largest_first_so_that_creating_them_in_order_works() -> None:
    layout = mig.arrange(SEVEN, counts("1123"))
    assert layout is not None
    assert [instance.profile[0] for instance in layout.instances] == ["3", "2", "1", "1"]


@given(st.sampled_from(MAXIMAL), st.data())
def test_any_part_of_a_maximal_combination_arranges_without_overlap(
    combination: str, data: st.DataObject
) -> None:
    part = data.draw(st.lists(st.sampled_from(range(len(combination))), unique=True))
    layout = mig.arrange(SEVEN, counts("".join(combination[index] for index in part)))
    assert layout is not None
    SEVEN.occupied(layout.instances)
    assert len(layout.instances) == len(part)


def test_the_best_layout_serves_most_compute_first() -> None:
    demand = counts("3") + counts("22") + counts("1111111")
    assert sizes(mig.best_layout(SEVEN, demand)) == "223"


def test_the_best_layout_uses_what_a_busy_gpu_still_has() -> None:
    busy = [mig.Instance("2g.20gb", 2)]
    assert sizes(mig.best_layout(SEVEN, counts("4") + counts("3") + counts("11"), busy)) == "113"


def test_the_best_layout_holds_nothing_nobody_asked_for() -> None:
    assert mig.best_layout(SEVEN, {}).instances == ()
    assert sizes(mig.best_layout(SEVEN, counts("2"))) == "2"


def test_a_demand_is_served_gpu_by_gpu_and_the_rest_is_named() -> None:
    cut, left = mig.serve(SEVEN, counts("7") + counts("333") + counts("4"), gpus=3)
    assert [sizes(layout) for layout in cut] == ["7", "34", "33"]
    assert left == Counter()
    assert mig.serve(SEVEN, counts("77"), gpus=1)[1] == counts("7")


@pytest.mark.parametrize(
    ("model", "profile", "number"),
    [("H100-80GB", "1g.10gb", 7), ("H100-80GB", "1g.20gb", 4), ("H100-80GB", "3g.40gb", 2)],
)
def test_a_pool_of_one_profile_counts_its_instances(model: str, profile: str, number: int) -> None:
    assert mig.per_gpu(mig.MODELS[model], profile) == number


def test_wrong_names_places_and_counts_are_refused() -> None:
    with pytest.raises(mig.MigError, match="no profile 5g"):
        mig.fits(SEVEN, {"5g": 1})
    with pytest.raises(mig.MigError, match="cannot begin at slice 1"):
        mig.fits(SEVEN, {}, [mig.Instance("2g.20gb", 1)])
    with pytest.raises(mig.MigError, match="overlaps"):
        mig.fits(SEVEN, {}, [mig.Instance("2g.20gb", 0), mig.Instance("1g.10gb", 1)])
    with pytest.raises(mig.MigError, match="cannot want -1"):
        mig.fits(SEVEN, {"1g.10gb": -1})


def test_starts_that_were_not_read_from_a_device_are_marked() -> None:
    assert [name for name, geometry in mig.MODELS.items() if geometry.derived] == [
        "H200-141GB",
        "B200-180GB",
        "GH200-144GB",
        "GB200-186GB",
        "B300-269GB",
    ]


def test_the_device_plugin_turns_plus_into_a_point() -> None:
    assert mig.resource_name("1g.10gb+me") == "nvidia.com/mig-1g.10gb.me"
