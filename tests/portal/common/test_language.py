"""The Korean catalogue is whole: everything said, nothing left over, placeholders kept."""

import ast
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from django.utils import timezone, translation
from django.utils.translation.template import templatize

from portal.common import formats

ROOT = Path(__file__).parents[3]
CATALOGUE = ROOT / "portal" / "locale" / "ko" / "LC_MESSAGES" / "django.po"
NAMES = frozenset({"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"})
IN_CONTEXT = frozenset({"pgettext", "pgettext_lazy"})
QUOTED = r"u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
CALLED = re.compile(rf"\b(p?gettext|ngettext|_)\(((?:\s*{QUOTED}\s*,?)+)")
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w+\}|\*\*|</?b>")
JOSA = re.compile(r"(?:%\(\w+\)[sd]|\})(?:은|는|이|가|을|를|과|와|으로|로|이나|나)(?![가-힣])")
SAME = frozenset({"Evenshare", "Kubernetes", "%(was)s → %(now)s", "GPU %(n)d: %(who)s",
                  "%(what)s: %(charge)s", "%(figure)s: %(was)s → %(now)s",
                  "%(share)s %%", "%(percent)s %%", "SLAs",
                  "%(n)s %%", "%(n)s points", "%(rule)s: %(was)s → %(now)s",
                  "%(told)s in %(pool)s", "Alibaba 2020, PAI", "MiB", "Microsoft ITP",
                  "Microsoft Philly, as job_id, submit_s, duration_s, num_gpus, vc",
                  "SenseTime Helios", "Slurm: sacct -P", "API", "p90", "p99",
                  "%(name)s (%(unit)s)"})  # fmt: skip
"""Names and bare placeholders, which read alike in every language."""
LATIN = frozenset(
    {"GPU", "GPUs", "CPU", "CSV", "JSON", "KRW", "MIG", "GiB", "API", "KST", "R", "T", "G", "Kubernetes",
     "kubeconfig", "Evenshare", "deploy", "kubernetes", "quota", "requests", "SLA", "Ray",
     "RayCluster",
     "RayJob", "rayStartParams", "num", "gpu", "gpus", "Kueue", "ms", "manage", "py", "add",
     "cluster", "NAME", "FILE", "FOCUS", "PDF", "QR", "UTC", "TEAM", "RuntimeClass",
     "runtimeClassName", "Authorization", "Bearer", "code", "https", "slack", "WeasyPrint", "Pango",
     "pip", "install", "evenshare", "prod",
     "login", "ADDRESS", "http", "example", "org", "token", "stdin", "insecure", "limit", "until", "request",
     "submit", "Job", "training", "Asia", "Seoul",
     "Alibaba", "Analysis", "DRF", "EASY", "Fair", "Feitelson", "Helios", "ITP", "Jain", "Law",
     "MiB", "Microsoft", "Modeling", "P", "PAI", "Philly", "SWF", "SenseTime", "Simulation",
     "Slurm", "Tree", "Workload", "Zakay", "and", "duration", "export", "gzip", "id", "job",
     "EVENSHARE", "HOSTS", "PNG", "PROMETHEUS", "Prometheus", "Speech", "dcgm", "exporter",
     "monitoring", "pack", "prometheus", "seoul", "spread",
     "openb", "p", "replay", "resampling", "s", "sacct", "t", "vc", "x"}
)  # fmt: skip
"""What Korean writes in Latin letters: units, names of things, addresses."""


@dataclass
class Entry:
    """One entry of a `.po` file."""

    context: str = ""
    msgid: str = ""
    plural: str = ""
    said: str = ""
    flags: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """As the compiled file has it."""
        return f"{self.context}\x04{self.msgid}" if self.context else self.msgid


@cache
def entries() -> list[Entry]:
    """The catalogue without its header."""
    blocks = CATALOGUE.read_text(encoding="utf-8").strip().split("\n\n")
    return [entry for block in blocks if (entry := parsed(block)).msgid]


def parsed(block: str) -> Entry:
    """One entry from its lines."""
    found = Entry()
    fields = {"msgctxt": "context", "msgid": "msgid", "msgid_plural": "plural",
              "msgstr": "said", "msgstr[0]": "said"}  # fmt: skip
    name = ""
    for line in block.splitlines():
        if line.startswith("#,"):
            found.flags |= {flag.strip() for flag in line[2:].split(",")}
        elif not line.startswith("#"):
            keyword, quote, rest = line.partition('"')
            name = fields[keyword.strip()] if keyword else name
            setattr(found, name, getattr(found, name) + ast.literal_eval(quote + rest))
    return found


def compiled() -> dict[str, str]:
    """What the `.mo` file holds: little-endian tables of lengths and offsets."""
    data = CATALOGUE.with_suffix(".mo").read_bytes()
    magic, _version, count, keys, values = struct.unpack_from("<5I", data)
    assert magic == 0x950412DE
    found = {}
    for number in range(count):
        pair = []
        for table in (keys, values):
            length, offset = struct.unpack_from("<2I", data, table + 8 * number)
            pair.append(data[offset : offset + length].decode())
        found[pair[0].partition("\0")[0]] = pair[1]
    return found


def of_code() -> Iterator[str]:
    """Every string the rooms hand to gettext."""
    for path in (ROOT / "portal").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            words = [arg.value for arg in node.args
                     if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]  # fmt: skip
            if words and node.func.id in NAMES:
                yield words[0]
            elif words and node.func.id in IN_CONTEXT:
                yield "\x04".join(words[:2])


def of_templates() -> Iterator[str]:
    """Every string the templates translate."""
    for path in (*(ROOT / "templates").rglob("*.html"), *(ROOT / "templates").rglob("*.txt")):
        for name, args in CALLED.findall(templatize(path.read_text(encoding="utf-8"))):
            words = ast.literal_eval(f"({args.strip().rstrip(',')},)")
            yield "\x04".join(words) if name == "pgettext" else words[0]


def test_the_catalogue_holds_what_code_and_templates_say_and_nothing_else() -> None:
    said, held = {*of_code(), *of_templates()}, {entry.key for entry in entries()}
    assert len(said) > 700
    assert said - held == set(), "not in the catalogue yet"
    assert held - said == set(), "said nowhere any more"


def test_every_string_has_its_korean_and_none_is_a_guess() -> None:
    assert [entry.msgid for entry in entries() if not entry.said] == []
    assert [entry.msgid for entry in entries() if "fuzzy" in entry.flags] == []
    assert "#~" not in CATALOGUE.read_text(encoding="utf-8")


def test_korean_keeps_placeholders_marks_and_tags() -> None:
    changed = []
    for entry in entries():
        source, said = (Counter(PLACEHOLDER.findall(text)) for text in (entry.msgid, entry.said))
        values = {one for one in {*source, *said} if one[0] == "{" or one.startswith("%(")}
        same = all((one in source) == (one in said) for one in values)
        if not same or any(source[one] != said[one] for one in ("**", "<b>", "</b>")):
            changed.append(entry.msgid)
        if entry.plural:
            assert set(PLACEHOLDER.findall(entry.plural)) == set(source), entry.msgid
    assert changed == []


def test_korean_is_korean() -> None:
    left = {}
    for entry in entries():
        words = re.findall(r"[A-Za-z]+", re.sub(r"%\(\w+\)[sd]|\{\w+\}|</?b>", "", entry.said))
        english = set(words) - LATIN
        if english or not (entry.msgid in SAME or re.search("[가-힣]|GPU", entry.said)):
            left[entry.msgid] = sorted(english)
    assert left == {}


def test_no_particle_after_a_value_depends_on_how_the_value_ends() -> None:
    assert [entry.said for entry in entries() if JOSA.search(entry.said)] == []


def test_sentences_end_and_labels_do_not() -> None:
    unlike = [entry.msgid for entry in entries()
              if entry.msgid.endswith(".") and entry.said[-1:] not in ".:"]  # fmt: skip
    assert unlike == []


def test_the_compiled_catalogue_is_that_of_the_text() -> None:
    held = compiled()
    assert "charset=UTF-8" in held.pop("")
    assert held == {entry.key: entry.said for entry in entries()}


@pytest.mark.parametrize(
    ("ahead", "day", "far"),
    [
        (timedelta(minutes=6), "오늘 09:06 KST", "6분 후"),
        (timedelta(hours=-10), "어제 23:00 KST", "10시간 전"),
        (timedelta(days=1, hours=2), "내일 11:00 KST", "1일 2시간 후"),
        (timedelta(days=29, hours=-4, minutes=15), "12월 1일 (화) 05:15 KST", "28일 20시간 후"),
        (timedelta(days=60), "2027년 1월 1일 09:00 KST", "60일 후"),
    ],
)
def test_times_read_as_koreans_write_them(
    now: datetime, ahead: timedelta, day: str, far: str
) -> None:
    with timezone.override("Asia/Seoul"), translation.override("ko"):
        assert formats.when(now + ahead, now) == day
        assert formats.ago(now + ahead, now) == far


def test_amounts_and_stretches_read_as_koreans_write_them(now: datetime) -> None:
    with timezone.override("Asia/Seoul"), translation.override("ko"):
        assert formats.gpus(1_024_500) == "1,024.5"
        assert formats.duration(4200) == "1시간 10분"
        assert formats.duration(45) == "45초"
        assert formats.span(now, now + timedelta(hours=9), now) == "오늘 09:00–18:00 KST"
        late = formats.span(now + timedelta(hours=13), now + timedelta(days=2), now)
        assert late == "오늘 22:00 – 11월 4일 (수) 09:00 KST"
        assert formats.stamp(now) == "11월 2일 (월) 09:00:00 KST"
