"""The type metadata: it describes the issued credential path by path, and its bytes never change."""

import hashlib
import json
from datetime import date
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from config.urls import PUBLISHED_DOCUMENTS
from tests.people import DETAILS, evidence_of
from wallet.credential import claims, credentials, type_metadata
from wallet.credential.claims import Identity
from wallet.sd_jwt.issuance import ALWAYS_PLAIN, all_withheld

FROZEN = "c63e1156b320553bd51d661261d29a106a435d197057b39300a5d65aa36fd133"
ADA = Identity(
    "Ada", "Lovelace", date(1990, 11, 21), ("GB",), evidence_of().verification(), "ada@example.org", DETAILS
)


@pytest.fixture
def document() -> dict[str, Any]:
    return json.loads(type_metadata.document())


def test_what_v1_has_said_from_the_beginning_never_changes(settings: Any):
    # A change here is a change of the type: give it a new version at a new address instead.
    settings.BASE_URL = "https://wallet.example"
    document = json.loads(type_metadata.document())
    # Ages were mandatory until birth dates could be partly known, see docs/decisions/0024.
    document["claims"] = [claim for claim in document["claims"] if claim["mandatory"]]
    assert "age_equal_or_over" not in {claim["path"][0] for claim in document["claims"]}
    for described in (document, *document["claims"]):  # labels in further languages may join
        assert [each["locale"] for each in described["display"][1:]] in ([], ["es"])
        del described["display"][1:]
        del described["display"][0]["description"]  # may become more exact
    mandatory = json.dumps(document, indent=2, ensure_ascii=False).encode()
    assert hashlib.sha256(mandatory).hexdigest() == FROZEN


def test_it_is_served_at_the_address_that_vct_is(client: Client, settings: Any):
    path = credentials.credential_type().removeprefix(settings.BASE_URL)
    assert path.removeprefix("/") in PUBLISHED_DOCUMENTS
    response = client.get(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.content == type_metadata.document()
    assert response.json()["vct"] == credentials.credential_type()


def test_it_does_not_depend_on_the_language_of_the_reader(document: dict[str, Any]):
    with translation.override("de"):
        assert json.loads(type_metadata.document()) == document


def test_people_read_the_labels_in_each_language_of_the_pages(document: dict[str, Any]):
    labels = {
        tuple(claim["path"]): {shown["locale"]: shown["label"] for shown in claim["display"]}
        for claim in document["claims"]
    }
    assert labels["given_name",] == {"en-GB": "Given name", "es": "Nombre de pila"}
    assert labels["age_equal_or_over", "18"] == {"en-GB": "Aged 18 or over", "es": "18 años o más"}
    assert labels["iss",] == {"en-GB": "iss"}
    assert [shown["name"] for shown in document["display"]] == ["Verified identity", "Identidad verificada"]


def test_withheld_is_said_path_by_path_as_it_is_issued(document: dict[str, Any]):
    paths = [*claims.CLAIMS, ("nationality_in", "EU")]
    tree = claims.values(ADA, paths, today=date(2026, 11, 20)) | {"pairwise_subject": "of this wallet"}
    withheld = set(_withheld(all_withheld(tree, whole=["place_of_birth"]), ()))
    asked = {("nationality_in", "EU")}  # one of hundreds, so the group stands for them
    assert {
        tuple(claim["path"]) for claim in document["claims"] if claim["sd"] == "always"
    } == withheld - asked
    never = {tuple(claim["path"]) for claim in document["claims"] if claim["sd"] == "never"}
    assert never == {(name,) for name in ("iss", "vct", "iat", "exp", "cnf")}
    assert {name for (name,) in never} - {"iat"} <= ALWAYS_PLAIN


def test_claim_metadata_has_the_members_of_the_draft(document: dict[str, Any]):
    paths = [tuple(claim["path"]) for claim in document["claims"]]
    assert len(set(paths)) == len(paths)
    for claim in document["claims"]:
        assert claim.keys() == {"path", "display", "mandatory", "sd"}
        optional = (
            "age_equal_or_over",
            "verification",
            "email",
            "nationality_in",
            "pairwise_subject",
            *DETAILS,
        )
        assert claim["mandatory"] is (claim["path"][0] not in optional)
        english, *others = claim["display"]
        assert english.keys() == {"locale", "label", "description"}
        for shown in others:
            assert shown.keys() == {"locale", "label"}
        assert all(value for shown in claim["display"] for value in shown.values())
    assert document.keys() == {"vct", "name", "description", "display", "claims"}


def _withheld(members: dict[str, Any], here: tuple[str, ...]) -> Any:
    for name, value in members["_sd"].items():
        yield (*here, name)
        if isinstance(value, dict) and "_sd" in value:
            yield from _withheld(value, (*here, name))
