"""Every door of the portal: its routes, the table of who may open them, and a way to knock."""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.http import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

TABLE = Path(__file__).parent / "architecture" / "access.csv"
UNKNOWN_ID = 987654
VARYING = re.compile(r"""\bNULL\b|"s\d+_x\d+"|\b\d+\b|'[^']*'""")
"""In a statement: names of savepoints, numbers, texts."""


def _walk() -> Iterator[tuple[str, list[str]]]:
    """Name and argument names of every route but the admin's own and the static files'."""

    def walk(
        resolver: URLResolver, space: str, names: list[str]
    ) -> Iterator[tuple[str, list[str]]]:
        for entry in resolver.url_patterns:
            named = getattr(entry.pattern.regex, "groupindex", {})
            taken = [*names, *(entry.pattern.converters or named)]
            if isinstance(entry, URLResolver):
                inner = f"{space}{entry.namespace}:" if entry.namespace else space
                if not inner.startswith("admin:"):
                    yield from walk(entry, inner, taken)
            elif isinstance(entry, URLPattern):
                yield f"{space}{entry.name}", taken

    yield from walk(get_resolver(), "", [])


ROUTES = dict(_walk())


def table() -> dict[tuple[str, str], dict[str, str]]:
    """The table by route and what one does there."""
    with TABLE.open() as file:
        return {(row["route"], row["does"]): row for row in csv.DictReader(file)}


def knock(
    client: Client, route: str, does: str, ids: Mapping[str, object], **headers: str
) -> HttpResponseBase:
    """Ask for a route with these arguments, to read or, without a body, to write."""
    address = reverse(route, kwargs={name: ids[name] for name in ROUTES[route]})
    send = client.get if does == "read" else client.post
    return send(address, headers=headers)


def statements(sent: CaptureQueriesContext) -> tuple[str, ...]:
    """What was asked of the database, without the figures and texts that differ each time."""
    return tuple(VARYING.sub("?", one["sql"]) for one in sent.captured_queries)


def body(response: HttpResponseBase) -> str:
    """What came back as text."""
    return bytes(getattr(response, "content", b"")).decode()


def bare(text: str) -> str:
    """A page without what differs on every page: tokens, ids in addresses, times."""
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)
    return re.sub(r"\d+", "n", re.sub(r"[A-Za-z0-9]{32,}", "", text))
