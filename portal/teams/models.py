"""The organisation, its tree of teams, people, the roles they hold and their API tokens."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken


class Language(models.TextChoices):
    """Languages the pages speak."""

    ENGLISH = "en", "English"
    KOREAN = "ko", "한국어"


class Theme(models.TextChoices):
    """How pages look."""

    SYSTEM = "system", _("As the device says")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class Role(models.TextChoices):
    """What somebody may do, in the organisation or in one branch of the tree."""

    MEMBER = "member", _("Member")
    LEAD = "lead", _("Lead")
    ADMIN = "admin", _("Admin")
    FINANCE = "finance", _("Finance")
    AUDITOR = "auditor", _("Auditor")


class Organisation(models.Model):
    """The one organisation this installation serves."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    name = models.CharField(max_length=120)
    zone = models.CharField(
        max_length=64, default="Asia/Seoul", help_text="zone pages show by default"
    )
    billing_zone = models.CharField(
        max_length=64, default="Asia/Seoul", help_text="months are cut here"
    )
    currency = models.CharField(max_length=3, default="KRW")

    class Meta:
        constraints = [models.CheckConstraint(name="only_one_organisation", condition=Q(id=1))]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):  # type: ignore[django-manager-missing]  # knox brings one untyped
    """A person who signs in."""

    language = models.CharField(max_length=8, choices=Language.choices, blank=True)
    theme = models.CharField(max_length=8, choices=Theme.choices, default=Theme.SYSTEM)
    zone = models.CharField(max_length=64, blank=True, help_text="empty: the organisation's")

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Team(models.Model):
    """A department, a team or a project; where it stands in the tree is dated, in `TeamTerm`."""

    slug = models.SlugField(unique=True, help_text="its name in addresses and in the engine")
    name = models.CharField(max_length=120)
    cost_centre = models.CharField(max_length=40, blank=True)
    hue = models.PositiveSmallIntegerField(default=1, help_text="which of the team colours, 1 to 8")
    runtime_class = models.CharField(
        max_length=63, blank=True, default="", db_default="",
        help_text="RuntimeClass its jobs are isolated by; empty: the pool's",
    )  # fmt: skip
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class TeamTerm(models.Model):
    """Where a team stands and what it weighs, from `valid_from` until `valid_to`, half-open."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="terms")
    parent = models.ForeignKey(
        Team, on_delete=models.PROTECT, null=True, related_name="child_terms"
    )
    weight = models.PositiveIntegerField(default=1)
    priority = models.IntegerField(default=0)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    class Meta:
        ordering = ["team_id", "valid_from"]
        constraints = [
            models.CheckConstraint(
                name="team_term_ends_after_it_begins",
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
            ),
            models.CheckConstraint(
                name="team_is_not_its_own_parent", condition=~Q(parent=F("team"))
            ),
            models.UniqueConstraint(
                fields=["team"], condition=Q(valid_to__isnull=True), name="one_open_term_per_team"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} under {self.parent_id}"


class RoleAssignment(models.Model):
    """A role held by a person, in one branch of the tree or, without a team, everywhere."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="role_assignments")
    role = models.CharField(max_length=12, choices=Role.choices)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)
    by_group = models.BooleanField(
        default=False, db_default=False, help_text="brought by a group of the sign-on provider"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            # Two, since SQLite takes no constraint under which nulls are equal.
            models.UniqueConstraint(
                fields=["user", "role", "team"],
                condition=Q(team__isnull=False),
                name="role_held_once_in_a_team",
            ),
            models.UniqueConstraint(
                fields=["user", "role"],
                condition=Q(team__isnull=True),
                name="role_held_once_everywhere",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} in {self.team_id}"


class ApiToken(AbstractAuthToken):
    """Lets a program ask on a person's behalf, within `scopes`; only a hash of it is kept.

    `created`, `expiry` and `last_used_on` are real time.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=80, help_text="what it is for")
    scopes = models.JSONField(default=list, help_text="such as requests:read; see teams.tokens")
    last_used_on = models.DateField(null=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return self.name


class Invitation(models.Model):
    """A link by which one person may make an account with one role; only its hash is kept.

    Times are real. Kept for a year.
    """

    email = models.EmailField()
    role = models.CharField(max_length=12, choices=Role.choices)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True)
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="invitation_accepted_or_withdrawn",
                condition=Q(accepted_at__isnull=True) | Q(withdrawn_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} as {self.role}"


class GroupRule(models.Model):
    """Which role a group of the single sign-on provider brings, in a branch or everywhere."""

    group = models.CharField(max_length=200, help_text="as the provider names it")
    role = models.CharField(max_length=12, choices=Role.choices)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)

    class Meta:
        ordering = ["group", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "role", "team"],
                condition=Q(team__isnull=False),
                name="group_brings_a_role_once_in_a_team",
            ),
            models.UniqueConstraint(
                fields=["group", "role"],
                condition=Q(team__isnull=True),
                name="group_brings_a_role_once_everywhere",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group} brings {self.role}"
