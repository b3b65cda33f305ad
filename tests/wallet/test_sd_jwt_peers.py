"""Other implementations, PyPI sd-jwt and npm @sd-jwt/sd-jwt-vc: they accept our tokens, and we theirs."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from jwcrypto.jwk import JWK
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer, SDObj
from sd_jwt.verifier import SDJWTVerifier

from keys.jwk import public_jwk, public_key_of
from tests.wallet.npm_sd_jwt import ISSUER_JWK, npm
from tests.wallet.sd_jwts import AUDIENCE, CLAIMS, EVERYTHING, HOLDER, NONCE, PLAIN, issued, presented
from wallet.sd_jwt import issuance
from wallet.sd_jwt.issuance import Path as ClaimPath
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.verification import verify

# Selected paths, and the claims that they disclose.
SELECTIONS: list[tuple[Sequence[ClaimPath], dict[str, Any]]] = [
    ([], {}),
    (
        [("given_name",), ("age_equal_or_over", "18")],
        {"given_name": "Zoë", "age_equal_or_over": {"18": True}},
    ),
    (EVERYTHING, CLAIMS),
]
selections = pytest.mark.parametrize(("paths", "said"), SELECTIONS, ids=["none", "some", "all"])


@pytest.fixture
def now() -> datetime:
    """The current time, because these packages read the clock themselves."""
    return datetime.now(UTC)


def ours(paths: Sequence[ClaimPath], now: datetime, **options: Any) -> tuple[str, dict[str, Any]]:
    """Our presentation, and its claims that are not selectively disclosable."""
    plain = PLAIN | {"iat": int(now.timestamp()), "exp": int(now.timestamp()) + 3600}
    sd = issuance.select(issued(plain | issuance.all_withheld(CLAIMS)), paths)
    return presented(sd, now=now, **options), plain


def pypi(token: str, audience: str = AUDIENCE, nonce: str = NONCE) -> dict[str, Any]:
    key = JWK(**ISSUER_JWK)
    return SDJWTVerifier(token, lambda *_: key, audience, nonce).get_verified_payload()


@selections
def test_pypi_sd_jwt_takes_our_presentation(paths: Any, said: dict[str, Any], now: datetime):
    token, plain = ours(paths, now)
    assert pypi(token) == plain | said


def test_pypi_sd_jwt_refuses_our_presentation_to_others(now: datetime):
    token, _ = ours([], now)
    for wrong in ({"audience": "corner-shop"}, {"nonce": NONCE + "x"}):
        with pytest.raises(ValueError, match="(?i)invalid (audience|nonce)"):
            pypi(token, **wrong)


@pytest.mark.node
@selections
def test_npm_sd_jwt_vc_takes_our_presentation(paths: Any, said: dict[str, Any], now: datetime):
    token, plain = ours(paths, now, transaction_data=["eyJ4IjoxfQ"])
    result = npm(token)
    assert result["payload"] == plain | said
    assert result["header"] == {"alg": "ES256", "typ": "dc+sd-jwt"}
    assert result["kb"]["header"] == {"alg": "ES256", "typ": "kb+jwt"}
    assert result["kb"]["payload"]["transaction_data_hashes"] == [issuance.digest("eyJ4IjoxfQ")]


@pytest.mark.node
def test_npm_sd_jwt_vc_refuses_our_presentation_when_anything_is_wrong(now: datetime):
    token, _ = ours([("given_name",)], now)
    unbound, binding = token[: token.rindex("~") + 1], token[token.rindex("~") + 1 :]
    other = public_jwk(HOLDER.public_key)
    wrong: list[tuple[str, dict[str, Any]]] = [
        (token, {"nonce": NONCE + "x"}),
        (token, {"aud": "corner-shop"}),
        (token, {"issuer": other}),
        (unbound, {}),
        (unbound.split("~")[0] + "~" + binding, {}),
    ]
    for changed, options in wrong:
        with pytest.raises(ValueError):
            npm(changed, **options)


@selections
def test_we_take_the_presentation_of_pypi_sd_jwt(paths: Any, said: dict[str, Any], now: datetime):
    issuer, holder = (JWK.generate(kty="EC", crv="P-256") for _ in range(2))
    plain = {**PLAIN, "iat": int(now.timestamp()), "exp": int(now.timestamp()) + 3600}
    del plain["cnf"]
    claims = {
        SDObj("given_name"): "Zoë",
        SDObj("age_equal_or_over"): {SDObj("18"): True, SDObj("65"): False},
        SDObj("nationalities"): [SDObj("IE"), SDObj("ES")],
    }
    made = SDJWTIssuer(
        plain | claims, issuer, holder, add_decoy_claims=True, extra_header_parameters={"typ": "dc+sd-jwt"}
    )
    presentation = SDJWTHolder(made.sd_jwt_issuance)
    wanted = said | ({"age_equal_or_over": dict.fromkeys(said["age_equal_or_over"], True)} if said else {})
    wanted |= {"nationalities": [True, True]} if "nationalities" in said else {}
    presentation.create_presentation(wanted, NONCE, AUDIENCE, holder)
    token = presentation.sd_jwt_presentation
    facts = {"issuer_key": public_key_of(json.loads(issuer.export_public())), "nonce": NONCE, "now": now}
    payload = verify(token, audience=AUDIENCE, **facts)
    cnf = payload.pop("cnf")
    assert cnf["jwk"]["x"] == json.loads(holder.export_public())["x"]
    assert payload == plain | said
    with pytest.raises(SdJwtError):
        verify(token, audience="corner-shop", **facts)
