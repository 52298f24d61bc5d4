"""Reads the body of an API request.

It stands apart from `api`: REST framework imports its parsers before any of its views.
"""

import json
import re
from typing import Any

from django.conf import settings
from rest_framework import exceptions, parsers, status

# json.dumps escapes NUL, and leaves lone surrogates as they are.
_UNKEEPABLE = re.compile(r"[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u0000")


class TooLarge(exceptions.APIException):
    """More than anybody has to say at once."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = "The body is too large."
    default_code = "too_large"


class JSONParser(parsers.JSONParser):
    """JSON whose texts a database can hold: no NUL, no half of a surrogate pair, not too deep.

    REST framework reads the body past Django's own bound, so the same bound is kept here, before
    anything is read.
    """

    def parse(self, stream: Any, *args: Any, **kwargs: Any) -> Any:
        """The body; raises `ParseError`, which is a 400, for what cannot be kept, or `TooLarge`."""
        if _length(stream) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge
        try:
            found = super().parse(stream, *args, **kwargs)
            if _UNKEEPABLE.search(json.dumps(found, ensure_ascii=False)):
                raise exceptions.ParseError("A text in the body holds a character nobody can keep.")
        except RecursionError:
            raise exceptions.ParseError("The body is nested too deep.") from None
        return found


def _length(stream: Any) -> int:
    """How many bytes the sender says there are; a server reads no more than that."""
    text = str(getattr(stream, "META", {}).get("CONTENT_LENGTH") or 0)
    return int(text) if text.isascii() and text.isdigit() else 0
