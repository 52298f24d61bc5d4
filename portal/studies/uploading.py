"""The only door through which a file comes in: a trace, of somebody signed in, up to its bound.

A body is read before the rules of a route are asked, so whoever may not send a file, and wherever
none is taken, is refused here, before a byte of it is kept.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import TemporaryFileUploadHandler

TAKEN_AT = frozenset({"studies:upload", "api-trace-list"})
ROOM = 1 << 16
"""What the rest of the form may weigh."""


class TraceUpload(TemporaryFileUploadHandler):
    """Keeps the file outside memory while the request lasts."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Refuse before anything is kept. Raises `RequestDataTooBig`, which is a 400."""
        request = self.request
        assert request is not None
        match = request.resolver_match
        if match is None or match.view_name not in TAKEN_AT or not request.user.is_authenticated:
            raise RequestDataTooBig("no file is taken here")
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > (settings.TRACE_MIB << 20) + ROOM:
            raise RequestDataTooBig("the file is larger than a trace may be")
        super().new_file(*args, **kwargs)
