"""The e-mail addresses that this service accepts (RFC 5321 §4.1.2, RFC 5322 §3.4.1). Pure.

An address proves who its owner is only if e-mails go exactly where the address says.
"""

import re

# Django's mailer decodes encoded words (RFC 2047), drops comments and quotes, and rewrites letters outside
# ASCII before it talks to the mail server. So we accept only what it sends unchanged: a dot-atom without
# `=?`, an `@`, and a domain name.
#
# Internationalised addresses: a local part outside ASCII (SMTPUTF8, RFC 6531) is refused, because the mailer
# would turn it into an encoded word. An internationalised domain is accepted only in its ASCII form
# (`xn--…`): that form has one spelling, and the two standards for the conversion (IDNA 2003 and 2008)
# disagree on some letters. The README says so under "Where we differ from the standards".

LONGEST = 254  # RFC 5321 §4.5.3.1.3, without the angle brackets
LONGEST_LOCAL_PART = 64  # RFC 5321 §4.5.3.1.1

_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_TOP_LABEL = r"(?=[a-z0-9-]{2})(?![0-9]+\Z)" + _LABEL  # no number, because `user@127.0.0.1` names a machine
_LOCAL_PART = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_DOMAIN = re.compile(rf"localhost|(?:{_LABEL}\.)+{_TOP_LABEL}")


class EmailAddressError(ValueError):
    """The text is no e-mail address that this service accepts."""


def parse(text: str, *, localhost: bool = True) -> str:
    """The address in lower case, as wallets keep it; raises `EmailAddressError`.

    The caller has to remove spaces around the text. localhost: whether that domain is accepted, in which
    every machine has mailboxes of its own.
    """
    local_part, _, domain = text.lower().rpartition("@")
    if (
        len(text) > LONGEST
        or not text.isascii()
        or len(local_part) > LONGEST_LOCAL_PART
        or "=?" in local_part
        or not _LOCAL_PART.fullmatch(local_part)
        or not _DOMAIN.fullmatch(domain)
        or (domain == "localhost" and not localhost)
    ):
        raise EmailAddressError("not an e-mail address that this service accepts")
    return f"{local_part}@{domain}"


def is_accepted(text: str) -> bool:
    """Whether the text is an address as `parse` gives it."""
    try:
        return parse(text) == text
    except EmailAddressError:
        return False
