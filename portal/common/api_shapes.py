"""Words to say what the API takes and answers, as JSON Schema 2020-12.

A room's `schemas` module says it beside the functions that build the answers; `named` shapes stand
once in the document, under their name. What an object does not list, it does not hold.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Shape = dict[str, Any]

COMPONENTS: dict[str, Shape] = {}
"""Every named shape, by its name in the document."""
PAGES: dict[str, Shape] = {}
"""Which of them are pages of a list."""

WHOLE: Shape = {"type": "integer"}
COUNT: Shape = {"type": "integer", "minimum": 0}
ID: Shape = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
NUMBER: Shape = {"type": "number"}
TEXT: Shape = {"type": "string"}
FLAG: Shape = {"type": "boolean"}
INSTANT: Shape = {"type": "string", "format": "date-time"}
ANYTHING: Shape = {"description": "Any JSON value."}
FREE: Shape = {"type": "object", "additionalProperties": True}
BYTES: Shape = {"type": "string", "format": "binary"}


def or_null(shape: Shape) -> Shape:
    """The same, or null."""
    if isinstance(shape.get("type"), str) and "enum" not in shape:
        return {**shape, "type": [shape["type"], "null"]}
    return {"anyOf": [shape, {"type": "null"}]}


def many(shape: Shape, **limits: int) -> Shape:
    """A list."""
    return {"type": "array", "items": shape, **limits}


def by_key(shape: Shape) -> Shape:
    """An object whose keys are not known beforehand."""
    return {"type": "object", "additionalProperties": shape}


def one_of(words: Iterable[str]) -> Shape:
    """One of a few words."""
    return {"type": "string", "enum": [str(word) for word in words]}


def text(longest: int, *, least: int = 0) -> Shape:
    """A text of so many characters."""
    shortest: Shape = {"minLength": least} if least else {}
    return {"type": "string", "maxLength": longest, **shortest}


def between(least: int, most: int) -> Shape:
    """A whole number from one to another."""
    return {"type": "integer", "minimum": least, "maximum": most}


def obj(fields: Mapping[str, Shape], *, maybe: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields, and no others than those it may have."""
    return {
        "type": "object",
        "properties": {**fields, **(maybe or {})},
        "required": list(fields),
        "additionalProperties": False,
    } if fields else {
        "type": "object", "properties": dict(maybe or {}), "additionalProperties": False,
    }  # fmt: skip


def named(name: str, shape: Shape) -> Shape:
    """Put a shape into the document under a name, and return what refers to it."""
    if COMPONENTS.setdefault(name, shape) != shape:
        raise ValueError(f"Two shapes are named {name}.")
    return {"$ref": f"#/components/schemas/{name}"}


def page(shape: Shape) -> Shape:
    """One page of a list of these."""
    name = f"{shape['$ref'].rpartition('/')[2]}Page"
    found = named(
        name,
        obj(
            {
                "count": COUNT,
                "next": or_null({"type": "string", "format": "uri"}),
                "previous": or_null({"type": "string", "format": "uri"}),
                "results": many(shape),
            }
        ),
    )
    PAGES[name] = shape
    return found


NAMED = named("Named", obj({"id": ID, "name": TEXT}))
PROBLEM = named(
    "Problem",
    obj(
        {"type": TEXT, "title": TEXT, "status": WHOLE, "code": TEXT},
        maybe={"fields": by_key(ANYTHING), "details": by_key(ANYTHING)},
    ),
)
"""An error, as RFC 9457 has it: `code` is stable for programs, `title` is for people."""
DONE = named("Done", obj({"id": ID}))
