"""Evidence of a verification: who gets it, and that it is checked offline, when keys and lists are gone."""

import json
import subprocess
import zlib
from base64 import b64decode
from collections.abc import Callable
from contextlib import nullcontext, suppress
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey
from joserfc.jws import JWSRegistry
from jwcrypto.jwk import JWK
from sd_jwt.verifier import SDJWTVerifier

from infra import base64url
from keys.certificates import authority
from keys.issuer_key import active_issuer_key
from keys.models import Authority, SigningKey, StatementKey
from keys.rotation import due_steps
from keys.rotation.states import State, in_state
from presentation import evidence
from presentation.evidence import EvidenceError, checked
from presentation.models import RelyingParty
from tests.fixtures import NODE_PACKAGES
from tests.forgery import new_key, sign_jwt
from tests.presentation import payloads
from tests.presentation.clients import registered
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.deciding import ask, decide
from tests.presentation.verifying import NONCE, answered, verify
from tests.relying_party import read_jwt
from wallet.models import StatusEntry, StatusList, Wallet
from wallet.sd_jwt.issuance import digest
from wallet.status_lists import changes, token

pytestmark = pytest.mark.django_db
Evidence = dict[str, Any]


@pytest.fixture
def bank(signing_key: SigningKey) -> RelyingParty:
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    return registered()


@pytest.fixture
def root(signing_key: SigningKey) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Authority.objects.get().root_pem.encode())


@pytest.fixture
def asked(client: Client, bank: RelyingParty, alice: Wallet, sign_in: Any) -> dict[str, Any]:
    """What the bank sends, after Alice has agreed to a request with a transaction."""
    value = payloads.value(payloads.SESSION)
    sign_in(alice)
    page = ask(client, bank, nonce=NONCE, transaction_data=value)
    home = client.get(decide(client, page)).headers["Location"]
    vp_token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    return {"vp_token": vp_token, "nonce": NONCE, "transaction_data": [value], "evidence": True}


@pytest.fixture
def given_evidence(bank: RelyingParty, asked: dict[str, Any]) -> Evidence:
    found: Evidence = answered(verify(bank, asked))["evidence"]
    return found


def of(document: Any) -> bytes:
    return json.dumps(document).encode()


def lose_everything() -> None:
    """Years later the rows are gone."""
    StatusEntry.objects.all().delete()
    StatusList.objects.all().delete()
    for model in (StatementKey, SigningKey, Authority):
        model.objects.all().delete()


def test_one_document_has_all_of_it_and_a_statement_over_its_hashes(
    bank: RelyingParty, asked: dict[str, Any], settings: Any
) -> None:
    answer = answered(verify(bank, asked))
    found = answer["evidence"]

    assert found.keys() == {*evidence.PARTS, "statement"}
    assert found["presentations"] == [asked["vp_token"]]
    assert found["transaction_data"] == asked["transaction_data"]
    issued = read_jwt(asked["vp_token"].split("~")[0])
    assert found["certificates"] == issued.header["x5c"]
    (status_list,) = (read_jwt(token) for token in found["status_lists"])
    assert status_list.payload["sub"] == issued.payload["status"]["status_list"]["uri"]
    statement = read_jwt(found["statement"])
    assert statement.header["typ"] == "verification-statement+jwt"
    assert statement.header["kid"] == str(in_state(State.ACTIVE, StatementKey))
    assert {name: statement.payload[name] for name in ("iss", "aud", "nonce", "valid", "checks")} == {
        "iss": settings.BASE_URL,
        "aud": bank.client_id,
        "nonce": NONCE,
        "valid": True,
        "checks": answer["checks"],
    }
    assert statement.payload["sha256"] == {
        name: [digest(text) for text in found[name]] for name in evidence.PARTS
    }


def test_without_the_wish_there_is_none(bank: RelyingParty, asked: dict[str, Any]) -> None:
    for wish in ({}, {"evidence": False}):
        told = answered(verify(bank, {name: asked[name] for name in asked if name != "evidence"} | wish))
        assert told["valid"] is True
        assert "evidence" not in told
    for wrong in ("true", 1, None, {}):
        assert verify(bank, asked | {"evidence": wrong}).status_code == 400


def test_there_is_none_about_a_presentation_for_another_application(asked: dict[str, Any]) -> None:
    shop = registered("Corner Shop")
    told = answered(verify(shop, asked))
    assert told["valid"] is False
    assert "evidence" not in told


def test_there_is_none_when_it_is_not_known_for_whom_it_was_made(
    bank: RelyingParty, asked: dict[str, Any]
) -> None:
    for wrong in (
        {"nonce": NONCE[::-1]},
        {"vp_token": "x"},
        {"vp_token": asked["vp_token"][:-9] + "AAAAAAAAA"},
    ):
        told = answered(verify(bank, asked | wrong))
        assert told["valid"] is False
        assert "evidence" not in told


def test_evidence_of_what_is_not_valid_says_so(
    bank: RelyingParty, asked: dict[str, Any], root: x509.Certificate
) -> None:
    told = answered(verify(bank, asked | {"transaction_data": []}))
    stated = checked(of(told["evidence"]), root)
    assert stated["valid"] is False
    assert {check["name"] for check in stated["checks"] if check["result"] == "failed"} == {
        "transaction-data"
    }


def test_the_list_is_of_that_moment(
    bank: RelyingParty, asked: dict[str, Any], alice: Wallet, root: x509.Certificate
) -> None:
    """Also seconds after a change, when the list that is served need not have it yet."""
    before = answered(verify(bank, asked))["evidence"]
    entry = StatusEntry.objects.get(credential__wallet=alice)
    changes.take_back(alice, entry.reference, now=timezone.now())  # type: ignore[arg-type]
    after = answered(verify(bank, asked))["evidence"]

    assert before["status_lists"] != after["status_lists"]
    assert checked(of(before), root)["valid"] is True
    assert checked(of(after), root)["checks"][-1]["reason"] == "the credential's status is invalid"


def test_while_statements_cannot_be_signed_the_rest_works(bank: RelyingParty, asked: dict[str, Any]) -> None:
    StatementKey.objects.all().delete()
    response = verify(bank, asked)
    assert response.status_code == 503
    assert response.json()["error"] == "temporarily_unavailable"
    assert answered(verify(bank, asked | {"evidence": False}))["valid"] is True


def test_years_later_it_is_checked_without_the_database(
    given_evidence: Evidence, root: x509.Certificate, tmp_path: Path, bank: RelyingParty
) -> None:
    lose_everything()
    file, trusted = tmp_path / "evidence.json", tmp_path / "root.pem"
    file.write_bytes(of(given_evidence))
    trusted.write_bytes(root.public_bytes(Encoding.PEM))
    out = StringIO()

    with connection.execute_wrapper(_no_query):
        call_command("verify_evidence", str(file), root=str(trusted), stdout=out)

    first, *rest = out.getvalue().splitlines()
    assert first.startswith("Genuine. ")
    assert f"for {bank.client_id} on " in first
    assert first.endswith("UTC: valid.")
    assert "kb-nonce  passed" in rest


def _no_query(*_facts: Any) -> None:
    raise AssertionError("a query")


def test_the_command_says_what_is_wrong(
    given_evidence: Evidence, root: x509.Certificate, tmp_path: Path
) -> None:
    file, trusted = tmp_path / "evidence.json", tmp_path / "root.pem"
    trusted.write_bytes(root.public_bytes(Encoding.PEM))
    file.write_bytes(of(given_evidence | {"transaction_data": []}))
    for said, arguments in (
        ("Not genuine: the statement is about other parts.", (file, trusted)),
        ("is no certificate", (file, file)),
        ("cannot be read", (tmp_path / "none", trusted)),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("verify_evidence", str(arguments[0]), root=str(arguments[1]), stdout=StringIO())


def test_any_other_part_or_certificate_is_noticed(given_evidence: Evidence, root: x509.Certificate) -> None:
    for name in evidence.PARTS:
        for other in ([], [*given_evidence[name], given_evidence[name][0]], ["AAAA"]):
            with pytest.raises(EvidenceError, match="other parts"):
                checked(of(given_evidence | {name: other}), root)
    Authority.objects.all().delete()
    authority.authority(now=timezone.now())
    foreign = x509.load_pem_x509_certificate(Authority.objects.get().root_pem.encode())
    with pytest.raises(EvidenceError):
        checked(of(given_evidence), foreign)


def test_the_root_may_be_one_of_several(
    given_evidence: Evidence, root: x509.Certificate, tmp_path: Path
) -> None:
    Authority.objects.all().delete()
    authority.authority(now=timezone.now())
    other = Authority.objects.get().root_pem
    own = root.public_bytes(Encoding.PEM).decode()
    file, trusted = tmp_path / "evidence.json", tmp_path / "roots.pem"
    file.write_bytes(of(given_evidence))
    for roots in (own + other, other + own):
        trusted.write_text(roots)
        call_command("verify_evidence", str(file), root=str(trusted), stdout=StringIO())
    for roots, said in {
        other: "Not genuine",
        own + other.replace("MII", "!!!"): "is no certificate as PEM, or one of several is none",
        own + b64_pem(given_evidence["certificates"][0]): "certificate 2 is not of an authority",
    }.items():
        trusted.write_text(roots)
        with pytest.raises(CommandError, match=said):
            call_command("verify_evidence", str(file), root=str(trusted), stdout=StringIO())


def b64_pem(der: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n"


def shown_again(document: Evidence) -> str:
    """The same credential with the same nonce, but one disclosure less, as its holder can bind it."""
    issued, _first, *others, binding = document["presentations"][0].split("~")
    return "~".join([issued, *others, binding])


@pytest.mark.parametrize("again", [lambda found: found["presentations"][0], shown_again])
def test_a_credential_that_is_shown_twice_is_not_genuine(
    given_evidence: Evidence, root: x509.Certificate, again: Callable[[Evidence], str]
) -> None:
    """It would be genuine with two sets of claims."""
    doubled = deepcopy(given_evidence)
    doubled["presentations"].append(again(given_evidence))
    for document in (unstated(doubled), restated(doubled)):
        with pytest.raises(EvidenceError, match="presented twice"):
            checked(of(document), root)


def test_a_credential_that_is_shown_twice_is_not_verified(
    given_evidence: Evidence, bank: RelyingParty, asked: dict[str, Any]
) -> None:
    twice = {"a": [asked["vp_token"]], "b": [shown_again(given_evidence)]}
    told = answered(verify(bank, asked | {"vp_token": twice}))
    assert told["valid"] is False
    assert "presents a credential twice" in json.dumps(told)
    assert "evidence" not in told


def test_evidence_has_no_other_members(given_evidence: Evidence, root: x509.Certificate) -> None:
    for document in (given_evidence, unstated(given_evidence)):
        with pytest.raises(EvidenceError, match="a member"):
            checked(of(document | {"claims": []}), root)


def unstated(document: Evidence) -> Evidence:
    """What the client libraries archive."""
    return {name: document[name] for name in evidence.PARTS}


def test_an_archive_without_a_statement_is_checked_by_its_own_signatures(
    given_evidence: Evidence, root: x509.Certificate, tmp_path: Path, bank: RelyingParty
) -> None:
    found = checked(of(unstated(given_evidence)), root)

    signed = (given_evidence["presentations"][0].rpartition("~")[2], *given_evidence["status_lists"])
    newest = max(read_jwt(each).payload["iat"] for each in signed)
    assert (found["aud"], found["nonce"], found["iat"]) == (bank.client_id, NONCE, newest)
    assert "checks" not in found
    wrong = {name: [*given_evidence[name], "AAAA"] for name in evidence.PARTS}
    wrong |= {"presentations": [forged(given_evidence)], "status_lists": []}
    for name, other in wrong.items():
        with pytest.raises(EvidenceError):
            checked(of(unstated(given_evidence) | {name: other}), root)
    with pytest.raises(EvidenceError, match="there is no ~"):
        checked(of(unstated(given_evidence) | {"presentations": []}), root)
    file, trusted, out = tmp_path / "archive.json", tmp_path / "root.pem", StringIO()
    file.write_bytes(of(unstated(given_evidence)))
    trusted.write_bytes(root.public_bytes(Encoding.PEM))
    call_command("verify_evidence", str(file), root=str(trusted), stdout=out)
    assert out.getvalue().startswith("Genuine. What http")
    assert f"was shown to {bank.client_id}, valid on " in out.getvalue()
    assert "Not proven: that http" in out.getvalue()


def test_an_archive_is_judged_at_the_time_of_its_newest_signature(
    given_evidence: Evidence, root: x509.Certificate
) -> None:
    """A newer list is evidence of a later moment, for which the holder signed too early."""
    said = read_jwt(given_evidence["status_lists"][0]).payload
    packed = zlib.decompress(base64url.decode(said["status_list"]["lst"]))
    number, key = int(said["sub"].rpartition("/")[2]), active_issuer_key(now=timezone.now())
    bound = read_jwt(given_evidence["presentations"][0].rpartition("~")[2]).payload["iat"]
    for seconds, expected in ((299, nullcontext()), (301, pytest.raises(EvidenceError, match="just now"))):
        later = datetime.fromtimestamp(bound + seconds, UTC)
        lists = [token.signed(number, packed, issuer_key=key, now=later)]
        with expected:
            checked(of(unstated(given_evidence) | {"status_lists": lists}), root)


def restated(document: Evidence, **facts: Any) -> Evidence:
    """The document with a statement of the service that says something else: its word alone is not enough."""
    from keys import statements

    stated = read_jwt(document["statement"]).payload | facts
    stated["sha256"] = {name: [digest(text) for text in document[name]] for name in evidence.PARTS}
    now = datetime.fromtimestamp(stated.pop("iat"), UTC)
    stated.pop("iss")
    return document | {"statement": statements.sign(evidence.TYP, stated, now=now, with_chain=True)}


def test_a_verdict_that_the_signatures_do_not_bear_out_is_refused(
    given_evidence: Evidence, root: x509.Certificate, alice: Wallet, bank: RelyingParty, asked: dict[str, Any]
) -> None:
    assert checked(of(restated(given_evidence)), root)["valid"] is True
    iat = read_jwt(given_evidence["statement"]).payload["iat"]
    for facts in ({"aud": "somebody-else"}, {"nonce": "another"}, {"iat": iat + 301}):
        with pytest.raises(EvidenceError):
            checked(of(restated(given_evidence, **facts)), root)
    wrong: dict[str, Callable[[Evidence], Any]] = {
        "signature": lambda found: found["presentations"].__setitem__(0, forged(found)),
        "no presentation is bound": lambda found: found["transaction_data"].append("e30"),
        "other transaction data": lambda found: found["transaction_data"].clear(),
        "not what the statement says": lambda found: found["status_lists"].clear(),
    }
    for why, change in wrong.items():
        other = deepcopy(given_evidence)
        change(other)
        with pytest.raises(EvidenceError, match=why):
            checked(of(restated(other)), root)
    entry = StatusEntry.objects.get(credential__wallet=alice)
    changes.take_back(alice, entry.reference, now=timezone.now())  # type: ignore[arg-type]
    lists = answered(verify(bank, asked))["evidence"]["status_lists"]
    with pytest.raises(EvidenceError, match="not what the statement says"):
        checked(of(restated(given_evidence | {"status_lists": lists})), root)


def forged(found: Evidence) -> str:
    """The presentation, signed by somebody else."""
    jwt, rest = found["presentations"][0].split("~", 1)
    issued = read_jwt(jwt)
    return f"{sign_jwt(issued.header, issued.payload, new_key())}~{rest}"


def test_evidence_of_several_presentations_is_checked_for_each(
    holder: Client, bank: RelyingParty, root: x509.Certificate
) -> None:
    RelyingParty.objects.update(
        wire_format=RelyingParty.WireFormat.OPENID4VP_1_0, allowed_claims=["given_name", "birth_date"]
    )
    two = with_query(query(path("given_name"), id="c"), query(path("birth_date"), id="e"))
    data = [payloads.value(payloads.SESSION, credential_ids=ids) for ids in (["e", "c"], ["c"])]
    page = ask(holder, bank, nonce=NONCE, transaction_data=" ".join(data), **two)
    vp_token = json.loads(
        dict(parse_qsl(urlsplit(holder.get(decide(holder, page)).headers["Location"]).fragment))["vp_token"]
    )
    body = {"vp_token": vp_token, "nonce": NONCE, "transaction_data": data, "evidence": True}

    found = answered(verify(bank, body))["evidence"]

    assert len(found["presentations"]) == 2
    assert checked(of(found), root)["valid"] is True
    shop = registered("Corner Shop")
    assert "evidence" not in answered(verify(shop, body))


# --- Other libraries --------------------------------------------------------------------------------------


def test_jose_of_npm_checks_it_by_the_steps_of_the_guide(
    given_evidence: Evidence, root: x509.Certificate
) -> None:
    def by_node(document: Evidence) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["node", NODE_PACKAGES.parent / "evidence.mjs"],
            input=json.dumps({"evidence": document, "root": root.public_bytes(Encoding.PEM).decode()}),
            capture_output=True,
            text=True,
            timeout=60,
        )

    done = by_node(given_evidence)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == read_jwt(given_evidence["statement"]).payload
    assert "other certificates" in by_node(given_evidence | {"certificates": ["AAAA"]}).stderr


def _always(key: Any, *_facts: Any) -> Any:
    return key


def test_joserfc_and_sd_jwt_of_pypi_check_it(given_evidence: Evidence, bank: RelyingParty) -> None:
    def key_of(token: str) -> Any:
        leaf = x509.load_der_x509_certificate(b64decode(read_jwt(token).header["x5c"][0]))
        return leaf.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    registry = JWSRegistry()
    registry.max_header_length = 8192  # of joserfc 512, which x5c exceeds
    for signed in (given_evidence["statement"], *given_evidence["status_lists"]):
        assert jws.deserialize_compact(
            signed, ECKey.import_key(key_of(signed)), algorithms=["ES256"], registry=registry
        )
    stated = read_jwt(given_evidence["statement"]).payload
    for one in given_evidence["presentations"]:
        issuer = JWK.from_pem(key_of(one.split("~")[0]))
        verifier = SDJWTVerifier(one, partial(_always, issuer), stated["aud"], stated["nonce"])
        assert verifier.get_verified_payload()["given_name"] == "Alice"


# --- Whatever a file has ----------------------------------------------------------------------------------

TEXTS = st.text(max_size=8) | st.sampled_from(["a.b.c", "AAAA", "~", "e30.e30.AA~"])
PARTS = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.lists(TEXTS, max_size=3) | st.none() | TEXTS for name in evidence.PARTS},
        "statement": TEXTS | st.integers() | st.just("replaced"),
    },
)


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(changed=PARTS, content=st.binary(max_size=20) | st.none())
def test_whatever_a_file_has_is_refused_with_a_reason(
    given_evidence: Evidence, root: x509.Certificate, changed: Evidence, content: bytes | None
) -> None:
    document = given_evidence | changed
    if changed.get("statement") == "replaced" and _has_the_form(document):
        # The service itself may state anything: it is believed, or refused, but nothing else happens.
        with suppress(EvidenceError):
            checked(of(restated(document | {"statement": given_evidence["statement"]})), root)
    same = document == given_evidence and content is None
    with nullcontext() if same else pytest.raises(EvidenceError):
        checked(of(document) if content is None else content, root)


def _has_the_form(document: Evidence) -> bool:
    texts = [text for name in evidence.PARTS for text in document[name] or ["é"]]
    return all(isinstance(document[name], list) for name in evidence.PARTS) and all(map(str.isascii, texts))


def test_a_file_has_limits(given_evidence: Evidence, root: x509.Certificate) -> None:
    with pytest.raises(EvidenceError, match="longer than"):
        checked(b" " * (evidence.LONGEST + 1), root)
    with pytest.raises(EvidenceError, match="at most 100"):
        checked(of(given_evidence | {"presentations": ["x"] * 101}), root)
