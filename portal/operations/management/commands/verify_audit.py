"""`manage.py verify_audit`: tell whether the audit trail is as it was written."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.models import AuditEvent


class Command(BaseCommand):
    """Follows the hash chain from its first line to its head; exits 1 where it breaks."""

    help = "Check that no line of the audit trail was changed, taken out or slipped in."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say how many lines follow from one another, or which is the first that does not."""
        broken = audit.first_broken()
        if broken is None:
            self.stdout.write(
                _("The chain is whole: %(count)d lines.") % {"count": AuditEvent.objects.count()}
            )
        elif broken:
            raise CommandError(
                _("Line %(line)d does not follow from the one before it. Compare it with a backup.")
                % {"line": broken}
            )
        else:
            raise CommandError(_("The newest lines are missing. Compare with a backup."))
