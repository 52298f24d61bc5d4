"""Two-step sign-in: how its secrets rest in the database, and what it is called in an app."""

from allauth.mfa.adapter import DefaultMFAAdapter

from portal.common import sealing
from portal.teams import selectors

PURPOSE = "second factor"


class SecondFactor(DefaultMFAAdapter):
    """Keeps secrets sealed: a copy of the database alone makes no codes."""

    def encrypt(self, text: str) -> str:
        """Under the key of now."""
        return sealing.seal(text, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """Under the key of now or an earlier one."""
        return sealing.unseal(encrypted_text, purpose=PURPOSE)

    def get_totp_issuer(self) -> str:
        """The organisation, as it stands in the person's app."""
        return f"Evenshare {selectors.get_organisation().name}"
