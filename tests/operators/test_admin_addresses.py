"""Every URL of the admin with unexpected values: none causes a status of 500."""

import itertools
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from presentation.models import Interaction, RelyingParty
from presentation.relying_parties import registration
from presentation.relying_parties.authentication import client_secrets
from tests.consent.questions import put
from tests.operators.admin_addresses import addresses
from tests.people import register
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HUGE = "9" * 5000
IN_FILTERS = ["\0", HUGE, str(2**63), "-1", "9999-12-31 23:59:59-23:59"]
IN_PATHS = ["\0", HUGE, str(2**63), "_00", "²", str(uuid4())]
IN_QUERIES = ["a\0b", HUGE, "-1.-2.99", "//evil.example"]
IN_FIELDS = ["\0", HUGE, str(2**63), "[" * 20_000, '{"a": "\\u0000"}']
LOOKUPS = ["__exact", "__gte", "__year", "__range"]
OF_EACH_LIST = ["o", "q", "_facets"]  # the columns, fields to search and filters differ
QUERIES = [*OF_EACH_LIST, "p", "e", "_to_field"]
# A list and its filter for each kind of field, because what Django does with a value depends on that.
FILTERS = {
    (type(field := get_fields_from_path(model, name)[-1]), bool(field.choices)): (model, name)
    for model, own in admin.site._registry.items()
    for name in (model._meta.pk.name, *own.list_filter, own.date_hierarchy)
    if isinstance(name, str)
}


@pytest.fixture
def operator(client: Client, settings: Any) -> Client:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # pages with passwords, too
    client.force_login(User.objects.create_superuser("olga"))
    client.raise_request_exception = False
    return client


@pytest.fixture
def rows(alice: Wallet, signing_key: Any, acme_bank: RelyingParty) -> dict[str, Any]:
    """At least one row in every list."""
    now = timezone.now()
    Group.objects.get_or_create(name="Auditors")
    put(alice)
    register("Corner Books", "https://books.example/")
    notified = register(
        "Told", "https://told.example/", webhook_url="https://told.example/w", webhook_events=["x"]
    )
    Interaction.objects.create(
        relying_party=acme_bank,
        redirect_uri="https://b.example/",
        parameters={},
        created_at=now,
        expires_at=now,
    )
    client_secrets.rotate(notified, now=now)
    return {"notified": notified}


def failed(client: Client, method: str, address: str, *args: Any) -> str | None:
    """The request, if it caused a status of 500; its changes are rolled back."""
    with transaction.atomic():
        response = getattr(client, method)(address, *args)
        transaction.set_rollback(True)
    changed = {name: value for form in args for name, value in form.items() if value in IN_FIELDS}
    said = f"{method} {address[:90]} {str(changed)[:200]}: {response.status_code}"
    return said if response.status_code >= 500 else None


def of(model: type[models.Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def test_there_are_addresses_to_walk() -> None:
    found = set(addresses())
    assert {"/admin/", "/admin/jsi18n/", "/admin/keys/signingkey/{}/history/"} <= found
    assert len(found) > 80


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model.__name__)
def test_no_filter_of_a_list_ends_in_an_error_of_ours(operator: Client, rows: Any, model: Any) -> None:
    day = admin.site._registry[model].date_hierarchy
    names = [name for owner, name in FILTERS.values() if owner is model]
    asked = [{name + lookup: value} for name in names for lookup in LOOKUPS for value in IN_FILTERS]
    asked += [{f"{day}__year": "2026", f"{day}__month": value} for value in IN_FILTERS if day]
    queries = QUERIES if model is RelyingParty else OF_EACH_LIST
    asked += [{name: value} for name in queries for value in IN_QUERIES]

    assert not [x for query in asked if (x := failed(operator, "get", f"{of(model)}?{urlencode(query)}"))]


@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_no_query_of_a_rows_page_ends_in_an_error_of_ours(
    operator: Client, rows: dict[str, Any], page: str
) -> None:
    address = f"{of(RelyingParty)}{rows['notified'].pk}/{page}/"
    asked = [{name: value} for name in (*QUERIES, "_popup") for value in ("", *IN_QUERIES)]

    assert not [x for query in asked if (x := failed(operator, "get", f"{address}?{urlencode(query)}"))]
    assert operator.get(f"{address}?{urlencode({'_to_field': ''})}").status_code in (200, 400)


def test_a_list_with_unusable_filters_leads_to_itself_without_them(operator: Client) -> None:
    response = operator.get(f"{of(RelyingParty)}?state__exact=%00&created_at__year={2**63}")

    assert (response.status_code, response.headers["Location"]) == (302, f"{of(RelyingParty)}?e=1")
    assert operator.get(response.headers["Location"]).status_code == 200


def test_no_id_in_an_address_ends_in_an_error_of_ours(operator: Client, rows: Any) -> None:
    with_ids = [address for address in addresses() if "{}" in address]

    assert not [
        x
        for address in with_ids
        for value in IN_PATHS
        for method in ("get", "post")
        if (x := failed(operator, method, address.replace("{}", urlencode({"": value})[1:])))
    ]


def test_pages_by_content_type_are_not_there(operator: Client, rows: Any) -> None:
    kind = ContentType.objects.get_for_model(Interaction).pk

    for address in (f"/admin/r/{kind}/1/", f"/admin/r/{kind}/%00/", f"/admin/r/{2**63}/1/"):
        assert operator.get(address).status_code == 404


def pages_with_forms(rows: Any) -> Iterator[str]:
    """The URLs of one row's page of each model, and of every page without a row."""
    for address in addresses():
        if "{}" not in address and address != "/admin/logout/":
            yield address
    for model in admin.site._registry:
        row = model._default_manager.first()
        if row is not None:
            kept = [a for a in addresses() if a.startswith(f"{of(model)}{{}}/") and a.count("{}") == 1]
            yield from (address.replace("{}", str(row.pk)) for address in kept)


def fields_of(operator: Client, address: str) -> set[str]:
    """The names of the fields on a page, including those of its formsets."""
    page = operator.get(address).content.decode(errors="replace")
    return set(re.findall(r'<(?:input|select|textarea|button)[^>]*? name="([^"]+)"', page)) - {
        "csrfmiddlewaretoken"
    }


def test_no_value_in_a_form_ends_in_an_error_of_ours(operator: Client, rows: Any) -> None:
    found, seen = [], 0
    for address in pages_with_forms(rows):
        names = {n for n in fields_of(operator, address) if "__prefix__" not in n}
        seen += len(names)
        counts = {name: "1" for name in names if name.endswith("_FORMS")}
        for value in IN_FIELDS:
            form = dict.fromkeys(names, value)
            form |= {"action": value, "_selected_action": value, "index": value, "select_across": value}
            # Formsets of unusable counts are refused whole, whatever else is said.
            sent = [form] if not counts else [form | counts] + [form] * (value == HUGE)
            found += [x for form in sent if (x := failed(operator, "post", address, form))]

    assert not found
    assert seen > 50


def test_no_field_of_a_relying_party_alone_ends_in_an_error_of_ours(operator: Client, rows: Any) -> None:
    address = f"{of(RelyingParty)}{rows['notified'].pk}/change/"
    form = operator.get(address).context["adminform"].form
    good = {name: form[name].value() or "" for name in form.fields if "file" not in name}
    lists = ("allowed_claims", "grants", "minimum_assurance")
    good = {name: [] if name in lists else value for name, value in good.items()}
    good |= {"name": "Told", "jwks": "", "webhook_url": "", "webhook_events": []}
    for kind, uris in (
        ("redirect_uris", ["https://b.example/"]),
        ("response_uris", []),
        ("certified_client_ids", []),
    ):
        good |= {f"{kind}-TOTAL_FORMS": len(uris), f"{kind}-INITIAL_FORMS": 0}
        good |= {f"{kind}-{number}-uri": uri for number, uri in enumerate(uris)}
    good |= {"redirect_uris-INITIAL_FORMS": 1, "redirect_uris-0-id": rows["notified"].redirect_uris.get().pk}
    good |= {"redirect_uris-0-relying_party": rows["notified"].pk}
    taken = operator.post(address, good)
    assert taken.status_code == 302
    # All values in a field of each kind, and one in every other: the test above has all in all fields.
    kinds = {n: type(form.fields[n]) if n in form.fields else n.rpartition("-")[2] for n in good}
    first = set({kind: name for name, kind in reversed(kinds.items())}.values()) | {"redirect_uris-0-DELETE"}
    others = sorted({*good} - first)
    tried = [*itertools.product(first, IN_FIELDS), *zip(others, itertools.cycle(IN_FIELDS), strict=False)]

    assert len(tried) > 70
    assert not [x for name, value in tried if (x := failed(operator, "post", address, good | {name: value}))]


# --- Formsets ---------------------------------------------------------------------------------------------


def formsets() -> Iterator[Any]:
    """The classes of all formsets of the site: inlines and editable lists."""
    request: Any = RequestFactory().get("/")
    request.user = SimpleNamespace(has_perm=lambda *_: True, is_active=True, is_staff=True)
    for own in admin.site._registry.values():
        for inline in own.inlines:
            yield inline(own.model, admin.site).get_formset(request)
        if own.list_editable:
            yield own.get_changelist_formset(request)


def test_every_formset_has_a_limit_of_its_own() -> None:
    found = list(formsets())

    assert len(found) >= 3
    for formset in found:
        assert formset.max_num <= 50, formset
        assert formset.absolute_max <= 100, formset


def test_a_relying_party_with_more_addresses_than_the_limit_is_still_saved(
    operator: Client, rows: dict[str, Any]
) -> None:
    notified = rows["notified"]
    present = notified.redirect_uris.values_list("uri", flat=True)
    further = (f"https://told.example/{number}" for number in range(119))
    registration.set_addresses(notified, "redirect_uris", [*present, *further])
    address = f"{of(RelyingParty)}{notified.pk}/change/"
    page = operator.get(address)
    form: dict[str, Any] = dict(
        re.findall(
            r'<input[^>]*? name="((?:redirect_uris|response_uris|certified_client_ids)-[^"]+)"'
            r'[^>]*? value="([^"]*)"',
            page.content.decode(),
        )
    )
    form |= {
        "name": "Renamed",
        "allowed_scopes": notified.allowed_scopes,
        "wire_format": notified.wire_format,
    }

    response = operator.post(address, form)

    assert response.status_code == 302, response.context["errors"]
    notified.refresh_from_db()
    assert (notified.name, notified.redirect_uris.count()) == ("Renamed", 120)


def test_the_limit_holds_for_what_a_browser_says(operator: Client) -> None:
    fields = {"name": "Bookshop", "redirect_uris-INITIAL_FORMS": 0, "response_uris-INITIAL_FORMS": 0}
    fields |= {"redirect_uris-TOTAL_FORMS": 99_999, "response_uris-TOTAL_FORMS": 99_999}

    response = operator.post(f"{of(RelyingParty)}add/", fields)

    assert response.status_code == 200
    made = [len(own.formset.forms) for own in response.context["inline_admin_formsets"]]
    assert max(made) <= 100
    assert not RelyingParty.objects.exists()


@pytest.mark.parametrize("address", ["/admin/", "/admin/jsi18n/", "/admin/login/", "/admin/nowhere/"])
def test_no_cache_keeps_what_the_admin_answers(operator: Client, address: str) -> None:
    assert "no-store" in operator.get(address).headers["Cache-Control"]
