"""The forecast: planned starts over durations drawn from what estimates were worth before."""

from dataclasses import replace

from scheduler_core import model
from scheduler_core.simulator.forecast import Guesses, Outlook, forecast

NODE = model.Node("n", "p", 8, 8_000, 8_000)


def work(name: str, duration: int | None, started_at: int | None = None) -> model.Workload:
    """Return work for the whole node, running since `started_at` or waiting."""
    running = None
    if started_at is not None:
        held = tuple((device, 1000) for device in range(8))
        running = model.Running(started_at, (model.Placement("n", 1, held),))
    return model.Workload(
        name,
        "a",
        0,
        1,
        model.PerTask(8_000, 0, 0),
        duration_seconds=duration,
        running=running,
    )


def snapshot(*workloads: model.Workload) -> model.Snapshot:
    """Return a node at 1,000 s with the workloads."""
    return model.Snapshot(
        now=1000,
        policy=model.Policy(order="fifo"),
        teams=(model.Team("a"),),
        pools=(model.Pool("p"),),
        quotas=(model.Quota("a", "p", 0),),
        nodes=(NODE,),
        workloads=workloads,
    )


def test_with_true_estimates_everything_starts_when_planned() -> None:
    found = forecast(snapshot(work("r", 500, 900), work("w1", 50), work("w2", 50)), {})
    assert found == {"w1": Outlook(1400, 1400), "w2": Outlook(1450, 1450)}


def test_what_starts_now_is_certain() -> None:
    assert forecast(snapshot(work("w1", 50)), {"a": [0.5, 2.0]})["w1"] == Outlook(1000, 1000)


def test_wrong_estimates_spread_the_starts() -> None:
    given = snapshot(work("r", 500, 900), work("w1", 50))
    found = forecast(given, {"a": [0.5, 0.5, 2.0]}, draws=99)
    early, late = 900 + 250, 900 + 1000
    assert found["w1"] == Outlook(early, late)


def test_running_work_is_not_thought_to_have_ended_already() -> None:
    given = snapshot(work("r", 500, 600), work("w1", 50))
    assert forecast(given, {"a": [0.1, 0.5, 2.0]})["w1"] == Outlook(1600, 1600)


def test_work_behind_an_end_that_nobody_knows_has_no_outlook() -> None:
    given = snapshot(work("r", 100, 0), work("w1", 50))
    assert forecast(given, {"a": [0.5, 1.0]})["w1"] == Outlook(None, None)
    unknown = snapshot(work("r", None, 0), work("w1", 50))
    assert forecast(unknown, {})["w1"] == Outlook(None, None)


def test_a_team_without_history_is_judged_by_all() -> None:
    given = snapshot(work("r", 500, 900), work("w1", 50))
    assert forecast(given, {"": [2.0]})["w1"].p50 == 1900


def test_the_same_seed_gives_the_same_forecast_whatever_backfill_the_policy_has() -> None:
    given = snapshot(work("r", 500, 900), work("w1", 50))
    off = replace(given, policy=replace(given.policy, backfill="off"))
    ratios = {"a": [0.5, 1.0, 1.5, 2.0]}
    assert forecast(given, ratios, seed=3) == forecast(off, ratios, seed=3)


def test_a_guess_is_judged_by_what_guesses_were_worth() -> None:
    given = snapshot(work("r", 500, 900), work("w1", 50))
    guesses = Guesses(frozenset({"r"}), {"a": [2.0]})
    assert forecast(given, {"a": [1.0]}, guesses=guesses)["w1"] == Outlook(1900, 1900)
