"""What admin sites of other rooms are made of."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from portal.common.errors import Refusal


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


class ByService(admin.ModelAdmin[Any]):
    """Written by a service; what it refuses is shown above the form."""

    fixed: tuple[str, ...] = ()
    """Fields that cannot change once the row is there."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing here is deleted: what was, is needed to explain the past."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """On a row that is there, also what is fixed."""
        return (*self.readonly_fields, *(self.fixed if obj is not None else ()))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show a refusal in words instead of failing."""
        try:
            answer: HttpResponse = super().changeform_view(
                request, object_id, form_url, extra_context
            )
            return answer
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a refusal in words here as well."""
        try:
            answer: HttpResponse = super().delete_view(request, object_id, extra_context)
            return answer
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect("../change/")
