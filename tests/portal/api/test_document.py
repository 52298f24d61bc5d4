"""The document of the API is whole, and says the truth about every route."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema
from rest_framework.views import APIView

from portal.common.api_operations import Operation, operation_of
from portal.operations import openapi
from portal.teams.tokens import SCOPES
from tests.builders import a_user
from tests.doors import ROUTES

VERBS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    openapi.document.cache_clear()
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        found = openapi.document()
    told = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
    assert told == [], "the document has gaps"
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            yield path, method, said


def methods() -> Iterator[tuple[type[APIView], str, Operation]]:
    for view in openapi.routes():
        for verb in VERBS:
            if hasattr(view, verb):
                said = operation_of(view, verb)
                assert said is not None, f"{view.__module__}.{view.__name__}.{verb} says nothing"
                yield view, verb, said


def test_it_is_valid_openapi_and_made_without_a_warning(document: dict[str, Any]) -> None:
    validate_schema(document)  # type: ignore[no-untyped-call]  # theirs
    assert document["openapi"].startswith("3.1")


def test_every_route_of_the_api_is_in_it_with_every_method(document: dict[str, Any]) -> None:
    assert set(openapi.routes().values()) == {n for n in ROUTES if n.startswith("api-")}
    assert sum(1 for _ in operations(document)) == sum(1 for _ in methods())


def test_each_operation_has_a_name_of_its_own_a_room_and_a_scope(document: dict[str, Any]) -> None:
    names = [said["operationId"] for _, _, said in operations(document)]
    assert len(names) == len(set(names))
    for path, method, said in operations(document):
        assert said["summary"], f"{method} {path}"
        assert len(said["tags"]) == 1
        scopes = [way["token"] for way in said["security"] if "token" in way]
        does = "read" if method == "get" else "write"
        assert scopes[0][0].endswith(f":{does}")
        assert scopes[0][0] in SCOPES


def test_each_operation_says_how_it_may_be_refused(document: dict[str, Any]) -> None:
    for path, method, said in operations(document):
        expected = {"401", "403", "404", "406", "429"}
        if method != "get":
            expected |= {"400", "415", "422"}
        assert expected <= set(said["responses"]), f"{method} {path}"
        for status, answer in said["responses"].items():
            if status >= "4":
                assert list(answer["content"]) == ["application/problem+json"]


def test_each_write_takes_a_key_and_each_edit_a_version(document: dict[str, Any]) -> None:
    looks = {"job-check", "request-check", "rate-card-preview", "quota-effects",
             "maintenance-effects", "policy-dry-run"}  # fmt: skip
    for _path, method, said in operations(document):
        given = {one["name"] for one in said.get("parameters", [])}
        writes = method != "get" and said["operationId"] not in looks
        assert ("Idempotency-Key" in given) == writes, said["operationId"]
        assert ("If-Match" in given) == ("412" in said["responses"]), said["operationId"]


def test_each_list_is_paged_in_the_same_way(document: dict[str, Any]) -> None:
    for _path, method, said in operations(document):
        answer = said["responses"].get("200", {}).get("content", {}).get("application/json", {})
        name = answer.get("schema", {}).get("$ref", "")
        if method == "get" and said["operationId"].endswith("-list") and name.endswith("Page"):
            given = {one["name"] for one in said["parameters"]}
            assert {"page", "page_size"} <= given, said["operationId"]


@pytest.mark.parametrize(
    ("view", "verb", "said"), list(methods()), ids=lambda found: getattr(found, "__name__", None)
)
def test_what_is_read_from_the_address_is_what_is_said(
    view: type[APIView], verb: str, said: Operation
) -> None:
    source = textwrap.dedent(inspect.getsource(getattr(view, verb)))
    read = set(_names_read(ast.parse(source), view))
    assert read == {one.name for one in said.query}


def _names_read(tree: ast.AST, view: type[APIView]) -> Iterator[str]:
    """Names of parameters a method asks for, itself or by a helper of its module."""
    module = inspect.getmodule(view)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        words = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if name.startswith(("parameters.", "common.text")) or name.endswith("query_params.get"):
            yield from ("from", "to") if name == "parameters.window" else map(str, words[:1])
        elif name.endswith("Filter") and hasattr(module, name):
            yield from getattr(module, name).base_fields
        elif name.startswith("_") and hasattr(module, name):
            helper = textwrap.dedent(inspect.getsource(getattr(module, name)))
            yield from _names_read(ast.parse(helper), view)


@pytest.mark.django_db
def test_it_is_served_as_json_and_as_yaml(client: Client) -> None:
    assert client.get("/api/v1/openapi.json").status_code == 401
    client.force_login(a_user())
    assert client.get("/api/v1/openapi.json").json()["info"]["title"] == "Evenshare"
    as_yaml = client.get("/api/v1/openapi.yaml")
    assert as_yaml["Content-Type"].startswith("application/yaml")
    assert as_yaml.content.startswith(b"openapi: 3.1")


@pytest.mark.django_db
def test_its_pages_name_every_operation(client: Client, document: dict[str, Any]) -> None:
    client.force_login(a_user())
    first = client.get("/reference/").content.decode()
    rooms = {said["tags"][0] for _, _, said in operations(document)}
    pages = {room: client.get(f"/reference/{room}/").content.decode() for room in rooms}
    assert all(f"/reference/{room}/" in first for room in rooms)
    for path, method, said in operations(document):
        page = pages[said["tags"][0]]
        assert f'id="{said["operationId"]}"' in page
        assert f"{method.upper()} {path}" in page
    assert client.get("/reference/nothing/").status_code == 404
