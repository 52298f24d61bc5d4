"""E-mail through the server the settings name."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage

from portal.common.models import OutboxMessage
from portal.common.outbox import NotSent, has_mail_server

NO_SERVER = "no mail server is set"


def send(message: OutboxMessage) -> None:
    """Send it, under a Message-ID that is the same at every attempt. Raises `NotSent`."""
    if not has_mail_server():
        raise NotSent(NO_SERVER, final=True)
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip(" >") or "evenshare"
    mail = EmailMessage(
        " ".join(message.subject.split()), message.body, to=[message.address],
        headers={
            "Message-ID": f"<{message.key.replace(':', '.')}@{domain}>",
            "Auto-Submitted": "auto-generated",
        },
    )  # fmt: skip
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused as fault:
        raise NotSent("the server refuses this address", final=_lasting(fault)) from None
    except (smtplib.SMTPException, OSError) as fault:
        raise NotSent(f"{type(fault).__name__}: {fault}"[:200]) from None


def _lasting(fault: smtplib.SMTPRecipientsRefused) -> bool:
    return all(code >= 500 for code, _text in fault.recipients.values())
