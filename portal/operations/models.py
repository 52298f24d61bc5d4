"""What the periodic checks of the installation found last."""

from django.db import models


class Report(models.Model):
    """The newest outcome of one periodic piece of upkeep; one row a name. `at` is real time."""

    name = models.SlugField(unique=True, help_text="audit, prune or backup")
    at = models.DateTimeField()
    ok = models.BooleanField()
    says = models.CharField(max_length=400, blank=True)
    figures = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.name} {'ok' if self.ok else 'not ok'} at {self.at:%F %T}"
