"""Reading what an OpenID provider says: verified claims, people, documents, keys, tokens and metadata."""

import copy
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

from infra import base64url
from tests.wallet.providers.openid_providers import client_key
from wallet.credential.claims import IdentityError
from wallet.credential.evidence import Assurance, EvidenceError
from wallet.providers.contract import ProviderError
from wallet.providers.findings import Failed, NeedsReview, NotHere, Verified
from wallet.providers.openid_connect import (
    findings,
    metadata,
    people,
    provider,
    signed_tokens,
    verified_claims,
)
from wallet.providers.openid_connect import settings as settings_module
from wallet.providers.openid_connect.discovery import KeySet
from wallet.providers.openid_connect.findings import Told
from wallet.providers.openid_connect.signed_tokens import Opened, TokenError
from wallet.providers.openid_connect.verified_claims import ClaimsMissingError, TooLowError
from wallet.providers.options import OptionError, Options

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SUBSTANTIAL, HIGH = Assurance("eidas", "substantial"), Assurance("eidas", "high")
REQUIRED = [("given_name",), ("family_name",), ("birthdate",)]
CLAIMS = {"given_name": "Ada", "family_name": "Byron", "birthdate": "1990-12-10"}
ELEMENT = {
    "verification": {
        "trust_framework": "eidas",
        "assurance_level": "substantial",
        "time": "2026-04-01T10:00+02:00",
        "evidence": [
            {
                "type": "document",
                "check_details": [{"check_method": "vpip", "organization": "The Bank"}],
                "document_details": {
                    "type": "passport",
                    "document_number": "C01X00T47",
                    "issuer": {"country_code": "DEU"},
                    "date_of_expiry": "2030-01-01",
                },
            }
        ],
    },
    "claims": CLAIMS,
}


def element(**verification: Any) -> dict[str, Any]:
    """ELEMENT with another `verification`; None takes a member away."""
    made = copy.deepcopy(ELEMENT)
    changed = {**made["verification"], **verification}
    made["verification"] = {name: value for name, value in changed.items() if value is not None}
    return made


def chosen(value: Any, accepted: Any = (SUBSTANTIAL, HIGH)) -> verified_claims.VerifiedClaims:
    return verified_claims.choose(verified_claims.parse(value), accepted, REQUIRED, now=NOW)


def settings_with(details: Any = (), **changes: str) -> settings_module.Settings:
    values = {
        "issuer": "https://bank.example",
        "client_id": "us",
        "client_secret": "secret",
        "assurance": "eidas substantial, eidas high",
    }
    options = Options("bank.", values | changes, own_framework="https://id.example/assurance")
    return settings_module.read(options, details)


# --- verified_claims ---------------------------------------------------------------------------------------


def test_one_object_and_an_array_of_one_are_the_same() -> None:
    assert verified_claims.parse(ELEMENT) == verified_claims.parse([ELEMENT])
    verified = chosen(ELEMENT)
    assert (verified.claims, verified.assurance) == (CLAIMS, SUBSTANTIAL)
    assert verified.verified_at == datetime(2026, 4, 1, 8, tzinfo=UTC)


NONSENSE = {
    "nothing": None,
    "a text": "verified",
    "an empty array": [],
    "no verification": {"claims": CLAIMS},
    "no claims": {"verification": ELEMENT["verification"]},
    "claims that are a list": {**ELEMENT, "claims": [CLAIMS]},
    "no framework": element(trust_framework=None),
    "a framework that is a number": element(trust_framework=1),
    "a framework with spaces": element(trust_framework="e idas"),
    "a level that is a list": element(assurance_level=["high"]),
    "a time without a zone": element(time="2026-04-01T10:00:00"),
    "a time that is a number": element(time=1),
    "a day that does not exist": element(time="2026-02-30T10:00:00Z"),
}


@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
def test_what_makes_no_sense_is_left_out(value: Any) -> None:
    assert verified_claims.parse(value) == ()
    with pytest.raises(ClaimsMissingError):
        chosen(value)
    assert chosen([value, ELEMENT]).claims == CLAIMS


def test_the_highest_accepted_assurance_is_chosen() -> None:
    high = element(assurance_level="high") | {"claims": {**CLAIMS, "given_name": "Augusta"}}
    for order in ([ELEMENT, high], [high, ELEMENT]):
        verified = chosen(order)
        assert (verified.claims["given_name"], verified.assurance) == ("Augusta", HIGH)


TOO_LOW = {
    "a lower level": element(assurance_level="low"),
    "no level": element(assurance_level=None),
    "the level of another framework": element(trust_framework="uk_diatf", assurance_level="high"),
    "a time to come": element(time="2026-05-01T12:06:00Z"),
}


@pytest.mark.parametrize("value", TOO_LOW.values(), ids=TOO_LOW.keys())
def test_what_was_not_verified_well_enough_is_told_apart(value: Any) -> None:
    with pytest.raises(TooLowError):
        chosen(value)


def test_a_framework_without_levels_is_accepted_with_any() -> None:
    aml = Assurance("de_aml")
    for level in (None, "whatever"):
        assert chosen(element(trust_framework="de_aml", assurance_level=level), (aml,)).assurance == aml


@pytest.mark.parametrize("gone", ["given_name", "family_name", "birthdate"])
def test_claims_of_two_elements_are_never_put_together(gone: str) -> None:
    first = {**ELEMENT, "claims": {name: value for name, value in CLAIMS.items() if name != gone}}
    second = {**ELEMENT, "claims": {gone: CLAIMS[gone]}}
    with pytest.raises(ClaimsMissingError):
        chosen([first, second])


def test_only_so_many_elements_are_looked_at() -> None:
    low = element(assurance_level="low")
    assert chosen([low] * 19 + [ELEMENT]).assurance == SUBSTANTIAL
    with pytest.raises(TooLowError):
        chosen([low] * 20 + [ELEMENT])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def changed(draw: Any, whole: Any) -> Any:
    """`whole` with a value somewhere in it replaced by another, or taken away."""
    made = copy.deepcopy(whole)
    place = made
    for _level in range(draw(st.integers(0, 5))):
        inner = [
            v
            for v in (place.values() if isinstance(place, dict) else place)
            if v and isinstance(v, (dict, list))
        ]
        if not inner:
            break
        place = draw(st.sampled_from(inner))
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = draw(st.sampled_from(keys))
    if draw(st.booleans()):
        place[key] = draw(json_values)
    else:
        del place[key]
    return made


USERINFO = {"sub": "1", "verified_claims": [element(assurance_level="low"), ELEMENT]}
TODAY = NOW.date()


@given(changed(USERINFO))
def test_whatever_a_provider_says_there_is_a_finding(userinfo: dict[str, Any]) -> None:
    finding = findings.of_claims(Told({"sub": "1"}, userinfo), settings_with(), now=NOW)
    assert isinstance(finding, (Verified, NeedsReview, NotHere))
    if isinstance(finding, Verified):
        assert finding.evidence.assurance in (SUBSTANTIAL, HIGH)
        assert finding.identity.birth_date <= TODAY


@given(json_values)
def test_any_json_at_all_in_its_place_is_read(value: Any) -> None:
    finding = findings.of_claims(
        Told({"verified_claims": value}, value if isinstance(value, dict) else {}), settings_with(), now=NOW
    )
    assert finding == NotHere("claims_missing") or finding == NotHere("too_low")


def test_plain_claims_never_count_where_verified_ones_are_needed() -> None:
    told = Told({**CLAIMS, "sub": "1"}, {**CLAIMS, "sub": "1"})
    assert findings.of_claims(told, settings_with(), now=NOW) == NotHere("claims_missing")


def test_verified_claims_count_in_the_id_token_as_well() -> None:
    finding = findings.of_claims(Told({"verified_claims": ELEMENT}), settings_with(), now=NOW)
    assert isinstance(finding, Verified)
    assert finding.evidence.document_number == "C01X00T47"
    assert (finding.evidence.document_kind, finding.evidence.issuing_country) == ("passport", "DE")


PLACES = {
    "address": {"street_address": "1 Main St\r\nFlat 2", "locality": "Cork", "country": "IRL"},
    "place_of_birth": {"country": "D", "locality": "Bonn"},
}


def test_details_are_read_where_the_provider_is_set_to_verify_them() -> None:
    told = Told({"verified_claims": {**ELEMENT, "claims": {**CLAIMS, **PLACES}}})
    nothing = findings.of_claims(told, settings_with(), now=NOW)
    assert isinstance(nothing, Verified)
    assert nothing.identity.details == {}

    both = settings_with(("address", "place_of_birth"))
    finding = findings.of_claims(told, both, now=NOW)
    assert isinstance(finding, Verified)
    assert finding.identity.details == {
        "address": {
            "formatted": "1 Main St\nFlat 2\nCork\nIreland",
            "street_address": "1 Main St\nFlat 2",
            "locality": "Cork",
            "country": "IE",
        },
        "place_of_birth": {"locality": "Bonn", "country": "DE"},
    }
    found = metadata.parse(DOCUMENT, issuer="https://bank.example/", loopback=False)
    asked = provider.claims_request(both, found)["userinfo"]["verified_claims"]["claims"]
    assert asked.keys() >= {"address", "place_of_birth"}


def test_details_may_stand_elsewhere_and_need_not_make_sense() -> None:
    elsewhere = settings_with(("address",), claim_address="home postal")
    for value, found in (
        ({"locality": "Cork"}, "Cork"),
        ("Cork", None),
        ({"locality": 7}, None),
        (None, None),
    ):
        told = Told({"verified_claims": {**ELEMENT, "claims": {**CLAIMS, "home": {"postal": value}}}})
        finding = findings.of_claims(told, elsewhere, now=NOW)
        assert isinstance(finding, Verified)
        assert finding.identity.details.get("address", {}).get("locality") == found


@pytest.mark.parametrize("changes", [{"identity_assurance": "false"}, {"evidence": "electronic_record"}])
def test_a_document_can_be_verified_only_by_evidence_that_is_asked_for(changes: dict[str, str]) -> None:
    once = {"assurance": "eidas low", **changes}
    assert settings_with(("document",)).evidence == ("document",)
    assert settings_with(("address",), **once)
    with pytest.raises(OptionError, match=r"bank\.details can have document only"):
        settings_with(("document",), **once)


def test_a_provider_whose_claims_have_other_names_is_mapped() -> None:
    plain = settings_with(
        identity_assurance="false",
        assurance="eidas low",
        acr_accepted="eidas1 eidas2=substantial",
        claim_given_name="civil first",
        claim_nationalities="citizenship",
    )
    assert plain.accepted == (Assurance("eidas", "low"), SUBSTANTIAL)
    claims = {
        "civil": {"first": "Ada"},
        "family_name": "Byron",
        "birthdate": "1990-12-10",
        "citizenship": "FRA",
    }
    for acr, level in {"eidas1": "low", "eidas2": "substantial"}.items():
        finding = findings.of_claims(Told({"acr": acr}, claims), plain, now=NOW)
        assert isinstance(finding, Verified)
        assert (finding.identity.given_name, finding.identity.nationalities) == ("Ada", ("FR",))
        assert finding.evidence.assurance == Assurance("eidas", level)
    for acr in ("eidas3", None, ["eidas1"]):
        assert findings.of_claims(Told({"acr": acr}, claims), plain, now=NOW) == NotHere("too_low")


def test_a_verification_is_never_recorded_for_a_time_to_come() -> None:
    """Clocks differ."""
    ahead = {"verified_claims": element(time="2026-05-01T12:03:00Z")}
    finding = findings.of_claims(Told({}, ahead), settings_with(), now=NOW)
    assert isinstance(finding, Verified)
    assert finding.evidence.verified_at == NOW


def test_a_framework_without_levels_is_asked_for_without_one() -> None:
    found = metadata.parse(DOCUMENT, issuer="https://bank.example/", loopback=False)
    asked = provider.claims_request(settings_with(assurance="de_aml, eidas high", evidence="none"), found)
    aml, eidas = (each["verification"] for each in asked["userinfo"]["verified_claims"])
    assert aml == {"trust_framework": {"value": "de_aml"}, "time": None, "assurance_level": None}
    assert eidas["assurance_level"] == {"values": ["high"]}


def test_evidence_that_the_provider_does_not_have_is_not_asked_for() -> None:
    found = metadata.parse(DOCUMENT, issuer="https://bank.example/", loopback=False)
    asked = provider.claims_request(settings_with(evidence="document electronic_record"), found)
    [kind] = asked["userinfo"]["verified_claims"]["verification"]["evidence"]
    assert kind["type"] == {"value": "document"}


def test_without_userinfo_the_claims_are_asked_for_in_the_id_token() -> None:
    document = {name: value for name, value in DOCUMENT.items() if name != "userinfo_endpoint"}
    found = metadata.parse(document, issuer="https://bank.example/", loopback=False)
    assert provider.claims_request(settings_with(), found).keys() == {"id_token"}


def test_an_unknown_error_is_the_provider_s_fault() -> None:
    assert findings.of_error("temporarily_unavailable") == Failed()
    assert findings.of_error("access_denied") == NotHere("stopped")


# --- People and documents ----------------------------------------------------------------------------------

COUNTRIES = {
    "USA": "US",
    "DEU": "DE",
    "D": "DE",
    "GBR": "GB",
    "GBD": "GB",
    "RKS": "XK",
    "FR": "FR",
    "QQ": None,
    "ZZ": None,
    "EUE": None,
    "XXX": None,
    "SUN": None,
    "us": None,
    "": None,
    "UNITED": None,
    7: None,
}


@pytest.mark.parametrize("code", COUNTRIES)
def test_countries_are_known_by_two_and_by_three_letters(code: Any) -> None:
    assert people.country(code) == COUNTRIES[code]


def test_people_without_a_nationality_have_none() -> None:
    paths = settings_with().claims
    for value in (None, [], "XXA", ["QS"], ["QU"]):
        assert people.identity({**CLAIMS, "nationalities": value}, paths, today=TODAY).nationalities == ()


@pytest.mark.parametrize(
    "birth_date",
    [
        "0000",
        "199",
        "19901210",
        "1990-W50-1",
        1990,
        None,
        "1990-12-10T00:00",
        "1990-13",
        "2026-05-02",
        "2999",
        "0000-12-10",
    ],
)
def test_what_is_no_birth_date_is_refused(birth_date: Any) -> None:
    with pytest.raises(IdentityError):
        people.identity({**CLAIMS, "birthdate": birth_date}, settings_with().claims, today=TODAY)


@pytest.mark.parametrize("value", [[["FR"]], [{}], {"FR": 1}, [None], 7])
def test_nationalities_of_another_kind_are_refused(value: Any) -> None:
    with pytest.raises(IdentityError):
        people.identity({**CLAIMS, "nationalities": value}, settings_with().claims, today=TODAY)


@pytest.mark.parametrize("value", [[], {}, None, 7, "tablet"])
def test_a_document_of_an_unknown_kind_is_another_one(value: Any) -> None:
    details = {"type": value, "document_number": value, "issuer": {"country_code": value}}
    document = people.document([{"type": "document", "document_details": details}])
    assert (document["document_kind"], document["issuing_country"]) == ("other", "")


def test_drafts_of_the_specification_are_read_as_well() -> None:
    """Providers that began with a draft write `id_document`, `document`, `number` and `country`."""
    old = {
        "type": "id_document",
        "document": {
            "type": "idcard",
            "number": "123",
            "issuer": {"country": "IT"},
            "date_of_expiry": "2030-01-01",
        },
    }
    assert people.document([{"type": "utility_bill"}, old]) == {
        "document_kind": "idcard",
        "issuing_country": "IT",
        "document_number": "123",
        "document_expires_on": date(2030, 1, 1),
    }


def test_a_record_has_an_end_and_is_no_document() -> None:
    record = {"type": "electronic_record", "record": {"type": "bank_account", "date_of_expiry": "2030-01-01"}}
    document = people.document([record])
    assert document == {"document_expires_on": date(2030, 1, 1)}


def test_an_end_that_cannot_be_read_is_not_taken_for_none() -> None:
    with pytest.raises(EvidenceError):
        people.document([{"type": "document", "document_details": {"date_of_expiry": "31.12.2030"}}])


# --- Keys and tokens ---------------------------------------------------------------------------------------

EC, RSA = ECKey.generate_key("P-256"), RSAKey.generate_key(2048)
GOOD = {
    "iss": "https://bank.example",
    "aud": "us",
    "sub": "person",
    "nonce": "n",
    "exp": NOW.timestamp() + 60,
    "iat": NOW.timestamp(),
}


def jwk(key: Any, **more: Any) -> dict[str, Any]:
    return {**key.as_dict(private=False), **more}


def signed(claims: Any, key: Any = EC, alg: str = "ES256", **header: Any) -> str:
    return jws.serialize_compact({"alg": alg, **header}, json.dumps(claims), key, algorithms=[alg])


def test_a_key_is_found_by_its_name_and_its_kind() -> None:
    keys = KeySet(
        {"keys": [jwk(EC, kid="a"), jwk(RSA, kid="a"), jwk(RSA, kid="b", use="enc"), "x", {"kty": "EC"}]}
    )
    assert signed_tokens.opened(signed(GOOD, kid="a"), keys.fitting, ["ES256"]).claims == GOOD
    assert signed_tokens.opened(signed(GOOD, RSA, "RS256"), keys.fitting, ["RS256"]).claims == GOOD
    assert keys.fitting("b", "RS256") is None
    assert keys.fitting("a", "HS256") is None


def test_a_key_is_used_with_its_own_algorithm_only() -> None:
    keys = KeySet({"keys": [jwk(RSA, alg="PS256")]})
    assert keys.fitting(None, "PS256") is not None
    assert keys.fitting(None, "RS256") is None
    with pytest.raises(TokenError, match="algorithm"):
        signed_tokens.opened(signed(GOOD, RSA, "PS256"), keys.fitting, ["RS256"])


def test_a_short_key_is_left_out() -> None:
    short = rsa.generate_private_key(65537, 1024).public_key().public_numbers().n
    modulus = base64url.encode(short.to_bytes(128, "big"))
    assert KeySet({"keys": [jwk(RSA) | {"n": modulus}]}).fitting(None, "RS256") is None


def test_two_keys_that_fit_are_one_too_many() -> None:
    other = ECKey.generate_key("P-256")
    keys = KeySet({"keys": [jwk(EC, kid="a"), jwk(other, kid="b")]})
    assert keys.fitting(None, "ES256") is None
    assert keys.fitting("b", "ES256") is not None


@given(changed({"keys": [jwk(EC, kid="a", alg="ES256", use="sig"), jwk(RSA, kid="b")]}))
def test_whatever_a_key_set_holds_it_is_read(document: Any) -> None:
    KeySet(document).fitting("a", "ES256")


@given(json_values)
def test_what_is_no_key_set_has_no_keys(document: Any) -> None:
    assert KeySet(document).fitting(None, "ES256") is None


SIGNED = signed(GOOD, kid="a")


@given(st.integers(0, len(SIGNED) - 1), st.characters(max_codepoint=127), st.booleans())
def test_a_changed_token_is_never_opened(place: int, character: str, cut: bool) -> None:
    text = SIGNED[:place] if cut else SIGNED[:place] + character + SIGNED[place + 1 :]
    keys = KeySet({"keys": [jwk(EC, kid="a")]})
    if text != SIGNED:
        with pytest.raises(TokenError):
            signed_tokens.opened(text, keys.fitting, ["ES256"])


@pytest.mark.parametrize(
    "header",
    [
        '{"alg":"ES256","alg":"ES256"}',
        '{"alg":"ES256","b64":false,"crit":["b64"]}',
        '{"alg":"ES256","crit":["x"],"x":1}',
    ],
)
def test_an_ambiguous_header_is_refused_though_its_signature_is_good(header: str) -> None:
    start = ".".join(base64url.encode(part) for part in (header.encode(), json.dumps(GOOD).encode()))
    number = decode_dss_signature(EC.private_key.sign(start.encode(), ec.ECDSA(SHA256())))
    signature = base64url.encode(b"".join(part.to_bytes(32, "big") for part in number))
    with pytest.raises(TokenError):
        signed_tokens.opened(f"{start}.{signature}", KeySet({"keys": [jwk(EC)]}).fitting, ["ES256"])


@pytest.mark.parametrize(
    "token", [SIGNED + "=", None, 1, "", "é", "a.b", "a.b.c", "e30.e30.", "W10.W10.AAAA", "." * 5000]
)
def test_what_is_no_token_is_refused(token: Any) -> None:
    with pytest.raises(TokenError):
        signed_tokens.opened(token, KeySet({"keys": [jwk(EC)]}).fitting, ["ES256"])


WRONG = {
    "iss": ["https://evil.example", None, 1],
    "aud": ["else", ["us", "else"], ["us", "us"], [], None],
    "azp": ["else", None],
    "nonce": ["m", None, ""],
    "exp": [NOW.timestamp() - 61, "2999", None, True],
    "iat": [1, NOW.timestamp() - 601, NOW.timestamp() + 61, None, "now"],
    "sub": ["", None, 7],
    "at_hash": ["x", None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_each_claim_of_an_id_token_is_checked(name: str, value: Any) -> None:
    def check(claims: Any) -> None:
        signed_tokens.check_id_token(
            Opened("ES256", claims),
            issuer="https://bank.example",
            client_id="us",
            nonce="n",
            access_token="t",
            now=NOW,
        )

    check(GOOD)
    check({**GOOD, "aud": ["us"], "azp": "us"})
    with pytest.raises(TokenError):
        check({**GOOD, name: value})
    if name not in ("azp", "at_hash"):
        with pytest.raises(TokenError):
            check({member: v for member, v in GOOD.items() if member != name})


# --- Metadata ----------------------------------------------------------------------------------------------

DOCUMENT = {
    "issuer": "https://bank.example/",
    "authorization_endpoint": "https://bank.example/authorize?tenant=1",
    "token_endpoint": "https://api.bank.example/token",
    "jwks_uri": "https://bank.example/keys",
    "userinfo_endpoint": "https://bank.example/me",
    "claims_parameter_supported": True,
    "evidence_supported": ["document"],
}


def read(document: Any) -> metadata.Metadata:
    return metadata.parse(document, issuer="https://bank.example/", loopback=False)


def test_metadata_is_read() -> None:
    found = read(DOCUMENT)
    assert (found.takes_claims, found.names_issuer, found.pushed_endpoint) == (True, False, "")
    assert metadata.address_of(found.issuer) == "https://bank.example/.well-known/openid-configuration"


LIES = [
    {"issuer": "https://bank.example"},
    {"issuer": None},
    {"token_endpoint": "http://bank.example/token"},
    {"token_endpoint": "http://127.0.0.1/token"},
    {"token_endpoint": None},
    {"jwks_uri": ["https://bank.example/keys"]},
    {"userinfo_endpoint": "javascript:alert(1)"},
    {"authorization_endpoint": "https://user@bank.example/"},
    {"authorization_endpoint": "https://bank.example/#x"},
    {"pushed_authorization_request_endpoint": ""},
]


@pytest.mark.parametrize("change", LIES, ids=str)
def test_metadata_that_lies_is_refused(change: Any) -> None:
    with pytest.raises(ProviderError):
        read(DOCUMENT | change)


@given(changed(DOCUMENT))
def test_whatever_the_metadata_is_it_is_read_or_refused(document: Any) -> None:
    try:
        found = read(document)
    except ProviderError:
        return
    assert found.issuer == DOCUMENT["issuer"]


# --- Settings ----------------------------------------------------------------------------------------------

RIGHT = {
    "a slash at the end of the issuer": {"issuer": "https://bank.example/"},
    "several frameworks": {"assurance": "de_aml, eidas high"},
    "no check of acr": {"acr_values": "urn:x", "acr_accepted": "any"},
    "no evidence": {"evidence": "none"},
    "no nationalities": {"claim_nationalities": "none"},
}
BAD = {
    "issuer": ["", "http://bank.example", "bank.example", "https://bank.example?x"],
    "client_id": [""],
    "client_secret": [""],
    "client_auth": ["none", "private_key_jwt"],
    "client_key": ["no key"],
    "assurance": ["", "a b c", "eidas high,"],
    "scope": ["profile"],
    "identity_assurance": ["yes", "false"],
    "algorithms": ["none", "HS256"],
    "evidence": ["vouch"],
    "acr_accepted": ["=high"],
}


@pytest.mark.parametrize("values", RIGHT.values(), ids=RIGHT.keys())
def test_good_settings_are_read(values: dict[str, str]) -> None:
    settings_with(**values)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_settings_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(OptionError, match="bank."):
        settings_with(**{name: value})


@pytest.mark.parametrize("method", ["client_secret_basic", "private_key_jwt"])
def test_a_secret_and_a_key_are_not_both_set(method: str) -> None:
    with pytest.raises(OptionError, match=f"must not be set with {method}"):
        settings_with(client_auth=method, client_key=client_key())


def test_keys_that_are_too_weak_are_refused() -> None:
    for key in (rsa.generate_private_key(65537, 1024), ec.generate_private_key(ec.SECP384R1())):
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        with pytest.raises(OptionError, match="must be a private key in PEM"):
            settings_with(client_secret="", client_key=pem)


def test_a_secret_is_not_shown() -> None:
    assert "secret" not in repr(settings_with(client_secret="a secret")).replace("client_secret_basic", "")
