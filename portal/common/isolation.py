"""The name of a RuntimeClass: how jobs are kept apart from the node and from each other."""

import re

from django.utils.translation import gettext as _

from portal.common.errors import Invalid

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def checked(name: str) -> str:
    """The name as a cluster takes it; empty is no isolation. Raises `Invalid`."""
    name = name.strip()
    if name and not NAME.fullmatch(name):
        message = _("A RuntimeClass is named with small letters, digits and dashes.")
        raise Invalid(message, fields={"runtime_class": message})
    return name
