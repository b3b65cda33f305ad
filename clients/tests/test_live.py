"""The installed client libraries with a running service, whose sandbox answers as the person."""

import json
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.core.management import call_command
from django.utils import timezone

from clients.tests.packages import HOME, MAIL, Library, RefusedError, refusal
from infra.moments import moment
from presentation.models import RelyingParty, ResponseURI
from presentation.relying_parties.authentication import client_secrets
from presentation.scopes import catalogue
from tests.forgery import new_key, public_jwk
from tests.people import register
from tests.presentation import payloads
from tests.presentation.openid_connect.shop import Shop
from tests.presentation.verifying import answered, verify
from tests.receiver import listening
from tests.relying_party import read_jwt

pytestmark = [pytest.mark.node, pytest.mark.slow]
SCOPE = "urn:service:params:scope:verifiable-credentials:"
PAYMENT = {
    "type": payloads.ITEMIZED,
    "credential_ids": ["basic"],
    "payload": payloads.FULL[payloads.ITEMIZED] | {"title": "Weinkühler"},
}


def shop(**fields: Any) -> RelyingParty:
    return register("My Shop", HOME, allowed_scopes=list(catalogue.current()), **fields)


def asked(library: Library, holder: dict[str, Any] | None = None, **asking: Any) -> dict[str, Any]:
    """A request that the sandbox's holder answered: its `url`, `pending` and the posted `fields`."""
    request = library("request", login_hint=MAIL, **asking)
    return {**request, **library("holder", url=request["url"], **(holder or {}))}


def finish(library: Library, answer: dict[str, Any], **fields: Any) -> Any:
    return library("finish", pending=answer["pending"], fields=answer["fields"] | fields)


@pytest.mark.usefixtures("rsa_key")  # which is in the key set too
def test_a_payment_is_agreed_to_and_archived(opened: Any, root: str, service: Any) -> None:
    party = shop()
    library = opened(party)
    answer = asked(library, transaction_data=[PAYMENT])

    found = finish(library, answer)

    assert found["claims"] == {
        "given_name": "Alice",
        "family_name": "Example",
        "age_equal_or_over": {"18": True},
    }
    archived = library("archive", document=found["archive"], root=root)
    assert (archived["claims"], archived["stated"]) == ([found["claims"]], False)
    facts = (archived["issuer"], archived["client_id"], archived["nonce"])
    assert facts == (service.url, party.client_id, answer["pending"]["nonce"])
    assert abs(archived["time"] - datetime.now(UTC).timestamp()) < 60
    assert library("milliseconds", pending=answer["pending"], fields=answer["fields"]) < 100


KEY, OTHER_KEY = "k" * 32, "o" * 32


def test_a_payment_is_finished_from_a_cookie(opened: Any, root: str) -> None:
    library = opened(shop())
    answer = asked(library, transaction_data=[PAYMENT, PAYMENT])
    kept = library("through_a_cookie", pending=answer["pending"], key=KEY, keys=[OTHER_KEY, KEY])
    assert len(kept["text"]) <= 1500
    assert re.fullmatch("[A-Za-z0-9_-]+", kept["text"])
    assert kept["pending"]["transaction_data"] == []
    assert len(kept["pending"]["transaction_data_hashes"]) == 2

    answered = {"pending": kept["pending"], "fields": answer["fields"]}
    data = answer["pending"]["transaction_data"]
    document = library("archived", **answered, data=data)

    assert library("archive", document=document, root=root)["claims"][0]["given_name"] == "Alice"
    for wrong in ([], data[:1], ["e30"]):
        said = refusal(library, "archived", **answered, data=wrong)
        assert said[0] in ("ValueError", "TypeError"), wrong
    others = kept["pending"]["transaction_data_hashes"][:1]
    changed = {"pending": kept["pending"] | {"transaction_data_hashes": others}, "fields": answer["fields"]}
    assert refusal(library, "finish", **changed) == ("Rejected", "transaction-data")


def test_an_answer_is_for_one_request(opened: Any) -> None:
    library = opened(shop())
    first, second = asked(library), asked(library)
    assert refusal(finish, library, first, state=second["pending"]["state"]) == ("Rejected", "state")
    swapped = first | {"fields": second["fields"] | {"state": first["pending"]["state"]}}
    assert refusal(finish, library, swapped) == ("Rejected", "kb-nonce")


def test_a_no_is_denied(opened: Any) -> None:
    library = opened(shop())
    answer = asked(library, holder={"decision": "decline"})
    assert refusal(finish, library, answer) == ("Denied", "access_denied")


def test_other_scopes_and_claims_are_requested(opened: Any, service: Any) -> None:
    library = opened(shop())
    both = asked(library, scope="identity contact", holder={"optional": ["nationalities"]})
    assert set(finish(library, both)["claims"]) == {"birth_date", "nationalities", "email"}
    without = asked(library, scope="identity")
    assert set(finish(library, without)["claims"]) == {"birth_date"}
    query = {
        "id": "drinks",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [f"{service.url}/credential-types/identity/v1"]},
        "claims": [{"path": ["age_equal_or_over", "18"]}],
    }
    for dcql_query in ({"credentials": [query]}, json.dumps({"credentials": [query]})):
        named = asked(library, dcql_query=dcql_query, claims=["age_equal_or_over.18"])
        assert finish(library, named)["claims"] == {"age_equal_or_over": {"18": True}}
    urn = asked(library, scope=f"{SCOPE}age-over-18")
    assert finish(library, urn)["claims"] == {"age_equal_or_over": {"18": True}}


def test_a_wrong_call_of_the_holder_says_what_is_wrong(opened: Any) -> None:
    library = opened(shop())
    request = library("request", login_hint=MAIL)
    for wrong in ({"persona": "nobody"}, {"url": request["url"].replace("localhost", "127.0.0.1")}):
        with pytest.raises(RefusedError) as refused:
            library("holder", **{"url": request["url"]} | wrong)
        assert (refused.value.kind, refused.value.code) == ("Denied", "invalid_request")
        assert re.search("persona must be one of adult|authorize_url must begin with", refused.value.text)


def test_the_wire_format_of_openid4vp_is_read(opened: Any) -> None:
    library = opened(shop(wire_format="openid4vp-1.0"))
    answer = asked(library)
    assert answer["fields"]["vp_token"].startswith("{")
    assert finish(library, answer)["claims"]["given_name"] == "Alice"


def test_requests_are_pushed_with_a_secret(opened: Any) -> None:
    party = shop(requires_pushed_requests=True)
    library = opened(party, secret=client_secrets.rotate(party, now=timezone.now()).text)
    answer = asked(library)
    assert set(dict(parse_qsl(urlsplit(answer["url"]).query))) == {"client_id", "request_uri"}
    assert finish(library, answer)["claims"]["given_name"] == "Alice"
    with pytest.raises(RefusedError) as refused:  # it was answered: a person would stay on a page
        library("holder", url=answer["url"])
    assert (refused.value.kind, refused.value.code) == ("Denied", "no_redirect")
    assert "{" not in refused.value.text
    with pytest.raises(RefusedError) as refused:
        library("request", login_hint=MAIL, scope="urn:no:scope", claims=["email"])
    assert (refused.value.kind, refused.value.code) == ("Denied", "invalid_scope")
    assert re.search(" [0-9A-F]{8}$", refused.value.text)  # the reference
    library = opened(party, secret="wrong")
    assert refusal(library, "request", login_hint=MAIL) == ("Denied", "invalid_client")


@pytest.mark.parametrize("key_id", ["one", ""])
def test_requests_are_signed_with_a_private_key(opened: Any, key_id: str) -> None:
    """A party that must sign and push, as with a baseline of FAPI, and that has no secret."""
    key = new_key()
    keys = {"keys": [{"kid": "one", **public_jwk(key)}]}
    party = shop(jwks=keys, requires_signed_requests=True, requires_pushed_requests=True)
    library = opened(party, private_key=pem_of(key), key_id=key_id)
    answer = asked(library, transaction_data=[PAYMENT | {"credential_ids": ["basic"]}])
    assert set(dict(parse_qsl(urlsplit(answer["url"]).query))) == {"client_id", "request_uri"}
    assert finish(library, answer)["claims"]["given_name"] == "Alice"
    library = opened(party, private_key=pem_of(new_key()), key_id=key_id)
    assert refusal(library, "request", login_hint=MAIL) == ("Denied", "invalid_client")


def pem_of(key: Any) -> str:
    octets: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return octets.decode()


def test_a_private_key_that_cannot_sign_is_a_clear_mistake(opened: Any) -> None:
    party, other = shop(), ec.generate_private_key(ec.SECP384R1())
    for wrong in ("", "key.pem", pem_of(other)):
        assert refusal(opened, party, private_key=wrong)[0] in ("ValueError", "TypeError"), wrong
    both = {"private_key": pem_of(new_key()), "secret": "s"}
    assert refusal(opened, party, **both)[0] in ("ValueError", "TypeError")


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
@pytest.mark.parametrize("mode", ["direct_post", "direct_post.jwt"])
def test_a_posted_answer_is_read(opened: Any, mode: str, wire_format: str) -> None:
    party = shop(wire_format=wire_format)
    with listening() as receiver:
        ResponseURI.objects.create(relying_party=party, uri=receiver.uri)
        receiver.redirects_to(f"{HOME}?response_code=1")
        library = opened(party, receiver.uri)
        answer = asked(library, response_mode=mode)
        declined = asked(library, response_mode=mode, holder={"decision": "decline"})
        forms = [dict(parse_qsl(each.body)) for each in receiver.posted]
    fields, refused = forms
    assert ("response" in fields) == (mode == "direct_post.jwt")
    assert library("state_of", fields=fields) == answer["pending"]["state"]
    found = finish(library, answer | {"fields": fields})
    assert found["claims"]["given_name"] == "Alice"
    assert refusal(finish, library, declined | {"fields": refused}) == ("Denied", "access_denied")
    if mode == "direct_post.jwt":
        token = {"vp_token": found["vp_token"], "state": answer["pending"]["state"]}
        assert refusal(finish, library, answer | {"fields": token}) == ("Rejected", "encryption")
        for place in range(5):
            parts = fields["response"].split(".")
            parts[place] = parts[place][:-4] + "AAAA" if parts[place] else "AAAA"
            sent = {"response": ".".join(parts)}
            assert refusal(finish, library, answer | {"fields": sent})[0] == "Rejected"


@pytest.mark.usefixtures("rsa_key")  # which is in the key set too
def test_the_evidence_of_openid_connect_is_verified(
    opened: Any, client: Any, alice: Any, sign_in: Any
) -> None:
    shop = Shop.registered()
    sign_in(alice)
    library = opened(shop.party)
    tokens = shop.tokens(client, nonce="short")
    claims = ["given_name", "family_name"]
    expected = {"vp_token": tokens["vp_token"], "nonce": tokens["vp_nonce"]}
    assert library("verify", **expected, claims=claims)["claims"]["given_name"] == "Alice"
    assert library("verify", **expected)["claims"]["given_name"] == "Alice"
    assert refusal(library, "verify", **expected, claims=claims[:1]) == ("Rejected", "claims")
    assert refusal(library, "verify", **expected | {"nonce": "another"}) == ("Rejected", "kb-nonce")


def by_the_service(document: str, root: str, folder: Path) -> str:
    """What `manage.py verify_evidence` says about the document."""
    files = {folder / "document.json": document, folder / "root.pem": root}
    for file, text in files.items():
        file.write_text(text)
    out, (archived, trusted) = StringIO(), map(str, files)
    call_command("verify_evidence", archived, root=trusted, stdout=out)
    return out.getvalue()


def at(found: dict[str, Any]) -> str:
    return moment(datetime.fromtimestamp(found["time"], UTC))


def test_archive_and_evidence_are_one_document_which_library_and_service_check(
    opened: Any, root: str, tmp_path: Path
) -> None:
    party = shop(grants=["presentation:verify"])
    library = opened(party)
    answer = asked(library, transaction_data=[PAYMENT])
    archive = finish(library, answer)["archive"]
    kept = json.loads(archive)
    data = answer["pending"]["transaction_data"]
    body = {"nonce": answer["pending"]["nonce"], "transaction_data": data, "evidence": True}
    evidence = answered(verify(party, {"vp_token": answer["fields"]["vp_token"], **body}))["evidence"]

    assert {*kept, "statement"} == set(evidence)
    for part in ("presentations", "transaction_data", "certificates"):
        assert kept[part] == evidence[part]
    stated = library("archive", document=json.dumps(evidence), root=root)
    assert (stated["stated"], stated["client_id"]) == (True, party.client_id)
    assert stated["time"] == read_jwt(evidence["statement"]).payload["iat"]
    archived = library("archive", document=archive, root=root)
    same = ("issuer", "client_id", "nonce", "claims")
    assert [archived[name] for name in same] == [stated[name] for name in same]
    assert not archived["stated"]
    said = by_the_service(json.dumps(evidence), root, tmp_path)
    assert f"stated for {party.client_id} on {at(stated)}: valid." in said
    said = by_the_service(archive, root, tmp_path)
    assert f"was shown to {party.client_id}, valid on {at(archived)}. Not" in said
    for part in ("transaction_data", "certificates", "status_lists"):
        other = evidence | {part: [*evidence[part], evidence[part][0]]}
        assert refusal(library, "archive", document=json.dumps(other), root=root) == ("Rejected", "statement")
    invalid = answered(
        verify(party, {"vp_token": answer["fields"]["vp_token"], **body, "transaction_data": []})
    )
    document = json.dumps(invalid["evidence"])
    assert refusal(library, "archive", document=document, root=root) == ("Rejected", "statement")
