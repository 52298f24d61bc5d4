"""The organisation, its teams, people and roles in the admin; every write goes through a service."""

import zoneinfo
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from portal.common import clock
from portal.common.admin import ByService
from portal.teams import services
from portal.teams.models import (
    GroupRule,
    Organisation,
    Role,
    RoleAssignment,
    Team,
    TeamTerm,
    User,
)

admin.site.unregister(Group)


@admin.register(Organisation)
class OrganisationAdmin(ByService):
    """The one organisation."""

    list_display = ("name", "zone", "billing_zone", "currency")
    fields = ("name", "zone", "billing_zone", "currency")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only zones the machine knows."""
        if db_field.name in ("zone", "billing_zone"):
            known = sorted(zoneinfo.available_timezones())
            return forms.ChoiceField(choices=[(zone, zone) for zone in known])
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Organisation, form: ModelForm[Any], change: bool
    ) -> None:
        """Change it."""
        services.change_organisation(
            name=obj.name, zone=obj.zone, billing_zone=obj.billing_zone, currency=obj.currency,
            actor_id=request.user.pk,
        )  # fmt: skip


@admin.register(Team)
class TeamAdmin(ByService):
    """Teams; a new one stands at the top until it is moved."""

    list_display = ("name", "slug", "cost_centre", "hue")
    fields = ("slug", "name", "cost_centre", "hue", "runtime_class")
    search_fields = ("name", "slug")
    fixed = ("slug",)

    def save_model(
        self, request: HttpRequest, obj: Team, form: ModelForm[Any], change: bool
    ) -> None:
        """Add it to the tree, or call it otherwise."""
        if change:
            services.change_team(
                team_id=obj.pk, name=obj.name, cost_centre=obj.cost_centre, hue=obj.hue,
                runtime_class=obj.runtime_class, actor_id=request.user.pk,
            )  # fmt: skip
            return
        obj.pk = services.create_team(
            slug=obj.slug, name=obj.name, cost_centre=obj.cost_centre, hue=obj.hue,
            runtime_class=obj.runtime_class, parent_id=None, now=clock.now(),
            actor_id=request.user.pk,
        ).pk  # fmt: skip


@admin.register(TeamTerm)
class TeamTermAdmin(ByService):
    """Where teams stand and what they weigh; a new row moves the team from now on."""

    list_display = ("team", "parent", "weight", "priority", "valid_from", "valid_to")
    list_filter = ("team",)
    fields = ("team", "parent", "weight", "priority")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: the past stays, a move is a new row."""
        return False

    def save_model(
        self, request: HttpRequest, obj: TeamTerm, form: ModelForm[Any], change: bool
    ) -> None:
        """Move the team."""
        obj.pk = services.move_team(
            team_id=obj.team_id, parent_id=obj.parent_id, weight=obj.weight,
            priority=obj.priority, now=clock.now(), actor_id=request.user.pk,
        ).pk  # fmt: skip


class PersonForm(forms.ModelForm[User]):
    """A person; the password is asked once, when they are added."""

    first_password = forms.CharField(
        widget=forms.PasswordInput, required=False, validators=[validate_password],
        help_text="Asked when a person is added; they change it after signing in.",
    )  # fmt: skip

    def clean(self) -> dict[str, Any] | None:
        """Ask for a password where there is none yet."""
        if self.instance._state.adding and not self.cleaned_data.get("first_password"):
            self.add_error("first_password", "A new person needs one.")
        return self.cleaned_data


@admin.register(User)
class UserAdmin(ByService):
    """People; nobody is deleted, those who left are shut out."""

    form = PersonForm
    list_display = ("username", "first_name", "last_name", "email", "is_active", "last_login")
    list_filter = ("is_active",)
    search_fields = ("username", "first_name", "last_name", "email")
    fields = ("username", "first_name", "last_name", "email", "is_active", "first_password")
    fixed = ("username",)
    actions = ("reset_second_factor",)

    @admin.action(description="Turn two-step sign-in off: app and codes were lost")
    def reset_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Let them sign in by password alone, once they proved in person who they are."""
        for user in queryset:
            services.reset_second_factor(user_id=user.pk, actor_id=request.user.pk)

    def save_model(
        self, request: HttpRequest, obj: User, form: ModelForm[Any], change: bool
    ) -> None:
        """Add or change the person."""
        if not change:
            obj.pk = services.create_user(
                username=obj.username, first_name=obj.first_name, last_name=obj.last_name,
                email=obj.email, password=form.cleaned_data["first_password"],
                actor_id=request.user.pk,
            ).pk  # fmt: skip
            return
        services.change_user(
            user_id=obj.pk, first_name=obj.first_name, last_name=obj.last_name, email=obj.email,
            is_active=obj.is_active, actor_id=request.user.pk,
        )  # fmt: skip


@admin.register(RoleAssignment)
class RoleAssignmentAdmin(ByService):
    """Who holds which role where; without a team it reaches the whole organisation."""

    list_display = ("user", "role", "team", "created_at")
    list_filter = ("role", "team")
    fields = ("user", "role", "team")
    autocomplete_fields = ("user", "team")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: a role is granted or revoked."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins: deleting revokes."""
        return bool(request.user.is_superuser)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """One at a time, so that the last admin is never taken with others."""
        return {}

    def save_model(
        self, request: HttpRequest, obj: RoleAssignment, form: ModelForm[Any], change: bool
    ) -> None:
        """Grant it."""
        obj.pk = services.grant_role(
            user_id=obj.user_id, role=Role(obj.role), team_id=obj.team_id, now=clock.now(),
            actor_id=request.user.pk,
        ).pk  # fmt: skip

    def delete_model(self, request: HttpRequest, obj: RoleAssignment) -> None:
        """Revoke it."""
        services.revoke_role(assignment_id=obj.pk, actor_id=request.user.pk)


@admin.register(GroupRule)
class GroupRuleAdmin(ByService):
    """Which role a group of the single sign-on provider brings where."""

    list_display = ("group", "role", "team")
    list_filter = ("role",)
    search_fields = ("group",)
    fields = ("group", "role", "team")
    autocomplete_fields = ("team",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins: it counts from the next sign-in."""
        return bool(request.user.is_superuser)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """One at a time, each with its audit line."""
        return {}

    def save_model(
        self, request: HttpRequest, obj: GroupRule, form: ModelForm[Any], change: bool
    ) -> None:
        """Set it."""
        obj.pk = services.set_group_rule(
            rule_id=obj.pk, group=obj.group, role=Role(obj.role), team_id=obj.team_id,
            actor_id=request.user.pk,
        ).pk  # fmt: skip

    def delete_model(self, request: HttpRequest, obj: GroupRule) -> None:
        """Drop it."""
        services.drop_group_rule(rule_id=obj.pk, actor_id=request.user.pk)
