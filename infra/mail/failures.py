"""Classifies errors of the mail server: final, or to be tried again. Pure."""

import smtplib
from dataclasses import dataclass
from datetime import timedelta

# How long to wait after the first, second, … failed try; afterwards as after the last one.
_OF_RECIPIENT = " for the recipient"
_PLACES = {smtplib.SMTPSenderRefused: "for the sender", smtplib.SMTPAuthenticationError: "for the sign-in"}
WAITS = tuple(timedelta(seconds=seconds) for seconds in (5, 30, 120, 600, 1800, 3600))


@dataclass(frozen=True)
class Failure:
    """Why an e-mail was not sent. The reason contains no text of the server, which may name the recipient.

    final: the same e-mail would be refused again. down: no e-mail can be sent at the moment.
    """

    reason: str
    final: bool = False
    down: bool = False


def wait_after(tries: int, *, urgent: bool) -> timedelta:
    """The time to wait after so many failed tries; always short for an e-mail that a person waits for."""
    waits = WAITS[:2] if urgent else WAITS
    return waits[min(max(tries, 1), len(waits)) - 1]


def is_of_recipient(reason: str) -> bool:
    """Whether the recipient was refused, and not the content or the sender."""
    return reason.endswith(_OF_RECIPIENT)


def read(error: OSError) -> Failure:
    """The failure that an error while sending stands for (RFC 5321 §4.2.1).

    A refusal of the recipient or of the content with 5xx is final. A refusal of the sender or of the sign-in
    is not: it is a fault in the configuration, which concerns every e-mail.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _text in error.recipients.values()]
        return Failure(f"{min(codes, default=0)}{_OF_RECIPIENT}", final=all(c >= 500 for c in codes))
    if isinstance(error, smtplib.SMTPDataError):
        return Failure(f"{error.smtp_code} for the content", final=error.smtp_code >= 500)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return Failure("the mail server lacks a feature", final=True)
    if isinstance(error, smtplib.SMTPResponseException) and error.smtp_code > 0:
        place = _PLACES.get(type(error), "from the mail server")
        return Failure(f"{error.smtp_code} {place}", down=True)
    if isinstance(error, TimeoutError):
        return Failure("the mail server does not answer", down=True)
    return Failure("no connection to the mail server", down=True)
