"""`manage.py export_person NAME`: all that stands about a person, as JSON."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.translation import gettext as _

from portal.operations import persons
from portal.teams.models import User


class Command(BaseCommand):
    """Writes to stdout, table by table; what opens anything is left out."""

    help = "Write all that stands about a person to stdout, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take who."""
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        """Gather and write."""
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(_("Nobody signs in by this name."))
        told = persons.export(user_id=user.pk, actor_id=None)
        self.stdout.write(json.dumps(told, cls=DjangoJSONEncoder, ensure_ascii=False, indent=2))
