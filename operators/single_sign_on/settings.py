"""The settings of the operators' OpenID provider; docs/operators.md lists them."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.providers.openid_connect import client as clients
from wallet.providers.openid_connect.client import Registration
from wallet.providers.options import Options

ALGORITHMS = ("ES256", "PS256", "RS256")
PREFIX = "SINGLE_SIGN_ON_FILE: "


@dataclass(frozen=True)
class Settings(Registration):
    """What is set for the provider.

    name: of the provider, on the sign-in page. groups_claim: the claim of the ID token that lists somebody's
    groups. roles: the roles here of each group there. second_factor: values of `acr`, or members of `amr`,
    that prove a second factor; without one of them the operator proves the second factor of this service.
    """

    name: Words
    groups_claim: str
    roles: Mapping[str, frozenset[str]]
    second_factor: frozenset[str]


def read(values: Mapping[str, str], *, loopback: bool) -> Settings:
    """The settings; raises `OptionError`. loopback: whether the provider may be at http on this machine."""
    options = Options(PREFIX, values, own_framework="", loopback=loopback)
    options.address("issuer")
    scope = options.words("scope", "openid profile")
    if "openid" not in scope:
        raise options.error("scope", "must contain openid")
    found = Settings(
        issuer=options.text("issuer"),  # exactly as the provider writes it
        client=clients.read(options),
        name=options.text("name", "") or _("single sign-on"),
        scope=" ".join(scope),
        acr_values=" ".join(options.words("acr_values", "")),
        algorithms=ALGORITHMS,
        groups_claim=options.text("groups_claim", "groups"),
        roles=_roles(options),
        second_factor=frozenset(options.words("second_factor", "")),
        private_network=options.switch("private_network", default=False),
        loopback=options.loopback,
    )
    options.finish()
    return found


def _roles(options: Options) -> Mapping[str, frozenset[str]]:
    roles: dict[str, frozenset[str]] = {}
    for pair in options.text("roles").split(","):
        group, _equals, role = (part.strip() for part in pair.rpartition("="))
        if not group or not role:
            raise options.error("roles", "must be pairs such as staff=Support, with commas between")
        roles[group] = roles.get(group, frozenset()) | {role}
    return roles
