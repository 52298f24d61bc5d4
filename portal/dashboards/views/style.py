"""The page of parts."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.common import charts, clock, tables
from portal.dashboards import specimens


@require_safe
def style(request: HttpRequest) -> HttpResponseBase:
    """The parts pages are made of, shown by themselves."""
    now = clock.now()
    drawn = specimens.pictures(now)
    if file := charts.download(request, drawn):
        return file
    rows, ticks = specimens.lanes()
    context = {
        "tokens": specimens.TOKENS,
        "spaces": specimens.SPACES,
        "bar": specimens.bar(),
        "lanes": rows,
        "ticks": ticks,
        "cells": specimens.cells(),
        "teams": list(zip(specimens.TEAMS, range(1, 9), strict=True)),
        "table": tables.arrange(request, specimens.jobs(now)),
        "form": specimens.form(),
        "charts": drawn,
        "now": now,
    }
    return render(request, "dashboards/style.html", context)
