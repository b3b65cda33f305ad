"""Rules for redirect URIs (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §4.1.3). Pure.

A registered redirect URI is compared as an exact string, so `validate` refuses what browsers would change.
The `redirect_uri` in the response to a posted answer is compared with nothing and differs each time; it has a
rule of its own, `may_be_followed`.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from django.utils.translation import gettext_lazy as _

from infra.registering import NotRegistrableError
from infra.words import Words
from presentation.relying_parties.metadata import answer_names

LONGEST = 500
LONGEST_FOLLOWED = 2048

_URI_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()+,;=%]+")  # RFC 3986 §2 without `#` and `*`
_FOLLOWED_CHARACTERS = re.compile(
    r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+(?:#[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]*)?"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_REVERSE_DOMAIN = re.compile(r"[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+")
_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_LOOPBACK_HOSTS = ("127.0.0.1", "::1")


def validate(uri: str, *, allow_localhost: bool = False) -> None:
    """Accepts an absolute https URI, loopback http, or a private-use scheme; raises NotRegistrableError.

    allow_localhost: also accept `http://localhost`, which a name server could resolve to another machine
    (RFC 8252 §8.3).
    """
    _check_characters(uri)
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        raise NotRegistrableError(_("The host or port is not valid.")) from None
    scheme, colon, _rest = uri.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        raise NotRegistrableError(_("Enter an absolute URI, such as https://app.example/callback."))
    if scheme != scheme.lower():
        raise NotRegistrableError(_("Write the scheme in lower case."))
    if "@" in parts.netloc:
        raise NotRegistrableError(_("User information (an @ before the host) is not allowed."))
    if _DOT_SEGMENT.search(parts.path):
        raise NotRegistrableError(_("The path must not contain . or .. segments: browsers would change it."))
    if scheme in ("https", "http"):
        _check_web(parts, port, allow_localhost=allow_localhost)
    else:
        _check_private_use(parts)


def may_be_followed(uri: str, registered: Iterable[str], *, allow_localhost: bool = False) -> bool:
    """Whether the browser may go to the `redirect_uri` of a relying party's response (OpenID4VP 1.0 §8.2).

    registered: its redirect URIs. Accepts https on any host, the private-use schemes of `registered` with
    anything after them, and loopback http if one of `registered` has it. allow_localhost: as in `validate`.
    """
    if len(uri) > LONGEST_FOLLOWED or not _FOLLOWED_CHARACTERS.fullmatch(uri) or _BAD_ESCAPE.search(uri):
        return False
    scheme = uri.partition(":")[0].lower()
    if scheme not in {"https", *(address.partition(":")[0] for address in registered)}:
        return False
    if scheme not in ("https", "http"):
        return bool(_REVERSE_DOMAIN.fullmatch(scheme))
    try:
        parts = urlsplit(uri)
        _check_web(parts, parts.port, allow_localhost=allow_localhost)
    except (ValueError, NotRegistrableError):
        return False
    return "@" not in parts.netloc


def check_query(uri: str) -> None:
    """Raises NotRegistrableError if the query has a name of the answer (`answer_names`), decoded or not."""
    if names := answer_names.in_query(uri):
        raise NotRegistrableError(
            _("Take %(names)s out of the query: answers have parameters of the same name.")
            % {"names": ", ".join(names)}
        )


def problem_with_start(uri: str, registered: Iterable[str]) -> Words | None:
    """Why no request can begin again at `uri` (`initiate_login_uri`, OpenID Connect Core 1.0 §4).

    uri: may be empty. registered: the redirect URIs. So the link leads only where answers go, too.
    """
    if not uri:
        return None
    try:
        validate(uri)
    except NotRegistrableError as error:
        return error.reason
    if names := answer_names.in_query(uri, answer_names.OF_BEGINNINGS):
        return _("Take %(names)s out of the query: requests begin with parameters of the same name.") % {
            "names": ", ".join(names)
        }
    hosts = {
        urlsplit(redirect_uri).hostname
        for redirect_uri in registered
        if redirect_uri.startswith(("https:", "http:"))
    }
    if urlsplit(uri).scheme != "https" or urlsplit(uri).hostname not in hosts:
        return _("Enter an address that begins with https:// and is on the host of one of the redirect URIs.")
    return None


def _check_characters(uri: str) -> None:
    if not uri or len(uri) > LONGEST:
        raise NotRegistrableError(_("Enter a URI of at most 500 characters."))
    if "#" in uri:
        raise NotRegistrableError(_("A fragment (#) is not allowed: the answer itself is carried there."))
    if "*" in uri:
        raise NotRegistrableError(_("Wildcards (*) are not allowed. Register each URI in full."))
    if not _URI_CHARACTERS.fullmatch(uri) or _BAD_ESCAPE.search(uri):
        raise NotRegistrableError(
            _("Use only the characters of a URI: no spaces, control characters or backslashes.")
        )


def _check_web(parts: SplitResult, port: int | None, *, allow_localhost: bool) -> None:
    host = parts.hostname or ""
    if not host or not _is_host(host) or port == 0 or parts.netloc.endswith(":"):
        raise NotRegistrableError(_("The host or port is not valid."))
    if parts.scheme == "https" or host in _LOOPBACK_HOSTS:
        return
    if host != "localhost":
        raise NotRegistrableError(_("Use https. Plain http is only for http://127.0.0.1 and http://[::1]."))
    if not allow_localhost:
        raise NotRegistrableError(_("Use http://127.0.0.1 instead of localhost, or https."))


def _is_host(host: str) -> bool:
    """Whether this is a domain name, or an IP address in its unambiguous notation."""
    if ":" in host:
        return _is_ip_address(host)
    labels = host.split(".")
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
        return _is_ip_address(host)
    return len(host) <= 253 and all(_HOST_LABEL.fullmatch(label) for label in labels)


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host if "%" not in host else "")
    except ValueError:
        return False
    return True


def _check_private_use(parts: SplitResult) -> None:
    if not _REVERSE_DOMAIN.fullmatch(parts.scheme):
        raise NotRegistrableError(
            _("Use https, or an app’s own scheme named after a domain in reverse, such as com.example.app.")
        )
    if not parts.netloc and not parts.path.strip("/"):
        raise NotRegistrableError(
            _("After the scheme there must be a path, such as com.example.app:/callback.")
        )
