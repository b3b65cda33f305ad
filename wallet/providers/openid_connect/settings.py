"""The settings of one OpenID provider; docs/identity-providers.md lists them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from wallet.credential.evidence import Assurance, EvidenceError
from wallet.providers.openid_connect import client as clients
from wallet.providers.openid_connect.client import Registration
from wallet.providers.options import Options

ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
EVIDENCE = ("document", "electronic_record")
MEMBERS = ("given_name", "family_name", "birth_date", "nationalities")
REQUIRED = ("birth_date",)
NAMES = ("given_name", "family_name")  # one of them is enough
CLAIMED = ("address", "place_of_birth")  # details among the claims; a document is in the evidence


@dataclass(frozen=True)
class Settings(Registration):
    """What an operator has set for one provider.

    identity_assurance: whether claims count only inside `verified_claims`; otherwise all claims of this
    provider count as verified. accepted: the assurances that are sure enough, the lowest first. acr_levels:
    the `acr` values that are sure enough, each with the level that it stands for; None if the ID token may
    have any. claims: the path of each of MEMBERS, and of details, among the provider's claims.
    """

    identity_assurance: bool
    accepted: tuple[Assurance, ...]
    acr_levels: Mapping[str, str] | None
    evidence: tuple[str, ...]
    claims: Mapping[str, tuple[str, ...]]
    organisation: str
    pushed: bool


def read(options: Options, details: Collection[str]) -> Settings:
    """The settings; raises `OptionError`. details: those that the provider is set to verify."""
    options.address("issuer")
    issuer = options.text("issuer")  # exactly as the provider writes it, with its slash if it ends in one
    identity_assurance = options.switch("identity_assurance", default=True)
    acr_values = options.words("acr_values", "")
    acr_levels = _acr_levels(options, acr_values)
    evidence = options.words("evidence", "document")
    evidence = () if evidence == ("none",) else options.some_of("evidence", EVIDENCE, "document")
    if "document" in details and not (identity_assurance and "document" in evidence):
        raise options.error("details", "can have document only with identity assurance and that evidence")
    accepted = _accepted(options)
    if not identity_assurance:
        if len(accepted) > 1:
            raise options.error(
                "assurance", "must be one trust framework and level without identity assurance"
            )
        acr_levels, accepted = _by_acr(options, acr_levels, accepted[0])
    return Settings(
        issuer=issuer,
        client=clients.read(options),
        scope=" ".join(_scope(options, identity_assurance)),
        identity_assurance=identity_assurance,
        accepted=accepted,
        acr_values=" ".join(acr_values),
        acr_levels=acr_levels,
        evidence=evidence,
        claims=_claims(options, [name for name in CLAIMED if name in details]),
        algorithms=options.some_of("algorithms", ALGORITHMS, "ES256 PS256 RS256"),
        organisation=options.text("organisation", "") or urlsplit(issuer).netloc,
        pushed=options.switch("pushed", default=True),
        private_network=options.switch("private_network", default=False),
        loopback=options.loopback,
    )


def _scope(options: Options, identity_assurance: bool) -> tuple[str, ...]:
    scope = options.words("scope", "openid" if identity_assurance else "openid profile")
    if "openid" not in scope:
        raise options.error("scope", "must contain openid")
    return scope


def _acr_levels(options: Options, acr_values: tuple[str, ...]) -> dict[str, str] | None:
    """Values that are separate words, each with "=" and a level or without; "any" accepts every value."""
    words = options.words("acr_accepted", " ".join(acr_values))
    if words in ((), ("any",)):
        return None
    pairs = [word.rpartition("=") if "=" in word else (word, "", "") for word in words]
    if any(not acr for acr, _equals, _level in pairs):
        raise options.error("acr_accepted", "must be values of acr, each alone or with = and a level")
    return {acr: level for acr, _equals, level in pairs}


def _accepted(options: Options) -> tuple[Assurance, ...]:
    texts = [" ".join(text.split()) for text in options.text("assurance").split(",")]
    try:
        return tuple(Assurance.parse(text) for text in texts)
    except EvidenceError:
        raise options.error("assurance", "must be trust frameworks with levels, between commas") from None


def _by_acr(
    options: Options, acr_levels: Mapping[str, str] | None, configured: Assurance
) -> tuple[dict[str, str] | None, tuple[Assurance, ...]]:
    """The level of each `acr`, which is the configured one where none is written, and all assurances."""
    if acr_levels is None:
        return None, (configured,)
    levels = {acr: level or configured.level for acr, level in acr_levels.items()}
    try:
        accepted = [Assurance(configured.trust_framework, level) for level in levels.values()]
    except EvidenceError:
        raise options.error("acr_accepted", "must have levels of visible characters") from None
    return levels, tuple(dict.fromkeys(accepted))


def _claims(options: Options, details: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Where each claim stands; a path of several words leads into an object."""
    defaults = {"birth_date": "birthdate"}
    names = (*MEMBERS, *details)
    paths = {name: options.words(f"claim_{name}", defaults.get(name, name)) for name in names}
    if paths["nationalities"] == ("none",):
        del paths["nationalities"]
    return paths
