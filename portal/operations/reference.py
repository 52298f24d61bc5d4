"""The OpenAPI document as a page reads it: by room, each operation with an example to try."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from portal.operations import openapi
from portal.operations.openapi import refers_to

Paragraph = list[tuple[str, str]]
"""Pieces of text, each with what it is: code, strong, or nothing of its own."""
DEEPEST = 5
SAMPLES = {
    "date-time": "2026-12-01T09:00:00+09:00", "binary": "", "uri": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter."""

    name: str
    where: str
    kind: str
    about: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What comes back with a status."""

    status: str
    about: str
    media: str
    shape: str


@dataclass(frozen=True, slots=True)
class Documented:
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    about: list[Paragraph]
    scope: str
    given: list[Given]
    body: str
    answers: list[Answered]
    refusals: list[Answered]
    example: str


@dataclass(frozen=True, slots=True)
class Room:
    """One group of operations."""

    name: str
    about: str
    operations: list[Documented]

    @property
    def scope(self) -> str:
        """The room a token's scope names."""
        return self.operations[0].scope.partition(":")[0]


@cache
def rooms() -> dict[str, Room]:
    """Every room of the API by its name."""
    document = openapi.document()
    by_room: dict[str, list[Documented]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            by_room[said["tags"][0]].append(_operation(path, method.upper(), said))
    return {
        tag["name"]: Room(tag["name"], tag["description"], by_room[tag["name"]])
        for tag in document["tags"]
    }


def about() -> list[Paragraph]:
    """What holds for every operation, paragraph by paragraph."""
    text: str = openapi.document()["info"]["description"]
    return [_marked(part) for part in text.split("\n\n")]


def _marked(text: str) -> Paragraph:
    """A paragraph cut where `code` or **strong words** stand; both are asked for by their tag."""
    cut = re.split(r"`([^`]+)`|\*{1,2}([^*]+)\*{1,2}", " ".join(text.split("\n")))
    plain, code, strong = cut[0::3], [*cut[1::3], None], [*cut[2::3], None]
    found: Paragraph = []
    for words, literal, loud in zip(plain, code, strong, strict=True):
        found.append(("", words))
        if literal is not None or loud is not None:
            found.append(("code", literal) if literal is not None else ("strong", loud or ""))
    return [part for part in found if part[1]]


def _operation(path: str, method: str, said: dict[str, Any]) -> Documented:
    body = body_of(said)
    answers = [_answered(status, found) for status, found in said["responses"].items()]
    scopes = next(way["token"] for way in said["security"] if "token" in way)
    return Documented(
        id=said["operationId"], method=method, path=path, summary=said["summary"],
        about=[
            _marked(part) for part in said["description"].split("\n\n") if part != said["summary"]
        ],
        scope=scopes[0],
        given=[_given(one) for one in said.get("parameters", [])],
        body=sketch(body) if body else "",
        answers=[one for one in answers if one.status < "4"],
        refusals=[one for one in answers if one.status >= "4"],
        example=_example(path, method, said, body),
    )  # fmt: skip


def body_of(said: dict[str, Any]) -> dict[str, Any] | None:
    """What an operation takes, where it takes anything."""
    content = said.get("requestBody", {}).get("content", {})
    found: dict[str, Any] | None = content.get("application/json", {}).get("schema")
    return found


def _given(one: dict[str, Any]) -> Given:
    return Given(one["name"], one["in"], sketch(one["schema"]), one.get("description", ""))


def _answered(status: str, found: dict[str, Any]) -> Answered:
    content = found.get("content", {})
    medium = next(iter(content), "")
    shape = content[medium].get("schema", {}) if medium else {}
    return Answered(
        status, found["description"], ", ".join(content),
        sketch(shape) if "json" in medium and status < "4" else "",
    )  # fmt: skip


def _example(path: str, method: str, said: dict[str, Any], body: dict[str, Any] | None) -> str:
    lines = [f'curl "$EVENSHARE{path}"', '-H "Authorization: Bearer $TOKEN"']
    if method != "GET":
        lines[0] = f'curl -X {method} "$EVENSHARE{path}"'
        if any(one["name"] == "Idempotency-Key" for one in said.get("parameters", [])):
            lines.append('-H "Idempotency-Key: $(uuidgen)"')
        if body is not None:
            lines.append('-H "Content-Type: application/json"')
            lines.append(f"-d '{json.dumps(sample(body))}'")
    return " \\\n  ".join(lines)


def sample(shape: dict[str, Any]) -> Any:
    """The least a body needs."""
    shape = _resolved(shape)
    choices = shape.get("oneOf") or shape.get("anyOf")
    if choices:
        return sample(choices[0])
    if "const" in shape or "enum" in shape:
        return shape.get("const", shape.get("enum", [None])[0])
    return _SAMPLED[_kinds(shape)[0]](shape)


_SAMPLED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "object": lambda shape: {
        name: sample(shape["properties"][name]) for name in shape.get("required", [])
    },
    "array": lambda shape: [sample(shape["items"])],
    "integer": lambda shape: max(1, shape.get("minimum", 1)),
    "number": lambda shape: max(1, shape.get("minimum", 1)),
    "boolean": lambda _shape: True,
    "string": lambda shape: SAMPLES.get(shape.get("format", ""), "…"),
    "any": lambda _shape: None,
}


def sketch(shape: dict[str, Any], depth: int = 0) -> str:
    """A schema as one would write down the JSON it means."""
    shape = _resolved(shape)
    for several in ("oneOf", "anyOf", "allOf"):
        if several in shape:
            return " | ".join(sketch(one, depth) for one in shape[several])
    if "const" in shape:
        return json.dumps(shape["const"])
    if "enum" in shape:
        return " | ".join(json.dumps(word) for word in shape["enum"])
    return " | ".join(_of_kind(kind, shape, depth) for kind in _kinds(shape))


def _of_kind(kind: str, shape: dict[str, Any], depth: int) -> str:
    if kind == "object":
        return _object(shape, depth)
    if kind == "array":
        return f"[{sketch(shape['items'], depth)}, …]"
    return " ".join([kind, *_limits(kind, shape)])


def _object(shape: dict[str, Any], depth: int) -> str:
    fields = list(_fields(shape, depth))
    if not fields or depth >= DEEPEST:
        return "{…}"
    pad = "  " * depth
    inside = "\n".join(f"{pad}  {line}" for line in fields)
    return f"{{\n{inside}\n{pad}}}"


def _fields(shape: dict[str, Any], depth: int) -> Iterator[str]:
    needed = shape.get("required", [])
    for name, of in shape.get("properties", {}).items():
        yield f"{name}{'' if name in needed else '?'}: {sketch(of, depth + 1)}"
    if isinstance(more := shape.get("additionalProperties"), dict):
        yield f"[key]: {sketch(more, depth + 1)}"


def _limits(kind: str, shape: dict[str, Any]) -> Iterator[str]:
    if kind == "string" and "format" in shape:
        yield f"({shape['format']})"
    if kind == "string" and "maxLength" in shape:
        yield f"≤ {shape['maxLength']}"
    if kind in ("integer", "number"):
        low, high = shape.get("minimum"), shape.get("maximum")
        if low is not None:
            yield f"≥ {low}"
        if high is not None and high < 10**9:
            yield f"≤ {high}"


def _kinds(shape: dict[str, Any]) -> list[str]:
    kind = shape.get("type", "any")
    return [kind] if isinstance(kind, str) else list(kind)


def _resolved(shape: dict[str, Any]) -> dict[str, Any]:
    name = refers_to(shape)
    found: dict[str, Any] = openapi.document()["components"]["schemas"][name] if name else shape
    return found
