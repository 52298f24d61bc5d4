"""Answers as sentences with their numbers, the same on pages and in the API."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.common import formats, money
from portal.requests.answers import (
    Answer,
    Bound,
    Displaced,
    Effect,
    Forecast,
    GivenBack,
    Holder,
    Price,
    QuotaAnswer,
    Rule,
    Short,
    SlaAnswer,
    Waiting,
    Way,
    WayKind,
)

Names = Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict in words: good, warn or bad; the first line, what it means, and what follows."""

    tone: str
    head: str
    lines: tuple[str, ...]


def of_reservation(answer: Answer, now: datetime, *, with_price: bool) -> Said:
    """Whether it fits, why not, and what it does to whom."""
    lines = [_what(answer, now, answer.price if with_price else None)]
    lines += _faults(answer.short, answer.bound, answer.names, now)
    if answer.fits:
        lines += [_effect(answer.effect, answer.names), _displaced(answer.displaced, answer.names)]
        lines.append(_forecast(answer.forecast, answer.pool))
    if answer.waiting:
        lines.append(_waiting(answer.waiting))
    tone, head = _head(answer.fits, answer.waiting)
    if answer.beyond_budget and with_price:
        lines.insert(1, answer.beyond_budget)
        if answer.fits:
            tone, head = "warn", _("Fits, but goes beyond a budget.")
    return Said(tone, head, tuple(line for line in lines if line))


def of_quota(answer: QuotaAnswer, now: datetime) -> Said:
    """Whether the guarantee can be promised, and why not."""
    had, wanted = answer.before["guaranteed"] or 0, answer.after["guaranteed"] or 0
    lines = [
        _("%(team)s would be guaranteed %(wanted)s GPUs of %(pool)s instead of %(had)s.")
        % {
            "team": answer.names.get(answer.team_id, ""),
            "wanted": wanted,
            "pool": answer.pool,
            "had": had,
        }
    ]
    lines += _faults(answer.short, answer.bound, answer.names, now)
    if answer.fits:
        left = answer.unpromised
        lines.append(
            ngettext(
                "%(left)s GPU of the pool stays unpromised.",
                "%(left)s GPUs of the pool stay unpromised.",
                left,
            )
            % {"left": left}
        )
    if answer.waiting:
        lines.append(_waiting(answer.waiting))
    tone, head = _head(answer.fits, answer.waiting)
    return Said(tone, head, tuple(line for line in lines if line))


def of_give_back(answer: GivenBack, now: datetime) -> Said:
    """What others may have again."""
    words = {
        "gpus": answer.gpus, "id": answer.reservation_id,
        "span": formats.span(answer.from_at, answer.to_at, now, inside=True),
    }  # fmt: skip
    return Said(
        "good", _("Nobody has to agree."),
        (_("%(gpus)s GPUs of R-%(id)s would be free for others, %(span)s.") % words,),
    )  # fmt: skip


def of_sla(answer: SlaAnswer) -> Said:
    """What would be promised instead of what, and how often it would have been kept."""
    words: dict[str, object] = {
        "tier": answer.tier, "wait": formats.duration(answer.seconds), "had": answer.had or "",
        "had_wait": formats.duration(answer.had_seconds or 0),
    }  # fmt: skip
    first = (
        _("Jobs would start within %(wait)s (%(tier)s) instead of %(had_wait)s (%(had)s).")
        if answer.had
        else _("Jobs would start within %(wait)s (%(tier)s); nothing is promised so far.")
    ) % words
    kept = answer.would
    if kept.permille is None:
        return Said("warn", _("Nothing to go by."), (first, _("No job came in the last 30 days.")))
    words |= {
        "jobs": kept.met + kept.missed, "share": formats.number(kept.permille / 10, 1),
        "goal": formats.number(answer.goal_permille / 10, 1),
    }  # fmt: skip
    enough = kept.permille >= answer.goal_permille
    return Said(
        "good" if enough else "warn",
        _("Would have been kept.") if enough else _("Would not have been kept."),
        (
            first,
            _(
                "Of the %(jobs)s jobs of the last 30 days %(share)s %% started in that time, those "
                "that still wait counted; the goal is %(goal)s %%."
            )
            % words,
        ),
    )  # fmt: skip


def way(value: Way, now: datetime, *, with_price: bool) -> str:
    """One thing to ask for instead."""
    words = {
        "gpus": value.gpus,
        "pool": value.pool,
        "span": formats.span(value.starts_at, value.ends_at, now, inside=True),
    }
    patterns = {
        WayKind.LATER: _("%(gpus)s GPUs of %(pool)s fit later: %(span)s"),
        WayKind.FEWER: _("%(gpus)s GPUs of %(pool)s fit at that time"),
        WayKind.POOL: _("%(gpus)s GPUs fit at that time in %(pool)s"),
    }
    say = patterns[value.kind] % words
    if value.price and with_price:
        return f"{say} ({price(value.price)})"
    return say


def price(value: Price) -> str:
    """An estimate."""
    return _("about %(amount)s") % {"amount": money.show(value.micro, value.currency)}


def _head(fits: bool, waiting: Waiting | None) -> tuple[str, str]:
    if not fits:
        return "bad", _("Does not fit.")
    if waiting and waiting.left < 0:
        return "warn", _("Fits, but others have asked too.")
    return "good", _("Fits.")


def _what(answer: Answer, now: datetime, estimate: Price | None) -> str:
    words = {
        "gpus": answer.gpus,
        "pool": answer.pool,
        "span": formats.span(answer.starts_at, answer.ends_at, now, inside=True),
    }
    if estimate is None:
        return _("%(gpus)s GPUs of %(pool)s, %(span)s.") % words
    words["price"] = price(estimate)
    return _("%(gpus)s GPUs of %(pool)s, %(span)s, %(price)s.") % words


def _faults(short: Short | None, bound: Bound | None, names: Names, now: datetime) -> Iterable[str]:
    if short:
        yield _short(short, now)
        if short.holders:
            yield " ".join(_holder(holder, names, now) for holder in short.holders)
    if bound:
        yield _bound(bound, names, now)


def _short(short: Short, now: datetime) -> str:
    words = {
        "when": formats.when(short.at, now, inside=True), "free": short.free, "capacity": short.capacity,
        "asked": short.asked, "per_node": short.per_node,
    }  # fmt: skip
    if short.per_node:
        return (
            _(
                "From %(when)s nodes have room for %(free)s GPUs in parts of %(per_node)s on one "
                "node; %(asked)s are asked for."
            )
            % words
        )
    return (
        _("From %(when)s %(free)s of %(capacity)s GPUs are free; %(asked)s are asked for.") % words
    )


def _holder(holder: Holder, names: Names, now: datetime) -> str:
    words = {"team": names.get(holder.team_id, ""), "gpus": holder.gpus, "id": holder.source_id}
    if holder.kind == "reservation" and holder.until is not None:
        words["until"] = formats.when(holder.until, now, inside=True)
        return _("%(team)s holds %(gpus)s until %(until)s (R-%(id)s).") % words
    if holder.until is None:
        return _("%(team)s is guaranteed %(gpus)s.") % words
    words["until"] = formats.when(holder.until, now, inside=True)
    return _("%(team)s is guaranteed %(gpus)s until %(until)s.") % words


def _bound(bound: Bound, names: Names, now: datetime) -> str:
    words = {
        "team": names.get(bound.team_id, ""), "figure": bound.figure, "held": bound.held, "left": max(0, bound.left),
        "asked": bound.asked, "when": formats.when(bound.at, now, inside=True),
    }  # fmt: skip
    if bound.rule is Rule.GUARANTEE:
        return (
            _(
                "%(team)s is guaranteed %(figure)s and has set aside %(held)s of them from %(when)s: "
                "%(left)s are left, %(asked)s are asked for."
            )
            % words
        )
    return (
        _(
            "The limit of %(team)s is %(figure)s; guarantee and reservations come to %(held)s from "
            "%(when)s: %(left)s are left, %(asked)s are asked for."
        )
        % words
    )


def _effect(effect: Effect, names: Names) -> str:
    words = {
        "team": names.get(effect.team_id, ""),
        "figure": effect.figure,
        "held": effect.held,
        "left": effect.left,
    }
    if effect.figure is None or effect.left is None:
        return _("%(team)s would hold %(held)s; it has no limit here.") % words
    if effect.rule is Rule.GUARANTEE:
        return _("%(team)s would have set aside %(held)s of its %(figure)s guaranteed.") % words
    return _("%(team)s would hold %(held)s of at most %(figure)s: %(left)s left.") % words


def _waiting(waiting: Waiting) -> str:
    words = {"count": waiting.count, "gpus": waiting.gpus, "left": waiting.left}
    say = ngettext(
        "%(count)s other request for this time waits for %(gpus)s GPUs.",
        "%(count)s other requests for this time wait for up to %(gpus)s GPUs at once.",
        waiting.count,
    )
    if waiting.left < 0:
        words["short"] = -waiting.left
        return (say + " " + _("If all are approved, %(short)s are missing.")) % words
    return (say + " " + _("There is room for all.")) % words


def _forecast(forecast: Forecast, pool: str) -> str:
    if not forecast.jobs:
        return ""
    return ngettext(
        "%(jobs)s job of another team is planned to start on %(pool)s in that time (%(gpus)s GPUs) "
        "and may start later.",
        "%(jobs)s jobs of other teams are planned to start on %(pool)s in that time (%(gpus)s GPUs) "
        "and may start later.",
        forecast.jobs,
    ) % {"jobs": forecast.jobs, "gpus": forecast.gpus, "pool": pool}


def _displaced(displaced: tuple[Displaced, ...], names: Names) -> str:
    if not displaced:
        return _("Nobody would be displaced as things stand now.")
    return " ".join(
        ngettext(
            "%(team)s would give back %(gpus)s borrowed GPU.",
            "%(team)s would give back %(gpus)s borrowed GPUs.",
            d.gpus,
        )
        % {"team": names.get(d.team_id, ""), "gpus": d.gpus}
        for d in displaced
    )
