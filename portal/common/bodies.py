"""Reads the body of an API request.

It stands apart from `api`: REST framework imports its parsers before any of its views.
"""

import json
import re
from typing import Any

from rest_framework import exceptions, parsers

# json.dumps escapes NUL, and leaves lone surrogates as they are.
_UNKEEPABLE = re.compile(r"[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u0000")


class JSONParser(parsers.JSONParser):
    """JSON whose texts a database can hold: no NUL, no half of a surrogate pair, not too deep."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The body; raises `ParseError`, which is a 400, for what cannot be kept."""
        try:
            found = super().parse(*args, **kwargs)
            if _UNKEEPABLE.search(json.dumps(found, ensure_ascii=False)):
                raise exceptions.ParseError("A text in the body holds a character nobody can keep.")
        except RecursionError:
            raise exceptions.ParseError("The body is nested too deep.") from None
        return found
