"""Migrations run while the version before them still answers, so none may break it or lock it out.

Read from the migrations themselves: what a table's first migration does is free, and so is all that
is done to a table made in the same one. What landed before there was this check stands by name,
with the reason why it does no harm.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

BIG = {
    "common.auditevent", "kubernetes.syncwrite", "notifications.notification",
    "scheduling.decision", "scheduling.forecast", "scheduling.share", "scheduling.tick",
    "usage.hourlyuse", "usage.ledgerentry", "workloads.pod", "workloads.stageevent",
    "workloads.workload",
}  # fmt: skip
"""Tables that grow with every tick or job: no lock on them may last as long as they are read."""
KNOWN = {
    "workloads.0003_index_unsettled_pods": "landed before any table had grown",
}


@cache
def _loader() -> MigrationLoader:
    return MigrationLoader(None, ignore_no_migrations=True)


def _ours() -> list[tuple[tuple[str, str], Migration]]:
    found = _loader().disk_migrations or {}
    return sorted(
        (key, migration)
        for key, migration in found.items()
        if migration.__module__.startswith("portal.")
    )


def _faults(app: str, migration: Migration, before: ProjectState) -> Iterator[str]:
    """What the version before would trip over, or wait for."""
    made: set[str] = set()
    state = before.clone()
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        table = str(getattr(operation, "model_name", getattr(operation, "name", "")) or "").lower()
        if table not in made:
            yield from _of_operation(f"{app}.{table}", operation, state)
        operation.state_forwards(app, state)


def _of_operation(table: str, operation: Operation, state: ProjectState) -> Iterator[str]:
    match operation:
        case migrations.RemoveField() | migrations.DeleteModel():
            yield f"takes away {_what(table, operation)}, which the version before still reads"
        case migrations.RenameField() | migrations.RenameModel() | migrations.AlterModelTable():
            yield f"renames {_what(table, operation)} under the version before"
        case migrations.AddField(field=field):
            yield from _of_new_field(table, operation.name, field)
        case migrations.AlterField(field=field):
            yield from _of_changed_field(table, operation.name, field, state)
        case migrations.AddIndex() if table in BIG and not getattr(operation, "live", False):
            yield f"indexes {table} under a lock: use portal.common.live.AddIndex"
        case migrations.AddConstraint() if table in BIG:
            yield f"checks every row of {table} under a lock"
        case migrations.RunPython(reverse_code=None) | migrations.RunSQL(reverse_sql=None):
            yield "runs what cannot be taken back"
        case _:
            return


def _of_new_field(table: str, name: str, field: models.Field[Any, Any]) -> Iterator[str]:
    if field.many_to_many or field.null or field.has_db_default():
        return
    yield f"adds {table}.{name}, which the version before cannot fill: give it a db_default"


def _of_changed_field(
    table: str, name: str, field: models.Field[Any, Any], state: ProjectState
) -> Iterator[str]:
    app, model = table.split(".")
    before = state.models[app, model].fields[name]
    if before.null and not field.null:
        yield f"makes {table}.{name} not null under a lock"
    if type(before) is not type(field):
        yield f"rewrites {table}.{name}"
    shorter = (before.max_length or 0) > (field.max_length or 0)
    if isinstance(field, models.CharField) and shorter:
        yield f"makes {table}.{name} shorter"


def _what(table: str, operation: Operation) -> str:
    name = getattr(operation, "name", "") or getattr(operation, "old_name", "")
    return f"{table}.{name}" if hasattr(operation, "model_name") else table


@pytest.mark.parametrize(
    ("key", "migration"), [pytest.param(k, m, id=".".join(k)) for k, m in _ours()]
)
def test_the_version_before_goes_on_while_a_migration_runs(
    key: tuple[str, str], migration: Migration
) -> None:
    if migration.initial:
        return
    loader = _loader()
    faults = list(_faults(key[0], migration, loader.project_state(key, at_end=False)))
    known = KNOWN.get(".".join(key))
    assert not faults or known, faults


def test_only_what_is_there_is_excused() -> None:
    assert KNOWN.keys() <= {".".join(key) for key, _ in _ours()}


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (migrations.RemoveField("pod", "name"), "takes away workloads.pod.name"),
        (migrations.DeleteModel("Pod"), "takes away workloads.pod"),
        (migrations.RenameField("pod", "name", "title"), "renames workloads.pod"),
        (migrations.AddField("pod", "x", models.IntegerField(default=0)), "give it a db_default"),
        (migrations.AddField("pod", "x", models.IntegerField(null=True)), ""),
        (migrations.AddField("pod", "x", models.IntegerField(db_default=0)), ""),
        (
            migrations.AddIndex("pod", models.Index(fields=["name"], name="x")),
            "indexes workloads.pod under a lock",
        ),
        (migrations.AddIndex("classrule", models.Index(fields=["kind"], name="x")), ""),
        (
            migrations.AddConstraint(
                "pod", models.CheckConstraint(name="x", condition=models.Q(gpu_milli__gte=0))
            ),
            "checks every row",
        ),
        (migrations.AlterField("pod", "closed_at", models.DateTimeField()), "not null"),
        (migrations.AlterField("pod", "name", models.TextField()), "rewrites"),
        (migrations.AlterField("pod", "name", models.CharField(max_length=9)), "shorter"),
        (migrations.RunPython(migrations.RunPython.noop), "cannot be taken back"),
    ],
)
def test_each_kind_of_harm_is_found_and_what_does_none_is_not(
    operation: Operation, says: str
) -> None:
    loader = _loader()
    newest = loader.graph.leaf_nodes("workloads")[0]
    migration = Migration("9999_tried", "workloads")
    setattr(migration, "operations", [operation])  # noqa: B010 -- an instance's own, as Django has it
    faults = list(_faults("workloads", migration, loader.project_state(newest)))
    assert [fault for fault in faults if re.search(re.escape(says), fault)] if says else not faults
