"""The one table: sorted, paged and exported on the server, the same on every page.

A room declares a `Table` in its `tables.py` and answers with `listing`: it sorts and pages by
the query string and, for `?format=csv`, streams the whole list.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import django_tables2
from django.conf import settings
from django.core.paginator import EmptyPage, PageNotAnInteger, Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from portal.common import csv, formats, money

MOST_ROWS = 200
_NUMBER = {"td": {"class": "n"}, "th": {"class": "n"}}


class Table(django_tables2.Table):
    """Base of every list. `caption` says what it is; `empty_title` and `empty_text` what when not."""

    caption: Any = ""
    empty_title: Any = _("Nothing here yet")

    class Meta:
        template_name = "common/table.html"
        attrs = {"class": "table cards"}
        empty_text = _("There is nothing to show.")


class NumberColumn(django_tables2.Column):
    """A whole or decimal number, thousands apart."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"attrs": _NUMBER, **kwargs})

    def render(self, value: Any) -> str:
        """For people."""
        return formats.number(value)

    def value(self, value: Any) -> Any:
        """For programs."""
        return value


class GpusColumn(NumberColumn):
    """Milli-GPU shown as GPUs."""

    def render(self, value: Any) -> str:
        """For people."""
        return formats.gpus(value)

    def value(self, value: Any) -> Any:
        """For programs: GPUs, with a point."""
        return value / 1000 if value % 1000 else value // 1000


class MoneyColumn(NumberColumn):
    """Micro-units of one currency."""

    def __init__(self, currency: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.currency = currency

    def render(self, value: Any) -> str:
        """For people."""
        return money.show(value, self.currency)

    def value(self, value: Any) -> Any:
        """For programs: whole currency units, exactly."""
        return money.from_micro(value)


class WhenColumn(django_tables2.Column):
    """A time with its zone, relative to the table's `now` when it has one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"attrs": {"td": {"class": "nowrap"}}, **kwargs})

    def render(self, value: datetime, table: Any) -> str:
        """For people."""
        words = formats.when(value, getattr(table, "now", None))
        return format_html('<time datetime="{}">{}</time>', value.isoformat(), words)

    def value(self, value: datetime) -> datetime:
        """For programs."""
        return value


class _Counted(Paginator):  # type: ignore[type-arg]  # the rows of a table are of no one type
    """Does not count again what has been counted."""

    def __init__(self, *args: Any, total: int | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if total is not None:
            self.count = total


def arrange(
    request: HttpRequest, table: Table, *, per_page: int | None = None, total: int | None = None
) -> Table:
    """Sort and page a table as the query string says; what it cannot mean counts as not said.

    `total` is how many rows it has, where the page has counted them already.
    """
    django_tables2.RequestConfig(request, paginate=False).configure(table)
    size = request.GET.get(table.prefixed_per_page_field, "")
    wanted = int(size) if size.isascii() and size.isdigit() and len(size) < 4 else 0
    number = request.GET.get(table.prefixed_page_field, "")
    fitting = wanted if 1 <= wanted <= MOST_ROWS else per_page or settings.PAGE_SIZE
    try:
        table.paginate(partial(_Counted, total=total), page=number or 1, per_page=fitting)
    except PageNotAnInteger:
        table.page = table.paginator.page(1)
    except EmptyPage:
        table.page = table.paginator.page(table.paginator.num_pages)
    return table


def export(table: Table, filename: str) -> StreamingHttpResponse:
    """The whole table, unpaged, as CSV."""
    return csv.response(filename, table.as_values())


def listing(
    request: HttpRequest,
    table: Table,
    template: str,
    context: dict[str, Any] | Callable[[], dict[str, Any]],
    *,
    filename: str,
) -> HttpResponse | StreamingHttpResponse:
    """Answer with a page around the table, or with the table as CSV."""
    arrange(request, table)
    if request.GET.get("format") == "csv":
        return export(table, filename)
    values = context() if callable(context) else context
    return render(request, template, {"table": table, **values})
