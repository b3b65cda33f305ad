"""No address whose query has a parameter of the answer can be registered; one that is, stays and is named."""

import json
from io import StringIO
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from infra.doctor import State
from infra.registering import NotRegistrableError
from presentation.dcql.queries import BASIC
from presentation.diagnosis import addresses
from presentation.models import RedirectURI, RelyingParty, ResponseURI
from presentation.parameters import QUERY
from presentation.relying_parties import registration
from presentation.relying_parties.metadata.answer_names import OF_ANSWERS, OF_BEGINNINGS, in_query
from presentation.relying_parties.metadata.redirect_uris import check_query, problem_with_start
from presentation.requests.client import ReturnAddress
from presentation.requests.delivery.posting import form as posted
from tests.presentation.relying_parties.admin_form import LIST, form, page

CALLBACK = "https://app.example/callback"
TAKEN = [
    *(f"{name}=x" for name in sorted(OF_ANSWERS)),
    *("state", "state=", "tenant=1&state=x", "tenant=1;state=x", "&state=x", ";&state", "a=b&&state=x&c=d"),
    *("STATE=x", "State=x", "%73tate=x", "%53TATE=x", "stat%65", "state%3D=x"),
    *("+state=x", "%20state=x", "state+=x", "%09state=x", "state%00=x", "state%00y=x"),
    *("state[]=x", "state%5B%5D=x", "state[0]=x", "error.description=x", "error+description=x"),
    *("error%2Edescription=x", "x=1?&code=y", "vp.token"),
]
FREE = [
    *(
        "",
        "tenant=1",
        "x=state",
        "x=%26state=1",
        "tenant%26state=1",
        "states=1",
        "mystate=1",
        "my_code=1",
        "=state",
    ),
    *("st%61tes=1", "%2573tate=x", "x[state]=1", "error-uri=x", "a=b&c=code&d=iss", "next=%2Fhome%3Fcode"),
]
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("query", TAKEN)
def test_a_name_of_the_answer_is_found_however_it_is_written(query: str) -> None:
    with pytest.raises(NotRegistrableError) as refused:
        check_query(f"{CALLBACK}?{query}")

    assert in_query(f"{CALLBACK}?{query}")[0] in str(refused.value.reason)
    assert in_query(f"com.example.app:/callback?{query}")


@pytest.mark.parametrize("query", FREE)
def test_every_other_query_is_left_to_the_application(query: str) -> None:
    check_query(f"{CALLBACK}?{query}")


def test_a_name_in_the_path_is_no_parameter() -> None:
    check_query("https://app.example/code/state;iss=1/error")


def written(name: str) -> st.SearchStrategy[str]:
    """The name with some of its letters escaped, and in another case."""
    letter = st.sampled_from([str, str.upper, lambda c: f"%{ord(c):02x}", lambda c: f"%{ord(c.upper()):02X}"])
    letters = st.lists(letter, min_size=len(name), max_size=len(name))
    return letters.map(lambda forms: "".join(form(c) for form, c in zip(forms, name, strict=True)))


pairs = st.tuples(st.text(max_size=8), st.text(max_size=8)).map(lambda pair: "=".join(map(quote, pair)))


@given(st.lists(pairs, max_size=3), st.sampled_from(sorted(OF_ANSWERS)), st.sampled_from("&;"), st.data())
def test_no_neighbour_hides_a_name(before: list[str], name: str, between: str, data: st.DataObject) -> None:
    parameter = data.draw(written(name)) + data.draw(st.sampled_from(["", "=", "=x", "[]=x"]))

    assert name in in_query(f"{CALLBACK}?{between.join([*before, parameter])}")


@given(st.lists(pairs, max_size=3))
def test_an_answer_has_each_of_its_names_once_at_every_address_that_can_be_registered(
    query: list[str],
) -> None:
    uri = f"{CALLBACK}?{'&'.join(query)}"
    answer = {"code": "1", "iss": "https://wallet.example"}
    try:
        check_query(uri)
    except NotRegistrableError:
        return
    returned = ReturnAddress(uri, "s", QUERY).with_answer(answer)

    names = [name for name, _ in parse_qsl(urlsplit(returned).query, keep_blank_values=True)]
    assert [names.count(name) for name in ("code", "iss", "state")] == [1, 1, 1]


def test_an_answer_has_no_name_that_could_have_been_registered() -> None:
    answer = {"code": "1", "refresh": "2"}

    for made in (ReturnAddress(CALLBACK).with_answer, lambda it: posted(it, None, None)):
        with pytest.raises(ValueError, match="refresh"):
            made(answer)


@pytest.mark.parametrize("name", sorted(OF_BEGINNINGS))
def test_the_address_where_requests_begin_keeps_the_names_free_that_it_gets(name: str) -> None:
    assert problem_with_start(f"https://app.example/start?{name}=x", [CALLBACK])
    assert problem_with_start("https://app.example/start?state=x", [CALLBACK]) is None


# Every way to register one


def test_no_command_registers_one(tmp_path: Path, acme_bank: RelyingParty) -> None:
    wrong = f"{CALLBACK}?state=mine"
    wanted = tmp_path / "wanted.json"
    for where in ("redirect", "response"):
        words = ["--name=App", f"--scope={BASIC}", f"--redirect-uri={CALLBACK}", f"--{where}-uri={wrong}"]
        with pytest.raises(CommandError, match="Take state out of the query"):
            call_command("register_relying_party", *words, stdout=StringIO())
        wanted.write_text(json.dumps({f"{where}_uris": [wrong]}))
        with pytest.raises(CommandError, match="Take state out of the query"):
            call_command("change_relying_party", acme_bank.client_id, f"--file={wanted}", stdout=StringIO())
    assert RelyingParty.objects.count() == 1


def test_the_admin_registers_none(client: Client) -> None:
    client.force_login(User.objects.create_superuser("operator"))

    response = client.post(f"{LIST}add/", form(f"{CALLBACK}?error_description=x"))

    assert "Take error_description out of the query" in page(response)
    assert not RelyingParty.objects.exists()


# One from before


@pytest.fixture
def registered_before(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.redirect_uris.all().delete()
    RedirectURI.objects.create(relying_party=acme_bank, uri=f"{CALLBACK}?state=mine")
    return acme_bank


def test_a_change_of_something_else_keeps_it_in_the_admin(
    client: Client, registered_before: RelyingParty
) -> None:
    client.force_login(User.objects.create_superuser("operator"))
    row = registered_before.redirect_uris.get()
    rows = {"redirect_uris-INITIAL_FORMS": 1, "redirect_uris-0-id": row.pk}
    address = f"{LIST}{registered_before.pk}/change/"
    rows["redirect_uris-0-relying_party"] = registered_before.pk

    client.post(address, form(row.uri, **rows, name="Another name"))
    assert RelyingParty.objects.get().name == "Another name"
    assert registered_before.redirect_uris.get() == row

    refused = client.post(address, form(f"{CALLBACK}?state=other", **rows))
    assert "Take state out of the query" in page(refused)


def test_a_change_of_another_address_keeps_it(registered_before: RelyingParty) -> None:
    old = registered_before.redirect_uris.get().uri

    registration.set_addresses(registered_before, "redirect_uris", [old, "https://app.example/second"])
    with pytest.raises(ValidationError):
        registration.set_addresses(registered_before, "redirect_uris", [old, f"{CALLBACK}?iss=x"])

    assert old in registered_before.redirect_uris.values_list("uri", flat=True)


def test_the_doctor_names_whose_address_it_is(acme_bank: RelyingParty, corner_shop: RelyingParty) -> None:
    now = timezone.now()
    RedirectURI.objects.create(relying_party=corner_shop, uri=f"{CALLBACK}?tenant=1")
    assert addresses(now)[0] is State.OK

    ResponseURI.objects.create(relying_party=acme_bank, uri=f"{CALLBACK}?%76p_token=1")
    state, seen = addresses(now)
    assert (state, acme_bank.client_id in seen, corner_shop.client_id in seen) == (State.SOON, True, False)

    RelyingParty.objects.filter(pk=corner_shop.pk).update(initiate_login_uri="https://app.example/?ISS=1")
    assert corner_shop.client_id in addresses(now)[1]
