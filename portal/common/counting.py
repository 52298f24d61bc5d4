"""Several counts in one question to the database."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, QuerySet, Value


def together(wanted: Mapping[str, QuerySet[Any]]) -> dict[str, int]:
    """How many rows each of these finds, by name: one query, none for nothing."""
    if not wanted:
        return {}
    first, *others = (
        rows.order_by()
        .values(of=Value(name))
        .annotate(found=Count("pk"))
        .values_list("of", "found")
        for name, rows in wanted.items()
    )
    return dict(first.union(*others, all=True))
