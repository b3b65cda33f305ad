"""What a wallet answers (OpenID4VP 1.0 §8), checked in a fixed order. Pure.

Whatever does not belong to the request raises `AnswerError`, and then nothing may change. What does belong to
it, but is of no use here, raises `UnsuitableError`.

The place for PIDs as mdoc: `query` gets a second credential query (`mso_mdoc`, doctype
eu.europa.ec.eudi.pid.1), `_presentation` finds its answer under that query's id, and a sister of `_verified`
checks the DeviceResponse against the same trust anchors. It gives the same `Presented`: nothing else changes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qsl

from jwcrypto.common import JWException
from jwcrypto.jwe import JWE
from jwcrypto.jwk import JWK

from infra import strict_json
from infra.strict_json import StrictJsonError
from keys.jws import JwsError, decode_segment
from wallet.credential.names import is_left_out
from wallet.providers.contract import MessageRefusedError
from wallet.providers.other_wallet import statuses
from wallet.providers.other_wallet.request_objects import CREDENTIAL, DETAILS, ENCRYPTION, VCT
from wallet.providers.other_wallet.transactions import Transaction
from wallet.providers.other_wallet.trust_anchors import Issuer, TrustAnchors, UnknownIssuerError
from wallet.sd_jwt import verification
from wallet.sd_jwt.issuance import SdJwtError

LONGEST = 65_536  # characters of `response`
MOST_FIELDS = 10
FORM = "application/x-www-form-urlencoded"
_COMPACT = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){4}", re.ASCII)
_NATIONAL = re.compile(r"urn:eudi:pid:([a-z]{2}):[0-9]{1,4}", re.ASCII)
REQUIRED = ("birthdate", "nationalities", "issuing_country")
NAMES = ("given_name", "family_name")  # of which one is enough
KEPT = (*NAMES, "birthdate", "nationalities", "date_of_expiry", *DETAILS.values())


class AnswerError(MessageRefusedError):
    """The message does not belong to the request. The text says why and repeats nothing of the message."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The answer was refused: {why}.")


class UnsuitableError(Exception):
    """The answer belongs to the request but verifies nobody; `outcome` is a key of REASONS."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass(frozen=True)
class Presented:
    """The content of a valid PID, whose status is not checked yet."""

    person: Mapping[str, Any] = field(repr=False)
    proof: Mapping[str, Any] = field(repr=False)


def fields(body: bytes, content_type: str) -> Mapping[str, str]:
    """The fields of a form, each of which may occur once. Raises `AnswerError`."""
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise AnswerError("not a form")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise AnswerError("not a form") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise AnswerError("a field is repeated")
    return form


def error_in(sent: Mapping[str, str], transaction: Transaction) -> str:
    """The error with which the wallet answers; "" if it does not. Raises `AnswerError`.

    Errors come unencrypted (§8.3.1): everybody who has seen the request can send one.
    """
    if "error" not in sent:
        return ""
    if "response" in sent or not compare_digest(sent.get("state", "").encode(), transaction.state.encode()):
        raise AnswerError("an error of another request")
    return sent["error"] if re.fullmatch("[a-z_]{1,50}", sent["error"]) else "unknown"


def read(response: str, transaction: Transaction, anchors: TrustAnchors, *, now: datetime) -> Presented:
    """What the wallet presents. Raises `AnswerError` or `UnsuitableError`."""
    answer = _opened(response, transaction)
    state = answer.get("state")
    if state is not None and state != transaction.state:
        raise AnswerError("state is of another request")
    return _verified(_presentation(answer.get("vp_token")), transaction, anchors, now)


def _opened(response: str, transaction: Transaction) -> dict[str, Any]:
    """The decrypted JSON, which must be encrypted to the key of this request."""
    if len(response) > LONGEST or not _COMPACT.fullmatch(response):
        raise AnswerError("not a JWE")
    try:
        header = decode_segment(response.partition(".")[0])
    except JwsError:
        raise AnswerError("not a JWE") from None
    if header.get("alg") != "ECDH-ES" or header.get("enc") not in ENCRYPTION:
        raise AnswerError("alg or enc is none of those that were offered")
    if header.get("kid") != transaction.key.get("kid") or {"zip", "crit"} & header.keys():
        raise AnswerError("not encrypted to the key of this request, or compressed")
    opening = JWE()
    opening.allowed_algs = ["ECDH-ES", *ENCRYPTION]
    try:
        opening.deserialize(response)
        opening.decrypt(JWK(**transaction.key))
        answer = strict_json.read(opening.payload)
    except StrictJsonError:
        raise AnswerError("what was encrypted is not JSON") from None
    except (JWException, ValueError, TypeError, KeyError, AttributeError):
        raise AnswerError("the JWE does not open") from None
    if not isinstance(answer, dict):
        raise AnswerError("what was encrypted is no object")
    return answer


def _presentation(vp_token: Any) -> str:
    """The one presentation that was asked for (§8.1)."""
    if not isinstance(vp_token, dict) or vp_token.keys() != {CREDENTIAL}:
        raise AnswerError("vp_token does not answer the query")
    presentations = vp_token[CREDENTIAL]
    if not isinstance(presentations, list) or len(presentations) != 1:
        raise AnswerError("vp_token does not have one presentation")
    if not isinstance(presentations[0], str):
        raise AnswerError("the presentation is no SD-JWT")
    return presentations[0]


def _verified(token: str, transaction: Transaction, anchors: TrustAnchors, now: datetime) -> Presented:
    """The chain up to an anchor, then signature, disclosures, times and key binding, then the claims."""
    issuers: list[Issuer] = []

    def issuer_key(header: Mapping[str, Any]) -> Any:
        issuers.append(anchors.issuer(header, now))
        return issuers[0].key

    try:
        payload = verification.verify(
            token,
            issuer_key=issuer_key,
            audience=transaction.client_id,
            nonce=transaction.nonce,
            now=now,
            required=("exp", "vct"),  # a PID with x5c needs no `iss`
        )
    except UnknownIssuerError:
        raise UnsuitableError("issuer_unknown") from None
    except SdJwtError as error:
        raise AnswerError(f"presentation: {error}") from None
    _check_type(payload["vct"], issuers[0])
    if any(payload.get(name) in (None, []) for name in REQUIRED) or all(
        is_left_out(payload.get(name)) for name in NAMES
    ):
        raise UnsuitableError("claims_missing")
    if payload["issuing_country"] != issuers[0].country:
        raise AnswerError("issuing_country is not that of the trust anchor")
    person = {name: payload[name] for name in KEPT if name in payload}
    proof = {"country": issuers[0].country, "issuer": issuers[0].name, "status": statuses.place_in(payload)}
    return Presented(person, proof)


def _check_type(vct: Any, issuer: Issuer) -> None:
    """The type that was asked for, or a national one that extends it, of the issuer's own country."""
    national = _NATIONAL.fullmatch(vct) if isinstance(vct, str) else None
    if vct != VCT and (national is None or national[1] != issuer.country.lower()):
        raise AnswerError("vct is not that of a PID of this country")
