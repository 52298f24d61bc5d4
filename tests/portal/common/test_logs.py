"""A line in the log says what it belongs to."""

import json
import logging
from collections.abc import Iterator
from datetime import datetime
from io import StringIO

import pytest
from django.test import Client

from portal.common import leases, logs


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What is logged meanwhile, a JSON object a line."""
    out = StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(logs.Context())
    handler.setFormatter(logs.Json())
    root, access = logging.getLogger(), logging.getLogger("portal.access")
    level = access.level
    root.addHandler(handler)
    access.setLevel(logging.INFO)
    yield out
    root.removeHandler(handler)
    access.setLevel(level)


def _last(lines: StringIO) -> dict[str, object]:
    found: dict[str, object] = json.loads(lines.getvalue().splitlines()[-1])
    return found


def test_a_line_is_one_json_object_with_what_is_bound(lines: StringIO) -> None:
    with logs.bound_to(cluster=3, tick=57):
        logging.getLogger("portal.x").warning("%s GPUs\nleft", 5)
    line = _last(lines)
    at = datetime.fromisoformat(str(line.pop("at")))
    assert at.utcoffset() is not None
    assert line == {
        "level": "warning", "logger": "portal.x", "message": "5 GPUs\nleft", "cluster": 3, "tick": 57,
    }  # fmt: skip


def test_after_the_block_nothing_is_bound_any_more(lines: StringIO) -> None:
    with logs.bound_to(cluster=3):
        pass
    logging.getLogger("portal.x").warning("later")
    assert "cluster" not in _last(lines)


def test_a_fault_brings_its_trace(lines: StringIO) -> None:
    try:
        raise ValueError("too many")
    except ValueError:
        logging.getLogger("portal.x").exception("failed")
    assert "ValueError: too many" in str(_last(lines)["fault"])


@pytest.mark.django_db
def test_a_request_leaves_a_line_under_the_id_of_its_answer(
    lines: StringIO, client: Client
) -> None:
    answer = client.get("/healthz?name=minji", headers={"X-Request-Id": "from-the-proxy-1"})
    assert answer["X-Request-Id"] == "from-the-proxy-1"
    line = _last(lines)
    assert (line["request"], line["path"], line["status"], line["user"]) == (
        "from-the-proxy-1", "/healthz", 200, None,
    )  # fmt: skip
    assert "minji" not in lines.getvalue()


@pytest.mark.django_db
def test_under_a_lease_every_line_names_it_and_its_number(lines: StringIO) -> None:
    with leases.holding(name="tick-3", seconds=5) as lease:
        logging.getLogger("somebody.elses").warning("slow")
    assert lease is not None
    assert (_last(lines)["lease"], _last(lines)["fence"]) == ("tick-3", lease.fence)


def test_for_a_terminal_the_names_stand_behind_the_words() -> None:
    record = logging.LogRecord("portal.x", logging.INFO, "f", 1, "done", (), None)
    with logs.bound_to(tick=57):
        logs.Context().filter(record)
    assert logs.Lines("{message}", style="{").format(record) == "done tick=57"
