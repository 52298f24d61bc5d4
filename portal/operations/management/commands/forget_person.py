"""`manage.py forget_person NAME`: take a person out of the installation, and keep the chain whole."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from portal.common import clock
from portal.common.errors import Refusal
from portal.operations import persons
from portal.teams.models import User


class Command(BaseCommand):
    """Asks for the name once more, since nothing brings a person back."""

    help = "Make a person nobody: names, address, sign-in, tokens, roles and news go; see --help."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take who, and whether to ask."""
        parser.epilog = persons.__doc__
        parser.add_argument("username")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, username: str, yes: bool, **options: Any) -> None:
        """Ask, forget, and say what they are called now."""
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(_("Nobody signs in by this name."))
        if not yes and input(_("Nothing brings them back. Their sign-in name again: ")) != username:
            raise CommandError(_("Nothing was changed."))
        try:
            called = persons.forget(user_id=user.pk, actor_id=None, now=clock.now())
        except Refusal as refusal:
            raise CommandError(str(refusal.message)) from None
        self.stdout.write(_("From now on: %(name)s.") % {"name": called})
