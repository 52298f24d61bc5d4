"""How sign-in behaves: nobody signs up by themselves."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """People are invited by an admin, so the sign-up page is closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """No."""
        return False
