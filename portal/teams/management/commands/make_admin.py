"""`manage.py make_admin`: the first admin of an installation, and the way back in."""

from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from portal.common import clock
from portal.teams import selectors, services
from portal.teams.models import Organisation, Role, User


class Command(BaseCommand):
    """Makes somebody admin of the whole organisation, and adds them if they are new."""

    help = "Make a person admin of the organisation; asks for a password when they are new."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take who it is and what the organisation is called."""
        parser.add_argument("username")
        parser.add_argument("--organisation", default="", help="its name, when it has none yet")

    def handle(self, *args: Any, username: str, organisation: str, **options: Any) -> None:
        """Add the person where needed and grant the role."""
        if not Organisation.objects.exists():
            selectors.new_organisation(organisation or "Evenshare").save(force_insert=True)
        user = User.objects.filter(username=username).first() or self._add(username)
        services.grant_role(
            user_id=user.pk, role=Role.ADMIN, team_id=None, now=clock.now(), actor_id=None
        )
        self.stdout.write(f"{username} is admin of the organisation.")

    def _add(self, username: str) -> User:
        try:
            password = getpass(f"Password for {username}: ")
        except EOFError:
            raise CommandError("A new person needs a password: run this in a terminal.") from None
        try:
            validate_password(password, User(username=username))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        return services.create_user(
            username=username, first_name="", last_name="", email="", password=password,
            actor_id=None,
        )  # fmt: skip
