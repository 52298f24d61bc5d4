"""The language of the terminal, out of the portal's own catalogue."""

import gettext as catalogues
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

CATALOGUES = Path(__file__).resolve().parents[1] / "locale"
SPOKEN = ("en", "ko")
ASKED = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
"""Where a terminal says its language; the first that says anything counts, as everywhere."""


def language(environment: Mapping[str, str] = os.environ) -> str:
    """Return the language to speak, such as `ko`; English where the terminal asks for another."""
    asked = next((environment[name] for name in ASKED if environment.get(name)), "")
    for one in asked.split(":"):
        code = one.replace("-", "_").partition("_")[0].partition(".")[0].lower()
        if code in SPOKEN:
            return code
    return SPOKEN[0]


def gettext(text: str) -> str:
    """Return the sentence in the terminal's language."""
    return _catalogue(language()).gettext(text)


@cache
def _catalogue(code: str) -> catalogues.NullTranslations:
    return catalogues.translation("django", CATALOGUES, [code], fallback=True)
