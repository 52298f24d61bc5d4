"""Dividing keeps the sum, the guarantees and the limits."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.division import Claims, divide, fair_shares
from scheduler_core.metrics import TeamTree
from scheduler_core.model import Division, DivisionTeam, Team


@st.composite
def divisions(draw: st.DrawFn) -> Division:
    teams = []
    for number in range(draw(st.integers(0, 6))):
        guaranteed = draw(st.integers(0, 20))
        more = draw(st.none() | st.integers(0, 20))
        teams.append(
            DivisionTeam(
                name=f"t{number}",
                request=draw(st.integers(0, 60)),
                guaranteed=guaranteed,
                limit=None if more is None else guaranteed + more,
                weight=draw(st.integers(0, 5)),
                priority=draw(st.integers(0, 2)),
                used=Fraction(draw(st.integers(0, 10)), 10),
            )
        )
    return Division(draw(st.integers(0, 100)), tuple(teams), Fraction(draw(st.integers(0, 4)), 2))


def requestable(team: DivisionTeam) -> int:
    return team.request if team.limit is None else min(team.request, team.limit)


@given(divisions())
def test_shares_and_what_is_left_sum_to_the_total(division: Division) -> None:
    answer = divide(division)
    served = sum(answer.shares.values())
    first = sum(min(team.guaranteed, requestable(team)) for team in division.teams)
    assert served + answer.left == max(division.total, first)


@given(divisions())
def test_nobody_gets_less_than_the_guarantee_or_more_than_asked(division: Division) -> None:
    shares = divide(division).shares
    for team in division.teams:
        asked = requestable(team)
        assert min(team.guaranteed, asked) <= shares[team.name] <= asked
        if not team.weight:
            assert shares[team.name] <= team.guaranteed


@given(divisions())
def test_nothing_is_left_while_somebody_with_weight_wants_more(division: Division) -> None:
    answer = divide(division)
    wanting = [
        team
        for team in division.teams
        if team.weight and answer.shares[team.name] < requestable(team)
    ]
    assert not (wanting and answer.left)


@given(divisions())
def test_a_lower_priority_gets_beyond_its_guarantee_only_when_the_higher_is_served(
    division: Division,
) -> None:
    shares = divide(division).shares
    for high in division.teams:
        for low in division.teams:
            if high.priority > low.priority and shares[low.name] > low.guaranteed and high.weight:
                assert shares[high.name] == requestable(high)


class TestTheTree:
    TREE = TeamTree(
        [Team("x"), Team("x1", "x", weight=1), Team("x2", "x", weight=3), Team("y", weight=1)]
    )

    def shares(self, requests: list[int], total: int = 16_000) -> list[int]:
        size = len(self.TREE)
        claims = Claims(
            [0] * size,
            requests,
            [None] * size,
            [team.weight for team in self.TREE.teams],
            [Fraction(0)] * size,
        )
        return fair_shares(self.TREE, claims, total, k=0, whole_devices=True)

    def test_children_divide_what_their_parent_got(self) -> None:
        assert self.shares([0, 16_000, 16_000, 16_000]) == [0, 2000, 6000, 8000]

    def test_a_parents_own_work_takes_part_at_weight_one(self) -> None:
        assert self.shares([16_000, 0, 16_000, 16_000]) == [2000, 0, 6000, 8000]

    @given(st.lists(st.integers(0, 20).map(lambda one: one * 1000), min_size=4, max_size=4))
    def test_the_shares_of_all_rows_never_pass_the_total(self, requests: list[int]) -> None:
        assert sum(self.shares(requests)) == min(16_000, sum(requests))
