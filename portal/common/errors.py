"""What can be refused, as one tree of exceptions.

Refusal            the rules say no; the message says what to do        409
├── Invalid        what was asked makes no sense as asked               422
├── Conflict       somebody was faster, or the row is not as you saw it 409
└── Missing        no such thing, or not for you                        404
"""

from collections.abc import Mapping


class Refusal(Exception):
    """A rule says no. `code` is stable for programs, the message is for people.

    `fields` names the inputs at fault and what is wrong with each; `details` carries numbers.
    """

    status = 409
    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: Mapping[str, str] | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.fields = dict(fields or {})
        self.details = dict(details or {})


class Invalid(Refusal):
    """What was asked makes no sense as asked."""

    status = 422
    code = "invalid"


class Conflict(Refusal):
    """Somebody was faster, or the thing is no longer as the asker saw it."""

    status = 409
    code = "conflict"


class Missing(Refusal):
    """There is no such thing, or it is not for the asker: the two look alike."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("Not found.")
