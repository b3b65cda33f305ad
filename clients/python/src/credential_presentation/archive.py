"""`verify_archive`: checks evidence years later with nothing but the root certificate, and without a network."""

from dataclasses import dataclass, field
from typing import Any

from credential_presentation.certificates import certified_key, read_root
from credential_presentation.errors import demand
from credential_presentation.jose import Jwt, digest, read_json, whole_number
from credential_presentation.verification import Pending, Presentation, check_status, verify

PARTS = ("presentations", "transaction_data", "certificates", "status_lists")
LONGEST, MOST = 4_000_000, 100  # characters of a document, and strings of a part


@dataclass(frozen=True)
class Archived:
    """What a genuine archive proves: `issuer` said at `time` for `client_id` that a person has these `claims`.

    Compare `client_id` and `nonce` with your records. `stated`: the service itself stated the verification.
    """

    issuer: str
    client_id: str
    nonce: str
    time: int  # seconds since 1970
    claims: list[dict[str, Any]] = field(repr=False)  # of each presentation
    stated: bool


def verify_archive(document: str | bytes, *, root: str | bytes) -> Archived:
    """Checks `Result.archive()` or the `evidence` of the service's verification. Raises `Rejected`.

    All is checked at one time: that of the service's statement or, without one, of the newest signature.
    """
    demand(len(document) <= LONGEST, "structure", "the document is too long")
    parts, trusted = read_json(document), read_root(root)
    lists = [parts.get(name) for name in PARTS] if isinstance(parts, dict) else [None]
    texts = all(isinstance(each, list) and len(each) <= MOST and all(map(_is_text, each)) for each in lists)
    demand(texts and lists[0], "structure", "a part is not a list of strings")
    given = [Presentation(text) for text in parts["presentations"]]
    status_lists = {str(Jwt(text).payload.get("sub")): text for text in parts["status_lists"]}
    signed = [*(each.binding for each in given), *map(Jwt, status_lists.values())]
    statement = Jwt(parts["statement"]) if "statement" in parts else None
    said = given[0].binding.payload
    facts = (given[0].jwt.payload.get("iss"), said.get("aud"), said.get("nonce"))
    times = [whole_number(each.payload.get("iat")) or 0 for each in ([statement] if statement else signed)]
    issuer, client_id, nonce, now = *map(str, facts), max(times)
    demand(0 < now < 2**33, "structure", "a time is not possible")

    def key_of(jwt: Jwt) -> Any:
        return certified_key(jwt, issuer, trusted, now)

    if statement:
        statement.verify(key_of(statement), "statement")
        hashes = {name: [digest(text) for text in parts[name]] for name in PARTS}
        expected = ("verification-statement+jwt", True, hashes, *facts)
        names = ("valid", "sha256", "iss", "aud", "nonce")
        stated = (statement.header.get("typ"), *map(statement.payload.get, names))
        demand(stated == expected, "statement", "the service stated something else")
    claims, bound = [], set()
    for each in given:
        hashed = each.binding.payload.get("transaction_data_hashes")
        data = [
            text for text in parts["transaction_data"] if isinstance(hashed, list) and digest(text) in hashed
        ]
        request = Pending(issuer, client_id, nonce, None, data)
        claims.append(verify(each, request, key_of, now))
        check_status(each, request, key_of, now, lambda uri: status_lists.get(uri, ""))
        bound |= {*data, *each.jwt.header["x5c"]}
    others = {*parts["transaction_data"], *parts["certificates"]} - bound
    demand(not others, "transaction-data", "no presentation is bound to a part")
    return Archived(issuer, client_id, nonce, now, claims, statement is not None)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isascii()
