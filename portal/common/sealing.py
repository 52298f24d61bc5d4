"""Secrets that must be read again, sealed under a key that follows from the installation's own.

A copy of the database alone opens none of them. `SECRET_KEY_FALLBACKS` still unseal.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(Exception):
    """Sealed under a secret key this installation no longer knows."""


def seal(text: str, *, purpose: str) -> str:
    """Seal under the key of now; `purpose` keeps one kind of secret from passing as another."""
    return _boxes(purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, *, purpose: str) -> str:
    """Open under the key of now or an earlier one. Raises `Unreadable`."""
    try:
        return _boxes(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable(purpose) from None


def _boxes(purpose: str) -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet(Fernet(_derived(key, purpose)) for key in keys)


def _derived(key: str, purpose: str) -> bytes:
    salted = hashlib.sha256(f"evenshare {purpose}:{key}".encode()).digest()
    return base64.urlsafe_b64encode(salted)
