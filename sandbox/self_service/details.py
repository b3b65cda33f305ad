"""The rules for what a developer chooses for a relying party, beyond those for all.

The model checks the rules that apply to all relying parties.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.models import RelyingParty
from sandbox.self_service import assumed_names

MOST_URIS = 10  # of each kind


def check(owner: str, details: Mapping[str, Any]) -> None:
    """Raise ValidationError, by field, for a name or an address that this owner may not use."""
    errors: dict[str, Words] = {}
    registered = RelyingParty.objects.filter(self_registration=None).values_list("name", flat=True)
    if problem := assumed_names.problem_with(details["name"], registered):
        errors["name"] = problem
    if not details["redirect_uris"]:
        errors["redirect_uris"] = _("Name at least one redirect URI.")
    elif problem := _problem_with(owner, details["redirect_uris"], local=True):
        errors["redirect_uris"] = problem
    # Loopback targets are allowed only when the sandbox runs on the developer's own machine.
    for field, called in (
        ("response_uris", details["response_uris"]),
        ("request_uri_prefix", _one(details["request_uri_prefix"])),
        ("webhook_url", _one(details["webhook_url"])),
    ):
        if problem := _problem_with(owner, called, local=settings.LOOPBACK_CALLS):
            errors[field] = problem
    if details["webhook_url"] and not details["webhook_events"]:
        errors["webhook_events"] = _("Choose at least one event, or leave out the address for webhooks.")
    if errors:
        raise ValidationError({field: [problem] for field, problem in errors.items()})


def _one(address: str) -> list[str]:
    return [address] if address else []


# Why an address is refused: whether this sandbox sends mail, and whether one on the own machine would do.
_REFUSED = {
    (False, False): _(
        "This sandbox sends no mail and cannot check who owns an address: only its operator can register one "
        "that it calls."
    ),
    (False, True): _(
        "This sandbox sends no mail and cannot check who owns an address. Use an http:// or https:// address "
        "on your own machine, such as http://127.0.0.1:5000/callback; for others ask the operator."
    ),
    (True, False): _("Use addresses under the domain of your e-mail address. For others ask the operator."),
    (True, True): _(
        "Use addresses on your own machine, such as http://127.0.0.1:5000/callback, or under the domain of "
        "your e-mail address. For others ask the operator."
    ),
}


def _problem_with(owner: str, addresses: Sequence[str], *, local: bool) -> Words | None:
    if len(addresses) > MOST_URIS:
        return _("Name at most 10.")
    foreign = [address for address in addresses if not (local and is_local(address))]
    if sends_mail := bool(settings.DEVELOPER_EMAIL_BACKEND):
        domain = owner.rpartition("@")[2]
        foreign = [address for address in foreign if not is_under(address, domain)]
    return _REFUSED[sends_mail, local] if foreign else None


LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_local(uri: str) -> bool:
    """Whether `uri` is on the machine of the browser that opens it."""
    parts = _parts(uri)
    return parts.scheme in ("http", "https") and (parts.hostname or "") in LOOPBACK


def is_under(uri: str, domain: str) -> bool:
    """Whether the host of `uri` is `domain` or below it."""
    parts = _parts(uri)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https"):  # a reversed domain name (RFC 8252 §7.1)
        host = ".".join(reversed(parts.scheme.split(".")))
    return host == domain or host.endswith("." + domain)


def _parts(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        return urlsplit("")
