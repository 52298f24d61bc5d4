"""What is one's own: the browsers one is signed in with."""

from allauth.usersessions.models import UserSession
from django.db import transaction

from portal.common.errors import Missing


def list_sessions(*, user_id: int) -> list[UserSession]:
    """Return where somebody is signed in, the latest first."""
    rows = UserSession.objects.filter(user_id=user_id).order_by("-last_seen_at", "-pk")
    return [row for row in rows if row.exists()]


@transaction.atomic
def end_session(*, user_id: int, session_id: int) -> None:
    """Sign one of one's own browsers out. Raises `Missing`."""
    row = UserSession.objects.filter(user_id=user_id, pk=session_id).first()
    if row is None:
        raise Missing
    row.end()
