"""The three ways to fail, each with the number the command ends with."""

from collections.abc import Mapping


class Fault(Exception):
    """It went wrong: `message` says what, `hint` what to do, `problem` is it for programs."""

    ends_with = 1

    def __init__(
        self, message: str, *, hint: str = "", problem: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problem = dict(problem or {})


class Refused(Fault):
    """The portal, or the rules of this command, say no."""


class Misused(Fault):
    """It was asked for in a way that makes no sense."""

    ends_with = 2


class NotReached(Fault):
    """The portal does not answer, or fails."""

    ends_with = 3
