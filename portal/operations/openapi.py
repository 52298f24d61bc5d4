"""The OpenAPI document of /api/v1, made from what each method says about itself.

drf-spectacular walks the routes and turns serializers into schemas; what a method answers, takes
and may refuse stands beside it (`portal.common.api_operations`), who may call it in the rules.
"""

import re
from collections.abc import Iterator
from functools import cache
from inspect import getdoc
from typing import Any

import yaml
from django.urls import URLResolver, get_resolver
from drf_spectacular.drainage import warn
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from portal.common.api import PROBLEM
from portal.common.api_operations import Operation, operation_of
from portal.common.api_shapes import COMPONENTS, PAGES, TEXT, Shape
from portal.common.api_shapes import PROBLEM as PROBLEM_SHAPE
from portal.operations import api_words as words
from portal.teams.middleware import SAFE, rule_for
from portal.teams.permissions import Reach, Rule
from portal.teams.tokens import EVERY_ROOM, ROOMS

PREFIX = "/api/v1/"
READABLE = ("application/json", "application/yaml")


class Described(AutoSchema):
    """Reads what a method says about itself."""

    def get_operation(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """The operation; one that says nothing is a fault of the document."""
        method = str(args[2])
        if operation_of(self.view, method) is None:
            warn(f"{method} {path} does not say what it answers")
            return None
        return super().get_operation(path, *args, **kwargs)

    @property
    def said(self) -> Operation:
        """What the method says."""
        found = operation_of(self.view, self.method)
        assert found is not None
        return found

    def get_operation_id(self) -> str:
        """The route's name, and the verb where a route has several."""
        return self.said.name or words.operation_id(_route_of(type(self.view)), self.method)

    def get_tags(self) -> list[str]:
        """The room."""
        return [_room_of(type(self.view))]

    def get_summary(self) -> str:
        """The first sentence: the view's, or the method's where it does something of its own."""
        first = "get" if hasattr(self.view, "get") else self.method.lower()
        told = self.view if self.method.lower() == first else getattr(self.view, "post", None)
        if self.method.lower() not in (first, "post"):
            told = getattr(self.view, self.method.lower())
        return (getdoc(type(self.view) if told is self.view else told) or "").split("\n")[0]

    def get_description(self) -> str:  # type: ignore[override]  # as the library has it
        """All the method says, and who may."""
        own = getdoc(getattr(self.view, self.method.lower())) or ""
        rule = rule_for(_route_of(type(self.view)))
        return f"{own}\n\n{_who(rule, writes=self.method not in SAFE)}".strip()

    def get_auth(self) -> Any:
        """A session, or a token with the scope."""
        room = _room_of(type(self.view))
        scope = f"{room if room in ROOMS else EVERY_ROOM}:{self._does()}"
        return [{"session": []}, {"token": [scope]}]

    def get_filter_backends(self) -> list[Any]:
        """What narrows a list is said by the method."""
        return []

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """A body is named as one."""
        name = type(serializer).__name__.strip("_").replace("Serializer", "Body")
        return name if name.endswith(("Body", "Change")) else f"{name}Body"

    def get_request_serializer(self) -> Any:
        """The body."""
        body = self.said.body
        return {"application/json": body} if isinstance(body, dict) else body

    def get_response_serializers(self) -> Any:
        """What comes back, refusals among it."""
        said = self.said
        answers: dict[Any, Any] = {
            (said.status, medium): OpenApiResponse(
                said.answer if medium in READABLE else {**TEXT, "format": "binary"},
                description=words.ANSWERS.get(said.status, "As asked."),
            )
            for medium in said.media
        }
        for status, about in said.also:
            answers[status] = OpenApiResponse(None, description=about)
        for status in sorted(self._refusals()):
            answers[status, PROBLEM] = OpenApiResponse(
                PROBLEM_SHAPE, description=words.REFUSALS[status]
            )
        return answers

    def get_override_parameters(self) -> list[Any]:
        """Filters and pages, headers of the request, headers of the answer."""
        said = self.said
        found = [
            OpenApiParameter(p.name, p.shape, description=p.about) for p in said.query
        ]  # fmt: skip
        if self._is_paged():
            found += [OpenApiParameter(n, s, description=a) for n, s, a in words.PAGING]
        if self._writes():
            found.append(words.IDEMPOTENCY_KEY)
        if said.edits:
            found.append(words.IF_MATCH)
        if said.edits or said.tagged:
            found.append(words.etag(said.status))
        return [*found, *words.rate_headers(said.status, [s for s, _ in said.also])]

    def _does(self) -> str:
        return "read" if self.method in SAFE else "write"

    def _writes(self) -> bool:
        return self.method not in SAFE and not self.said.looks

    def _is_paged(self) -> bool:
        name = self.said.answer.get("$ref", "").rpartition("/")[2]
        return name in PAGES or self.said.paged

    def _refusals(self) -> set[int]:
        said = self.said
        found = {401, 403, 404, 406, 429, *said.fails}
        if said.query or self._is_paged() or "<str" in self.path_regex:
            found.add(422)
        if self.method not in SAFE:
            found |= {400, 415, 422}
        if self._writes():
            found.add(409)
        return found | ({412} if said.edits else set())


class _Enumerator(EndpointEnumerator):
    def should_include_endpoint(self, path: str, callback: Any) -> bool:
        return path.startswith(PREFIX) and bool(super().should_include_endpoint(path, callback))


class _Generator(SchemaGenerator):
    endpoint_inspector_cls = _Enumerator


@cache
def document() -> dict[str, Any]:
    """The whole document; the same for everybody, as long as the process lives."""
    found: dict[str, Any] = _Generator().get_schema(  # type: ignore[no-untyped-call]  # theirs
        request=None, public=True
    )
    schemas = found["components"].setdefault("schemas", {})
    for name, shape in COMPONENTS.items():
        if name in schemas:
            warn(f"two schemas are named {name}")
        schemas[name] = shape
    found["components"] = {
        "schemas": dict(sorted(schemas.items())), "securitySchemes": words.SECURITY_SCHEMES,
    }  # fmt: skip
    for body in found["components"]["schemas"].values():
        if body.get("type") == "object":
            body.setdefault("additionalProperties", False)
    rooms = {
        tag for paths in found["paths"].values() for one in paths.values() for tag in one["tags"]
    }
    found["tags"] = [
        {"name": room, "description": str(ROOMS.get(room, words.OTHER_ROOMS.get(room, room)))}
        for room in sorted(rooms)
    ]
    found["info"] = words.INFO
    return found


@cache
def as_yaml() -> str:
    """The whole document, for people to read."""
    text: str = yaml.safe_dump(document(), sort_keys=False, allow_unicode=True, width=100)
    return text


@cache
def routes() -> dict[type, str]:
    """View class → name of its route."""
    return dict(_walk(get_resolver()))


def _walk(resolver: URLResolver) -> Iterator[tuple[type, str]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _walk(entry)
        elif str(entry.name).startswith("api-"):
            yield getattr(entry.callback, "cls", type(entry.callback)), str(entry.name)


def _route_of(view: type) -> str:
    return routes()[view]


def _room_of(view: type) -> str:
    return view.__module__.split(".")[1]


def _who(rule: Rule | None, *, writes: bool) -> str:
    """Who may, in one sentence."""
    if rule is None or rule.reach is Reach.SIGNED_IN:
        return "Open to whoever signed in."
    roles = ", ".join(sorted(rule.write if writes else rule.read))
    return f"Needs a role {words.REACHES[rule.reach]}: {roles}."


def refers_to(shape: Shape) -> str:
    """The name a reference leads to, or nothing."""
    return re.sub(r"^#/components/schemas/", "", str(shape.get("$ref", "")))
