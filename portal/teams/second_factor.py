"""Two-step sign-in: how its secrets rest in the database, and what it is called in an app."""

import base64
import hashlib

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings

from portal.teams import selectors


class SecondFactor(DefaultMFAAdapter):
    """Keeps secrets encrypted: a copy of the database alone makes no codes.

    The key follows from the installation's secret key; `SECRET_KEY_FALLBACKS` still decrypt.
    """

    def encrypt(self, text: str) -> str:
        """Under the key of now."""
        return _boxes().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Under the key of now or an earlier one."""
        return _boxes().decrypt(encrypted_text.encode()).decode()

    def get_totp_issuer(self) -> str:
        """The organisation, as it stands in the person's app."""
        return f"Evenshare {selectors.get_organisation().name}"


def _boxes() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet(Fernet(_derived(key)) for key in keys)


def _derived(key: str) -> bytes:
    salted = hashlib.sha256(b"evenshare second factor:" + key.encode()).digest()
    return base64.urlsafe_b64encode(salted)
