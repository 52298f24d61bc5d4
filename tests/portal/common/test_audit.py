"""The audit chain holds, shows what was tampered with, and cannot be rewritten."""

import pytest
from django.db import DatabaseError, connection, transaction

from portal.common import audit
from portal.common.models import AuditEvent
from tests.builders import behind_the_guard

pytestmark = pytest.mark.django_db


def _three_lines() -> list[AuditEvent]:
    return [
        audit.record(
            actor_id=n, action="quotas.changed", target_type="quota", target_id=n,
            data={"from": n, "to": n + 1},
        )
        for n in (1, 2, 3)
    ]  # fmt: skip


def test_every_line_carries_the_hash_of_the_one_before() -> None:
    first, second, third = _three_lines()
    assert first.previous_hash == audit.GENESIS
    assert second.previous_hash == first.hash
    assert third.previous_hash == second.hash
    assert audit.first_broken() is None


@pytest.mark.parametrize("change", ["UPDATE common_auditevent SET actor_id = 9", "DELETE FROM common_auditevent"])  # fmt: skip
def test_the_database_refuses_to_change_or_delete_a_line(change: str) -> None:
    _three_lines()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute(change)
    assert audit.first_broken() is None


def test_a_line_changed_behind_the_guards_back_is_found() -> None:
    _, second, _ = _three_lines()
    behind_the_guard(f"UPDATE common_auditevent SET data = '{{}}' WHERE id = {second.pk}")
    assert audit.first_broken() == second.pk


def test_a_line_taken_out_is_found_at_the_next() -> None:
    _, second, third = _three_lines()
    behind_the_guard(f"DELETE FROM common_auditevent WHERE id = {second.pk}")
    assert audit.first_broken() == third.pk


def test_the_last_line_taken_out_is_found_by_the_head() -> None:
    *_, third = _three_lines()
    behind_the_guard(f"DELETE FROM common_auditevent WHERE id = {third.pk}")
    assert audit.first_broken() == 0
