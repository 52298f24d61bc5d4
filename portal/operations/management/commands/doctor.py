"""`manage.py doctor`: what is wrong with this installation, and what to do."""

from typing import Any

from django.core.management.base import BaseCommand

from portal.operations import checks

MARKS = {checks.Level.GOOD: "ok  ", checks.Level.WARN: "warn", checks.Level.BAD: "BAD "}


class Command(BaseCommand):
    """Prints every finding; exits with 1 when one is bad."""

    help = "Look at database, clock, files, people, clusters and audit; say what to do."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Run all checks."""
        findings = checks.examine(checks.ALL)
        for finding in findings:
            self.stdout.write(f"{MARKS[finding.level]} {finding.subject}: {finding.says}")
            if finding.do:
                self.stdout.write(f"     {finding.do}")
        if any(finding.level is checks.Level.BAD for finding in findings):
            raise SystemExit(1)
