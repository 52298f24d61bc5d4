"""Any table as CSV, streamed, safe to open in a spreadsheet.

A cell that a spreadsheet would read as a formula (it begins with =, +, -, @, tab or return) gets
an apostrophe before it; plain numbers stay numbers. The byte-order mark makes Korean readable.
"""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from django.http import StreamingHttpResponse
from django.utils import timezone, translation

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
_CHUNK = 500
_UNPLAIN = re.compile(r"[^A-Za-z0-9._-]+")
"""What a download's name is rid of: it may hold a name somebody wrote."""


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, value: str) -> str:
        """The value itself."""
        return value


def cell(value: object) -> str:
    """One value as text a spreadsheet cannot run; times carry their offset."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, datetime):
        return timezone.localtime(value).isoformat(timespec="seconds")
    text = str(value)
    return f"'{text}" if text.startswith(_DANGEROUS) else text


def response(filename: str, rows: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """Rows, the header first, as a download in the reader's language and zone."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    answer = StreamingHttpResponse(
        _lines(rows, language, str(zone)), content_type="text/csv; charset=utf-8"
    )
    plain = _UNPLAIN.sub("-", filename).strip("-.") or "table"
    answer["Content-Disposition"] = f'attachment; filename="{plain}.csv"'
    return answer


def _lines(rows: Iterable[Sequence[object]], language: str | None, zone: str) -> Iterator[str]:
    """Lines of text.

    The stream is read after the request ended, so each chunk turns the reader's language and
    zone on again.
    """
    writer = csv.writer(_Echo())
    source = iter(rows)
    yield "\ufeff"
    while True:
        with translation.override(language), timezone.override(zone):
            lines = [
                str(writer.writerow([cell(value) for value in row]))
                for row in itertools.islice(source, _CHUNK)
            ]
        if not lines:
            return
        yield "".join(lines)
