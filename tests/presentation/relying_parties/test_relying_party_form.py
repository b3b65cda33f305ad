"""The admin's form for a relying party explains its choices and reports each mistake once."""

import re

import pytest
from django.test import Client

ADD = "/admin/presentation/relyingparty/add/"
EMPTY = {
    "redirect_uris-TOTAL_FORMS": "1",
    "redirect_uris-INITIAL_FORMS": "0",
    "response_uris-TOTAL_FORMS": "0",
    "response_uris-INITIAL_FORMS": "0",
    "certified_client_ids-TOTAL_FORMS": "0",
    "certified_client_ids-INITIAL_FORMS": "0",
    "redirect_uris-MIN_NUM_FORMS": "1",
    "redirect_uris-MAX_NUM_FORMS": "1000",
    "redirect_uris-0-uri": "",
}

pytestmark = pytest.mark.django_db


def test_a_scope_is_shown_with_the_claims_it_stands_for(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    assert "verifiable-credentials:basic (Given name, Family name, Aged 18 or over)" in page
    assert "With none ticked, every request that carries transaction data is refused." in page


def test_an_empty_form_names_every_missing_field_once(admin_client: Client) -> None:
    page = admin_client.post(ADD, EMPTY).content.decode()
    complaints = dict(re.findall(r'<ul class="errorlist" id="id_(.+?)_error">(.*?)</ul>', page))
    assert set(complaints) == {"name", "allowed_scopes", "wire_format", "redirect_uris-0-uri"}
    assert all(complaint.count("<li>") == 1 for complaint in complaints.values())
