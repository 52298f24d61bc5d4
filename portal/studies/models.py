"""Uploaded traces, studies, and what became of the jobs in each replay of a study."""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.inventory.models import Cluster
from portal.teams.models import Team


class Trace(models.Model):
    """Jobs of somewhere else, as a file somebody uploaded; its text lies in chunks.

    Forgotten 180 days after the last study that used it, or after it came.
    """

    name = models.CharField(max_length=80)
    form = models.CharField(max_length=12)
    size = models.PositiveBigIntegerField(help_text="bytes of text, unpacked")
    jobs = models.PositiveIntegerField()
    bad_rows = models.PositiveIntegerField(default=0)
    first_second = models.BigIntegerField(help_text="of the trace's own clock")
    last_second = models.BigIntegerField()
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(help_text="real time")
    used_at = models.DateTimeField(help_text="real time")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class TraceChunk(models.Model):
    """A piece of a trace's text, compressed by itself, so that it is written and read in pieces."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["trace_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["trace", "number"], name="one_chunk_a_number")
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.number}"


class StudyState(models.TextChoices):
    """Where a study stands."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


TOO_LONG, TOO_BIG, DIED, FAULT, REFUSED = "too_long", "too_big", "died", "fault", "refused"
"""Why a study failed, as the first word of its `message`; what follows a colon is the cause."""
OPEN_STATES = (StudyState.QUEUED, StudyState.RUNNING)


class Draw(models.TextChoices):
    """Where the jobs of each replay come from."""

    RESAMPLED = "resampled", _("drawn anew for each seed")
    AS_IT_WAS = "as_it_was", _("exactly as they were")


class Study(models.Model):
    """The same jobs under today's terms and with one thing changed.

    Jobs are our own past (`cluster`, `from_at`, `to_at`) or a `trace`; they run on `cluster` or on
    bare `nodes` such as `64x8`; of a trace the part from `first_second` until `until_second`. `terms` and `jobs` are what was read when it first ran, compressed,
    so that a replay repeated later is the same. `team` is whom it is shared with beside those who
    oversee everything. `attempt` numbers the processes that took it up: one that finds another
    number has been given up and writes nothing more. Times named `*_real_at` are real.

    Forgotten 90 days after it ended, unless it is to be kept.
    """

    name = models.CharField(max_length=120)
    note = models.TextField(blank=True)
    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, null=True, related_name="studies"
    )
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, null=True, related_name="studies")
    from_at = models.DateTimeField(null=True)
    to_at = models.DateTimeField(null=True)
    first_second = models.BigIntegerField(null=True, help_text="of the trace's own clock")
    until_second = models.BigIntegerField(null=True)
    nodes = models.CharField(max_length=20, blank=True)
    base_rules = models.JSONField()
    change = models.JSONField()
    draw = models.CharField(max_length=12, choices=Draw.choices)
    seeds = models.JSONField()
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="studies")
    is_kept = models.BooleanField(default=False)
    state = models.CharField(
        max_length=12, choices=StudyState.choices, default=StudyState.QUEUED
    )  # fmt: skip
    message = models.TextField(blank=True)
    is_to_stop = models.BooleanField(default=False)
    attempt = models.PositiveIntegerField(default=0)
    done_share = models.FloatField(default=0)
    doing = models.JSONField(default=dict, help_text="side and seed of the replay under way")
    terms = models.BinaryField(null=True)
    jobs = models.BinaryField(null=True)
    headline = models.JSONField(default=dict, help_text="what a list says of its result")
    job_count = models.PositiveIntegerField(null=True)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    queued_real_at = models.DateTimeField()
    started_real_at = models.DateTimeField(null=True)
    beat_real_at = models.DateTimeField(null=True)
    ended_real_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="study_of_a_past_or_a_trace",
                condition=Q(trace__isnull=False)
                | Q(cluster__isnull=False, from_at__isnull=False, to_at__gt=F("from_at")),
            ),
            models.CheckConstraint(
                name="study_ended_when_over",
                condition=Q(state__in=["queued", "running"]) | Q(ended_real_at__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["state", "queued_real_at"], name="study_queue")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        """Whether it is still to end."""
        return self.state in OPEN_STATES

    @property
    def plan(self) -> list[tuple[str, int]]:
        """Every replay it asks for, as side and seed: both sides of a seed after each other."""
        return [(side, int(seed)) for seed in self.seeds for side in Side.values]


class Side(models.TextChoices):
    """Which of the two a replay is."""

    BASE = "base", _("As it is")
    CHANGED = "changed", _("Changed")


class Outcome(models.Model):
    """What became of the jobs in one replay: the figures of `scheduling.trials` as JSON."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="outcomes")
    side = models.CharField(max_length=8, choices=Side.choices)
    seed = models.BigIntegerField()
    figures: models.JSONField[Any, Any] = models.JSONField()
    took_ms = models.PositiveIntegerField()

    class Meta:
        ordering = ["study_id", "seed", "side"]
        constraints = [
            models.UniqueConstraint(fields=["study", "side", "seed"], name="one_outcome_a_replay")
        ]

    def __str__(self) -> str:
        return f"{self.study_id} {self.side} {self.seed}"
