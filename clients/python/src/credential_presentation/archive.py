"""`verify_archive`: checks evidence years later with nothing but root certificates, without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from credential_presentation.certificates import PEM, Roots
from credential_presentation.errors import demand
from credential_presentation.jose import Jwt, PublicKey, digest, read_json, whole_number
from credential_presentation.verification import Pending, Presentation, verify

PARTS = ("presentations", "transaction_data", "certificates", "status_lists")
MOST = 100  # strings of a part


@dataclass(frozen=True, repr=False)
class Archived:
    """A genuine archive: at `time`, `issuer` showed `client_id` that a person has these `claims`.

    Compare `client_id` and `nonce` with your records. `stated`: the service itself states the verification.
    """

    issuer: str
    client_id: str
    nonce: str
    time: int  # seconds since 1970
    claims: list[dict[str, Any]]  # of each presentation
    stated: bool


def verify_archive(document: str | bytes, root: PEM | Sequence[PEM]) -> Archived:
    """Checks `Result.archive()`, or the `evidence` of the service's verification. Raises `Rejected`.

    `root` is the root certificate (PEM), or all roots that the service has had. All is checked at one time:
    that of the service's statement or, without one, of the newest signature.
    """
    parts, roots = read_json(document, dict), Roots(root)
    demand(parts.keys() <= {*PARTS, "statement"}, "structure", "it has a member that evidence has not")
    for part in map(parts.get, PARTS):
        fits = isinstance(part, list) and len(part) <= MOST and all(isinstance(text, str) for text in part)
        demand(fits, "structure", "a part is not a list of strings")
    presentations, data, certificates, status_lists = map(parts.__getitem__, PARTS)
    given, lists = list(map(Presentation, presentations)), list(map(Jwt, status_lists))
    demand(given, "structure", "there is no presentation")
    # The service issues a credential for one presentation. Shown twice, it would give two sets of claims.
    issued = {presentation.jwt.signed for presentation in given}
    demand(len(issued) == len(given), "structure", "a credential is presented twice")
    statement = Jwt(parts["statement"]) if "statement" in parts else None
    signed = [statement] if statement else [*lists, *(presentation.binding for presentation in given)]
    now = max(whole_number(presentation.payload.get("iat")) or 0 for presentation in signed)
    demand(0 < now < 2**33, "structure", "a time is not possible")
    said = given[0].binding.payload
    facts = [given[0].jwt.payload.get("iss"), said.get("aud"), said.get("nonce")]
    issuer, client_id, nonce = map(str, facts)

    def key_of(jwt: Jwt) -> PublicKey:
        return roots.key_of(jwt, issuer, now)

    if statement:
        statement.verify(key_of(statement), "verification-statement+jwt", "statement")
        hashes = {name: [digest(text) for text in parts[name]] for name in PARTS}
        stated = [statement.payload.get(name) for name in ("iss", "aud", "nonce", "valid", "sha256")]
        demand(stated == [*facts, True, hashes], "statement", "the service stated something else")
    by_address = {str(jwt.payload.get("sub")): text for jwt, text in zip(lists, status_lists, strict=True)}
    claims, bound = [], set[str]()
    for presentation in given:
        hashed = presentation.binding.payload.get("transaction_data_hashes")
        its_data = [text for text in data if isinstance(hashed, list) and digest(text) in hashed]
        request = Pending(issuer, client_id, nonce, None, its_data)
        disclosed, status_list = verify(
            presentation, request, key_of, now, lambda uri: by_address.get(uri, "")
        )
        claims.append(disclosed)
        bound.update(its_data, presentation.jwt.header["x5c"], [status_list])
    # A list that nobody verified could move `now`.
    demand(bound >= {*data, *certificates, *status_lists}, "transaction-data", "no presentation needs a part")
    return Archived(issuer, client_id, nonce, now, claims, statement is not None)
