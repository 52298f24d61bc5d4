"""A statement as PDF: a page of HTML and our own font, laid out by WeasyPrint.

WeasyPrint is an extra of its own (`pip install 'evenshare[prod]'`) and needs Pango, so it is loaded
only when something is printed. It reads nothing but the font and style of ours.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from portal.common.errors import Refusal
from portal.finance import selectors, words
from portal.finance.selectors import StatementDetail

STATIC = Path(settings.BASE_DIR) / "static"
_KINDS = {".css": "text/css", ".otf": "font/otf"}
for _chatty in ("weasyprint", "fontTools"):
    logging.getLogger(_chatty).setLevel(logging.WARNING)


class CannotPrint(Refusal):
    """What prints is not installed here."""

    status = 501
    code = "cannot_print"


def pdf(detail: StatementDetail, *, language: str) -> bytes:
    """The file, in a language and the statement's own zone. Raises `CannotPrint`."""
    try:
        import weasyprint
        import weasyprint.urls
    except (ImportError, OSError) as error:
        raise CannotPrint(
            _(
                "PDF needs WeasyPrint and Pango: pip install 'evenshare[prod]', and the system's Pango."
            )
        ) from error
    with translation.override(language), timezone.override(detail.statement.zone):
        html = page(detail, language=language)
    document = weasyprint.HTML(
        string=html, base_url=STATIC.as_uri() + "/", url_fetcher=_fetcher(weasyprint.urls)
    )
    return bytes(document.write_pdf())


def page(detail: StatementDetail, *, language: str) -> str:
    """The page that is printed, in the active language."""
    row = detail.statement
    found = selectors.get_reconciliation(instant=row.period_starts_at)
    return render_to_string(
        "finance/print.html",
        {
            "statement": row,
            "language": language,
            "organisation": selectors.issuer(),
            "month_title": words.month(row.period_starts_at, row.zone),
            "lines": [
                (line, words.line(line), words.rate(line.rate_micro, row.currency),
                 words.printed_hours(line.gpu_milli_seconds))
                for line in detail.lines
            ],
            "held": words.hours(row.held),
            "taxes": words.taxes(detail),
            "meanings": words.meanings(detail.lines),
            "shows_money": selectors.shows_money(),
            "idle_words": words.listed(str(x.idle_rule.label) for x in detail.lines if x.idle_rule),
            "reconciliation": found,
            "verdict": words.verdict(found) if found else "",
        },
    )  # fmt: skip


def own_file(url: str) -> tuple[bytes, str]:
    """A file of ours and its media type; whatever else a page might name is refused."""
    parts = urlparse(url)
    path = Path(unquote(parts.path)).resolve()
    if parts.scheme != "file" or not path.is_relative_to(STATIC.resolve()):
        raise ValueError("a statement is printed from our own files only")
    return path.read_bytes(), _KINDS.get(path.suffix, "text/plain")


def _fetcher(urls: Any) -> Any:
    """What WeasyPrint asks for files."""

    class OwnFiles(urls.URLFetcher):  # type: ignore[misc]  # loaded late, so without types
        def fetch(self, url: str, headers: Any = None) -> Any:
            content, kind = own_file(url)
            return urls.URLFetcherResponse(url, content, {"Content-Type": kind})

    return OwnFiles()
