"""What an OpenID provider says of itself (OpenID Connect Discovery 1.0 §3, RFC 9126, RFC 9207). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from infra.outbound.targets import TargetError
from infra.outbound.targets import parse as parse_target
from wallet.providers.contract import ProviderError


@dataclass(frozen=True)
class Metadata:
    """The members that this service uses.

    userinfo_endpoint, pushed_endpoint: "" if there is none. names_issuer: whether every response names the
    issuer. evidence: the kinds of evidence that can be given; None if it does not say.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    pushed_endpoint: str
    names_issuer: bool
    takes_claims: bool
    evidence: frozenset[str] | None


def address_of(issuer: str) -> str:
    """Where the metadata of an issuer is (Discovery §4.1)."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def parse(document: Any, *, issuer: str, loopback: bool) -> Metadata:
    """The metadata, if it is that of `issuer`; raises `ProviderError`.

    loopback: endpoints on this machine may be http.
    """
    if not isinstance(document, dict):
        raise ProviderError("The metadata is not an object.")
    if document.get("issuer") != issuer:
        raise ProviderError("The metadata names another issuer.")
    endpoint = partial(_endpoint, document, loopback)
    kinds = document.get("evidence_supported")
    return Metadata(
        issuer=issuer,
        authorization_endpoint=endpoint("authorization_endpoint"),
        token_endpoint=endpoint("token_endpoint"),
        jwks_uri=endpoint("jwks_uri"),
        userinfo_endpoint=endpoint("userinfo_endpoint", needed=False),
        pushed_endpoint=endpoint("pushed_authorization_request_endpoint", needed=False),
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        takes_claims=document.get("claims_parameter_supported") is True,
        evidence=frozenset(k for k in kinds if isinstance(k, str)) if isinstance(kinds, list) else None,
    )


def _endpoint(document: Mapping[str, Any], loopback: bool, name: str, *, needed: bool = True) -> str:
    value = document.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise ProviderError(f"The metadata has no {name}.")
    try:
        parse_target(value, loopback=loopback)
    except TargetError:
        raise ProviderError(f"{name} is not an https address.") from None
    return value
