"""What is answered where no view was reached: a problem to programs, a page to people."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import defaults

from portal.common.api import problem_response
from portal.common.errors import Invalid, Missing, Refusal


class Failed(Refusal):
    """The fault is ours."""

    status = 500
    code = "failed"


class TooOften(Refusal):
    """So many requests are not answered."""

    status = 429
    code = "too_many_requests"


class Unreadable(Invalid):
    """The request itself is at fault."""

    status = 400
    code = "bad_request"


def is_for_programs(request: HttpRequest) -> bool:
    """Whether it was the API that was asked."""
    return request.path.startswith("/api/")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Nothing stands at this address."""
    if is_for_programs(request):
        return problem_response(Missing())
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The request cannot be taken as it is."""
    if is_for_programs(request):
        return problem_response(Unreadable("The request cannot be read."))
    return defaults.bad_request(request, exception)


def failed(request: HttpRequest) -> HttpResponse | HttpResponseBase:
    """Something broke."""
    if is_for_programs(request):
        return problem_response(Failed("Something broke on our side; it has been noted."))
    return defaults.server_error(request)
