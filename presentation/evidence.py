"""Evidence of a verification: one JSON document that can be checked offline, years later.

It has what was verified, and a statement with the hash of every part, the time and the verdict. It proves
what the operator said. That the person was who they said they were, and the status that day, is its word.
The archive of a client library has the same parts, and no statement.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from cryptography import x509

from infra import strict_json
from infra.published.documents import NothingToPublishError
from infra.strict_json import StrictJsonError
from keys import statements
from keys.issuer_key import CANNOT_SIGN
from keys.jws import JwsError, decode_segment, take_apart
from keys.statements import StatementError
from wallet.providers.other_wallet import statuses
from wallet.providers.other_wallet.statuses import StatusUnknownError
from wallet.sd_jwt import parsing, verification
from wallet.sd_jwt.issuance import SdJwtError, digest
from wallet.status_lists import publication, token

TYP = "verification-statement+jwt"
PARTS = ("presentations", "transaction_data", "certificates", "status_lists")
LONGEST = 4_000_000  # bytes of a document
MOST = 100  # strings of one part


class EvidenceError(Exception):
    """Evidence cannot be given now, or is not genuine; the text says why."""


def document(
    presentations: Sequence[str], transaction_data: Sequence[str], facts: Mapping[str, Any], *, now: datetime
) -> dict[str, Any]:
    """The evidence for presentations whose signatures were verified; raises EvidenceError."""
    tokens = [take_apart(presentation.partition("~")[0]) for presentation in presentations]
    places = [statuses.place_in(decode_segment(jwt.payload_segment)) for jwt in tokens]
    lists = dict.fromkeys(int(place["uri"].rpartition("/")[2]) for place in places if "uri" in place)
    try:
        made = {
            "presentations": list(presentations),
            "transaction_data": list(transaction_data),
            "certificates": list(dict.fromkeys(chain.from_iterable(jwt.header["x5c"] for jwt in tokens))),
            "status_lists": [publication.current(number, fresh=True).decode() for number in lists],
        }
        stated = {**facts, "sha256": _hashes(made)}
        return {**made, "statement": statements.sign(TYP, stated, now=now, with_chain=True)}
    except (NothingToPublishError, *CANNOT_SIGN) as error:
        raise EvidenceError(str(error)) from error


def checked(content: bytes, *roots: x509.Certificate) -> dict[str, Any]:
    """What the statement in a document says, after all of it was checked offline, except the operator's word.

    Each signature leads up to one of `roots`: the service's root, or several that it has had. Without a
    statement, what one would say of the presentations, but no `checks`. Raises EvidenceError.
    """
    try:
        parts = _read(content)
        if "statement" in parts:
            stated = statements.read_offline(parts["statement"], TYP, roots=roots, longest=65_536)
            if stated.get("sha256") != _hashes(parts):
                raise EvidenceError("the statement is about other parts")
        else:
            stated = _unstated(parts)
        if stated.get("valid") is True:
            _repeat(parts, stated, roots)
    except (StrictJsonError, StatementError, SdJwtError, JwsError, StatusUnknownError) as error:
        raise EvidenceError(str(error)) from error
    return stated


def repeats_a_credential(presentations: Collection[str]) -> bool:
    """Whether two present the same credential, each perhaps with other claims. We issue one for each."""
    return len({presentation.partition("~")[0] for presentation in presentations}) < len(presentations)


def _unstated(parts: Mapping[str, list[str]]) -> dict[str, Any]:
    """For whom the presentations were made, unverified, and the time of the newest signature."""
    presented = [parsing.parse(one) for one in parts["presentations"] or [""]]  # none is refused like ""
    signed = [_payload(jwt) for jwt in (*(one.key_binding for one in presented), *parts["status_lists"])]
    iss, iat = _payload(presented[0].jwt).get("iss"), max(signed, key=statements.time_of)["iat"]
    facts = {name: signed[0].get(name) for name in ("aud", "nonce")}
    return facts | {"iss": iss, "iat": iat, "valid": True}


def _payload(token: str) -> dict[str, Any]:
    return decode_segment(take_apart(token, longest=statuses.LONGEST).payload_segment)


def _hashes(parts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: [digest(text) for text in parts[name]] for name in PARTS}


def _read(content: bytes) -> dict[str, Any]:
    if len(content) > LONGEST:
        raise EvidenceError(f"longer than {LONGEST} bytes")
    parts = strict_json.read(content)
    if not isinstance(parts, dict) or not isinstance(parts.get("statement", ""), str):
        raise EvidenceError("no evidence")
    if not parts.keys() <= {*PARTS, "statement"}:
        raise EvidenceError("it has a member that evidence has not")
    for name in PARTS:
        texts = parts.get(name)
        if not isinstance(texts, list) or len(texts) > MOST or not all(isinstance(one, str) for one in texts):
            raise EvidenceError(f"{name} is not a list of at most {MOST} strings")
    return parts


def _repeat(
    parts: Mapping[str, list[str]], stated: Mapping[str, Any], roots: Collection[x509.Certificate]
) -> None:
    """Verifies the signatures, bindings and statuses again, at the time that is stated."""
    at = statements.time_of(stated)
    if repeats_a_credential(parts["presentations"]):
        raise EvidenceError("a credential is presented twice")
    lists = {}
    for text in parts["status_lists"]:
        read = statements.read_offline(text, token.TYP, roots=roots, longest=statuses.LONGEST, at=at)
        lists[str(read.get("sub"))] = read
    left = {*parts["transaction_data"], *parts["certificates"]}
    for one in parts["presentations"]:
        presented = parsing.parse(one)
        hashes = _payload(presented.key_binding).get("transaction_data_hashes")
        data = [value for value in parts["transaction_data"] if digest(value) in (hashes or ())]
        claims = verification.verify(
            one,
            issuer_key=lambda header: statements.vouched_for(header, stated.get("iss"), roots=roots, at=at),
            audience=str(stated.get("aud")),
            nonce=str(stated.get("nonce")),
            now=at,
            transaction_data=data,
        )
        place = statuses.place_in(claims)
        of_it = lists.get(str(place.get("uri")))
        if claims["iss"] != stated["iss"] or not of_it or statuses.status_in(of_it, place, at):
            raise EvidenceError("a presentation is not what the statement says")
        left -= {*data, *take_apart(presented.jwt).header["x5c"]}
    if left:
        raise EvidenceError("no presentation is bound to some of the transaction data or certificates")
