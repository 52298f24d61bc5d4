"""What admin sites of other rooms are made of."""

from django.db.models import Model
from django.http import HttpRequest


class LookOnly:
    """Nobody adds, changes or deletes: stands before `ModelAdmin` or an inline."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False
