"""What schemathesis is given to work with: the document, with ids that exist, and a way to ask."""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import schemathesis
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from portal.operations import openapi
from portal.wsgi import application
from tests.world import World

Operation = APIOperation[Any, Any, Any, Any]
load_all_checks()
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STRANGER = 987_654_321
NAMES = {
    "team": "team_id", "pool": "pool_id", "tier": "tier_id", "workload": "workload_id",
    "cluster": "cluster_id", "reservation": "reservation_id", "sync": "run_id", "node": "node_id",
}  # fmt: skip
"""Keys of bodies and addresses that hold an id → the argument of that kind."""


def operations(world: World) -> Iterator[Operation]:
    """Every operation, its ids drawn from what there is."""
    document = deepcopy(openapi.document())
    known = {
        name: [world.ids(world.ours)[name], world.ids(world.theirs)[name]]
        for name in world.ids(world.ours)
    }
    for methods in document["paths"].values():
        for said in methods.values():
            for parameter in said.get("parameters", []):
                _offer(parameter, known)
    for title, schema in document["components"]["schemas"].items():
        if "Body" not in title and "QuotaChange" not in title:
            continue
        for name, shape in schema.get("properties", {}).items():
            schema["properties"][name] = _offered(name, shape, known)
    schema = schemathesis.openapi.from_dict(document, config=SchemathesisConfig())
    # Whoever asks is who they say: that tokens are looked at is tested elsewhere.
    schema.config.generation.with_security_parameters = False
    schema.app = application
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


def _offer(parameter: dict[str, Any], known: dict[str, list[object]]) -> None:
    name = parameter["name"]
    ids = known.get(name if parameter["in"] == "path" else NAMES.get(name, ""))
    if ids:
        stranger = [STRANGER] if isinstance(ids[0], int) else []
        parameter["schema"] = {"enum": [*ids, *stranger]}


def _offered(name: str, shape: dict[str, Any], known: dict[str, list[object]]) -> dict[str, Any]:
    ids = known.get(NAMES.get(name, ""))
    if not ids or "integer" not in shape.get("type", ()):
        return shape
    nothing = [None] if isinstance(shape["type"], list) else []
    return {"enum": [*ids, STRANGER, *nothing]}


def ask(operation: Operation, secret: str, *, examples: int, mode: GenerationMode) -> int:
    """Ask an operation so many things; nothing of it stays. Returns how often it was asked."""
    asked = 0
    wanted = [*CHECKS, negative_data_rejection] if mode is GenerationMode.NEGATIVE else CHECKS

    def once(case: "Case[Any]") -> None:
        nonlocal asked
        asked += 1
        with transaction.atomic():
            response = case.call(headers={"Authorization": f"Bearer {secret}"})
            transaction.set_rollback(True)
        case.validate_response(response, checks=wanted)

    with suppress(Unsatisfiable):  # it takes nothing that could be wrong
        settings(
            max_examples=examples, deadline=None, database=None, derandomize=True,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )(given(case=operation.as_strategy(generation_mode=mode))(once))()  # fmt: skip
    return asked
