"""Checks of single values, each with its piece of JSON Schema.

A check takes what JSON gave and returns what the model holds, or raises `Fault` with the path
below the value. Paths grow only while a fault travels up, so that good documents pay nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from math import isfinite
from types import MappingProxyType
from typing import Any

Check = Callable[[object], Any]
Json = dict[str, Any]

MOST = 10**15
"""Amounts above this are refused: sums over a cluster stay within 64 bits."""


class Fault(ValueError):
    """A document breaks the contract; `path` says where, `problem` says how. Told in one line."""

    def __init__(self, path: str, problem: str) -> None:
        told = f"{path}: {problem}" if path else problem
        # Half a surrogate pair, which JSON can spell and nobody can print, is told by its number.
        printable = told.encode("utf-8", "backslashreplace").decode()
        super().__init__(" ".join(printable.splitlines()))
        self.path = path
        self.problem = problem

    def under(self, prefix: str) -> "Fault":
        """Return the same fault seen from one level further out."""
        inner = self.path
        joined = prefix if not inner else prefix + (inner if inner[0] == "[" else "." + inner)
        return Fault(joined, self.problem)


@dataclass(frozen=True, slots=True)
class Field:
    """A check and what JSON Schema says of the same value."""

    check: Check
    schema: Json


def whole(least: int | None = 0, most: int = MOST) -> Field:
    """Return a field for whole numbers from `least` (null for negatives too) to `most`."""
    low = -most if least is None else least

    def check(value: object) -> int:
        if type(value) is not int:
            raise Fault("", "must be a whole number")
        if value < low:
            raise Fault("", f"must be at least {low}")
        if value > most:
            raise Fault("", f"must be at most {most}")
        return value

    return Field(check, {"type": "integer", "minimum": low, "maximum": most})


def number(most: int = MOST) -> Field:
    """Return a field for exact numbers from 0: a decimal becomes the fraction it spells."""

    def check(value: object) -> int | Fraction:
        exact: int | Fraction
        if type(value) is int:
            exact = value
        elif type(value) is float and isfinite(value):
            exact = Fraction(repr(value))
        else:
            raise Fault("", "must be a number")
        if not 0 <= exact <= most:
            raise Fault("", f"must be from 0 to {most}")
        return exact

    return Field(check, {"type": "number", "minimum": 0, "maximum": most})


def _text(value: object) -> str:
    if type(value) is not str:
        raise Fault("", "must be a text")
    if not value:
        raise Fault("", "must not be empty")
    if not value.isascii() and not is_unicode(value):
        raise Fault("", "must be Unicode that can be written down")
    return value


def is_unicode(value: str) -> bool:
    """Tell whether the text holds no half of a surrogate pair, so that it can be written."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def text() -> Field:
    """Return a field for texts that are not empty."""
    return Field(_text, {"type": "string", "minLength": 1})


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise Fault("", "must be true or false")
    return value


def flag() -> Field:
    """Return a field for true and false."""
    return Field(_flag, {"type": "boolean"})


def choice(words: Sequence[str]) -> Field:
    """Return a field for one of the words."""
    known = frozenset(words)

    def check(value: object) -> str:
        if type(value) is not str or value not in known:
            raise Fault("", f"must be one of {', '.join(words)}")
        return value

    return Field(check, {"enum": list(words)})


def optional(inner: Field) -> Field:
    """Return the field that also takes null."""
    inner_check = inner.check

    def check(value: object) -> Any:
        return None if value is None else inner_check(value)

    return Field(check, {"anyOf": [inner.schema, {"type": "null"}]})


def list_of(inner: Field, least: int = 0) -> Field:
    """Return a field for lists, kept as tuples."""
    inner_check = inner.check

    def check(value: object) -> tuple[Any, ...]:
        if type(value) is not list:
            raise Fault("", "must be a list")
        if len(value) < least:
            raise Fault("", f"must have at least {least} entry")
        return tuple(_entries(value, inner_check))

    schema: Json = {"type": "array", "items": inner.schema}
    return Field(check, {**schema, "minItems": least} if least else schema)


def _entries(value: list[object], check: Check) -> list[Any]:
    done: list[Any] = []
    try:
        for entry in value:
            done.append(check(entry))  # noqa: PERF401 (its length says where the fault is)
    except Fault as fault:
        raise fault.under(f"[{len(done)}]") from None
    return done


def pair(first: Field, second: Field) -> Field:
    """Return a field for lists of exactly two values."""
    check_first, check_second = first.check, second.check

    def check(value: object) -> tuple[Any, Any]:
        if type(value) is not list or len(value) != 2:
            raise Fault("", "must be a list of two")
        try:
            one = check_first(value[0])
        except Fault as fault:
            raise fault.under("[0]") from None
        try:
            return one, check_second(value[1])
        except Fault as fault:
            raise fault.under("[1]") from None

    items = [first.schema, second.schema]
    return Field(check, {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2})


def record(
    kind: type,
    table: Mapping[str, Field],
    constants: Mapping[str, object] = MappingProxyType({}),
    required: Sequence[str] = (),
) -> Field:
    """Return a field for objects that become a dataclass; unknown keys are refused.

    What the dataclass gives no default is required, and so is what `required` names. `constants`
    are keys with one allowed value that the dataclass does not hold.
    """
    checks = {name: field.check for name, field in table.items()}
    needed = [
        entry.name
        for entry in fields(kind)
        if entry.name in required or (entry.default is MISSING and entry.default_factory is MISSING)
    ]

    def check(value: object) -> Any:
        if type(value) is not dict:
            raise Fault("", "must be an object")
        found: dict[str, Any] = {}
        entries: dict[str, object] = value
        key = ""
        try:
            for key, entry in entries.items():
                if key in checks:
                    found[key] = checks[key](entry)
                else:
                    _constant(key, entry, constants)
        except Fault as fault:
            raise fault.under(key or '""') from None
        for name in needed:
            if name not in found:
                raise Fault(name, "is required")
        return kind(**found)

    return Field(check, _object_schema(table, needed, constants))


def _constant(key: str, value: object, constants: Mapping[str, object]) -> None:
    if key not in constants:
        raise Fault("", "is not a known key")
    if type(value) is not type(constants[key]) or value != constants[key]:
        raise Fault("", f"must be {constants[key]}")


def _object_schema(
    table: Mapping[str, Field], needed: Sequence[str], constants: Mapping[str, object]
) -> Json:
    properties: Json = {name: {"const": value} for name, value in constants.items()}
    properties |= {name: field.schema for name, field in table.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }
