"""How amounts, times and names read in a sentence, and where its one strong part stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.utils import formats
from django.utils.translation import gettext as _

from portal.scheduling import naming
from scheduler_core.resources import DEVICE

MARK = "**"
"""Stands twice in a template, round the part to emphasise; translators keep both."""
GIB = 1024


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a page or the API says of a decision.

    `strong` is the part of `text` to emphasise, word for word, or empty. `also` are further
    sentences, of less weight.
    """

    text: str
    strong: str = ""
    also: tuple[str, ...] = ()

    def split(self) -> tuple[str, str, str]:
        """Text before the strong part, the strong part, text after it."""
        if not self.strong:
            return self.text, "", ""
        before, _strong, after = self.text.partition(self.strong)
        return before, self.strong, after


@dataclass(frozen=True, slots=True)
class Names:
    """Names by id that this reader may see; what is missing is spoken of without its name."""

    teams: Mapping[int, str] = field(default_factory=dict)
    pools: Mapping[int, str] = field(default_factory=dict)
    workloads: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers of one decision, asked for by key. `KeyError` when the engine gave none."""

    detail: Mapping[str, Any]
    names: Names
    zone: tzinfo
    now: datetime | None = None

    def milli(self, key: str) -> int:
        """An amount in thousandths."""
        value = self.detail[key]
        if not isinstance(value, int):
            raise KeyError(key)
        return value

    def gpus(self, key: str) -> str:
        """GPUs, from milli-GPU."""
        return thousandths(self.milli(key))

    def text(self, key: str) -> str:
        """A word as it stands."""
        return str(self.detail[key])

    def words(self, key: str) -> str:
        """A list of words, or "nothing"."""
        return ", ".join(str(word) for word in self.detail[key]) or _("nothing")

    def pool(self) -> str:
        """The pool's name."""
        return named(self.names.pools, self.detail.get("pool"), "p") or _("the pool")

    def team(self, key: str = "team") -> str:
        """A team's name. The hidden team is work of nobody."""
        return named(self.names.teams, self.detail[key], "t") or _("no team")

    def job(self, key: str) -> str | None:
        """A job's name, when this reader may see it."""
        return named(self.names.workloads, self.detail.get(key), "w")

    def reservation(self, key: str = "reservation") -> str:
        """A reservation as people call it."""
        return f"R-{naming.row_id(str(self.detail[key]), 'r')}"

    def moment(self, key: str) -> str:
        """A moment given in seconds since the epoch, in the reader's zone."""
        return moment(datetime.fromtimestamp(self.milli(key), tz=UTC), self.zone, self.now)


def named(names: Mapping[int, str], name: object, letter: str) -> str | None:
    """The name of what an opaque name stands for."""
    row_id = naming.row_id(name, letter) if isinstance(name, str) else None
    return None if row_id is None else names.get(row_id)


def say(template: str, **values: str) -> Sentence:
    """Fill a translated template; the text between the two marks is the strong part."""
    filled = [part % values for part in template.split(MARK)]
    return Sentence("".join(filled), filled[1] if len(filled) == 3 else "")


def is_one(milli: int) -> int:
    """The number to choose a plural by: one device is one, everything else is several."""
    return 1 if milli == DEVICE else 2


def thousandths(milli: int) -> str:
    """A whole number, or as many decimals as there are: 2500 is 2.5."""
    digits = f"{milli / DEVICE:.3f}".rstrip("0").rstrip(".")
    decimals = len(digits.partition(".")[2])
    return formats.number_format(milli / DEVICE, decimals, force_grouping=True)


def gibibytes(mib: int) -> str:
    """Memory in GiB, one decimal where it is not whole."""
    return formats.number_format(mib / GIB, 0 if mib % GIB == 0 else 1, force_grouping=True)


def moment(instant: datetime, zone: tzinfo, now: datetime | None = None) -> str:
    """Hour and minute with the zone; the date too unless it is today's."""
    local = instant.astimezone(zone)
    same_day = now is not None and now.astimezone(zone).date() == local.date()
    return local.strftime("%H:%M %Z" if same_day else "%Y-%m-%d %H:%M %Z")


def duration(seconds: int) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 120:
        return _("%(count)s s") % {"count": seconds}
    if seconds < 7200:
        return _("%(count)s min") % {"count": seconds // 60}
    return _("%(count)s h") % {"count": formats.number_format(seconds / 3600, 1)}
