"""Pages that look across rooms."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """My teams now."""
    return render(request, "dashboards/home.html", {})
