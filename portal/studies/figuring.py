"""What a study's page and its CSV show of the comparison: lines ready to be read."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from portal.studies import comparing, words
from portal.studies.comparing import Line
from portal.studies.models import Side
from portal.studies.selectors import StudyDetail, TeamName
from portal.studies.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Shown:
    """One figure on both sides, in words."""

    key: str
    label: str
    meaning: str
    base: str
    changed: str
    difference: str
    seeds: str
    verdict: str
    tone: str
    is_real: bool


@dataclass(frozen=True, slots=True)
class ShownTeam:
    """One team's figures, those of waits and losses by key."""

    name: str
    hue: int
    jobs: float
    lines: dict[str, Shown]
    is_touched: bool


def whole(detail: StudyDetail) -> list[Shown]:
    """The figures of all jobs."""
    found = detail.comparison
    return [] if found is None else [_shown(line, detail.currency) for line in found.lines]


def teams(detail: StudyDetail) -> list[ShownTeam]:
    """The figures of each team, those first that really feel it."""
    found = detail.comparison
    if found is None:
        return []
    told = [
        ShownTeam(
            name=_name(detail.teams[team.name]), hue=detail.teams[team.name].hue, jobs=team.jobs,
            lines={key: _shown(line, detail.currency) for key, line in team.lines.items()},
            is_touched=team.is_touched,
        )
        for team in found.teams
    ]  # fmt: skip
    return sorted(told, key=lambda team: (not team.is_touched, team.name))


def _name(team: TeamName) -> str:
    return _("no team") if team.name in ("", "none") else team.name


def _shown(line: Line, currency: str) -> Shown:
    figure, compared = line.figure, line.compared
    label, meaning = words.FIGURES[figure.key]
    verdict, tone = words.verdict(line)
    return Shown(
        key=figure.key, label=str(label), meaning=str(meaning),
        base=words.amount(figure.unit, compared.base, currency),
        changed=words.amount(figure.unit, compared.changed, currency),
        difference=words.signed(figure.unit, compared.difference, currency),
        seeds=words.seeds(compared), verdict=verdict, tone=tone, is_real=compared.is_real,
    )  # fmt: skip


def conclusion(detail: StudyDetail) -> str:
    """What may be said of it all."""
    found = detail.comparison
    if found is None:
        return ""
    return words.conclusion(comparing.headline(found), len(found.seeds))


def doing(detail: StudyDetail) -> str:
    """Which replay is under way."""
    side, seed = detail.doing.get("side"), detail.doing.get("seed")
    if side is None:
        return ""
    name = _("as it is") if side == Side.BASE else _("changed")
    return _("Seed %(seed)s, %(side)s") % {"seed": seed, "side": name}


def csv_rows(detail: StudyDetail) -> Iterator[tuple[object, ...]]:
    """Every figure in its plain unit, the mean of the seeds on each side."""
    yield (
        _("Team"), _("Figure"), _("Unit"), _("As it is"), _("Changed"), _("Difference"),
        _("Interval from"), _("Interval to"), _("Seeds that agree"), _("Seeds"), _("Verdict"),
    )  # fmt: skip
    found = detail.comparison
    if found is None:
        return
    for line in found.lines:
        yield _row("", line)
    for team in found.teams:
        for line in team.lines.values():
            yield _row(_name(detail.teams[team.name]), line)


def _row(team: str, line: Line) -> tuple[object, ...]:
    figure, compared = line.figure, line.compared
    scale = 1_000_000 if figure.unit == "money" else 1
    known = compared.verdict is not Verdict.ONE_RUN
    return (
        team, figure.key, figure.unit, *(
            round(value / scale, 4)
            for value in (compared.base, compared.changed, compared.difference)
        ),
        round(compared.low / scale, 4) if known else None,
        round(compared.high / scale, 4) if known else None,
        compared.agree, compared.seeds, compared.verdict.value,
    )  # fmt: skip
