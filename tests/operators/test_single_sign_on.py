"""Operators sign in with the OpenID provider of their organisation: oidc-provider, which can also lie."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from infra.models import AuditLine
from operators.single_sign_on import provider as providers
from operators.single_sign_on.accounts import user_name
from tests.wallet.conftest import together
from tests.wallet.providers.openid_providers import SECRET, OpenIDProvider
from wallet.providers.options import OptionError

pytestmark = [pytest.mark.django_db, pytest.mark.node]
BEGIN, RETURN = "/admin/single-sign-on/", "/admin/single-sign-on/return/"
ROLES = "helpdesk=Support, keepers=Keys, keepers=Support"
OLGA = {"sub": "olga-17", "groups": ["staff", "helpdesk"], "given_name": "Olga", "family_name": "Brandt"}


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIDProvider]:
    provider = OpenIDProvider()
    yield provider
    provider.close()


@pytest.fixture(autouse=True)
def idp(running: OpenIDProvider, settings: Any) -> OpenIDProvider:
    """The provider, configured and honest; what this process knew of it is forgotten."""
    providers._loaded.cache_clear()
    settings.SINGLE_SIGN_ON = configured(running)
    running.play("claims", claims=OLGA)
    return running


def configured(provider: OpenIDProvider, **changes: str) -> dict[str, str]:
    return {
        "issuer": provider.issuer,
        "client_id": "basic client",
        "client_secret": SECRET,
        "name": "Example Ltd",
        "roles": ROLES,
        **changes,
    }


def comes_back(client: Client, idp: OpenIDProvider, begin: str = BEGIN) -> str:
    """The browser visits the provider. Gives our address to which the provider sends it back."""
    response = client.get(begin)
    assert response.status_code == 302, response.content
    address = idp.visit(response["Location"])
    assert address is not None
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def signs_in(client: Client, idp: OpenIDProvider, begin: str = BEGIN, **claims: Any) -> Any:
    idp.play("claims", claims={**OLGA, **claims})
    return client.get(comes_back(client, idp, begin))


def olga(idp: OpenIDProvider) -> User:
    return User.objects.get(username=user_name(idp.issuer, "olga-17"))


def roles(user: User) -> set[str]:
    return set(user.groups.values_list("name", flat=True))


def recorded() -> list[tuple[str, str]]:
    return [(line.action, json.loads(line.text)["reason"]) for line in AuditLine.objects.order_by("seq")]


def test_the_sign_in_page_offers_it_and_leads_back_to_the_page_that_was_wanted(
    client: Client, idp: OpenIDProvider
) -> None:
    page = client.get("/admin/login/?next=/admin/support/").content.decode()
    assert 'href="/admin/single-sign-on/?next=%2Fadmin%2Fsupport%2F">Sign in with Example Ltd</a>' in page

    response = signs_in(client, idp, f"{BEGIN}?next=%2Fadmin%2Fsupport%2F")

    assert (response.status_code, response["Location"]) == (302, "/admin/support/")
    assert client.get("/admin/support/").status_code == 200


def test_without_a_provider_there_is_neither_a_link_nor_an_address(client: Client, settings: Any) -> None:
    settings.SINGLE_SIGN_ON = {}

    assert "single-sign-on" not in client.get("/admin/login/").content.decode()
    assert [client.get(address).status_code for address in (BEGIN, RETURN)] == [404, 404]


def test_the_first_sign_in_makes_an_account_with_the_roles_of_the_groups(
    client: Client, idp: OpenIDProvider
) -> None:
    signs_in(client, idp)

    user = olga(idp)
    assert (user.get_full_name(), user.email, user.is_staff, user.is_superuser) == (
        "Olga Brandt",
        "",
        True,
        False,
    )
    assert not user.has_usable_password()
    assert roles(user) == {"Support"}
    assert recorded() == [("roles_given", "Support"), ("signed_in", "single sign-on")]
    assert set(AuditLine.objects.values_list("operator_id", flat=True)) == {user.pk}


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "Olga Brandt-Weil", "preferred_username": "olga"}, "Olga Brandt-Weil"),
        ({"preferred_username": "olga"}, "olga"),
        ({"name": 17, "preferred_username": "olga"}, "olga"),
        ({"given_name": "Olga", "name": "Somebody"}, "Olga"),
        ({}, ""),
    ],
)
def test_without_given_and_family_name_another_name_is_shown(
    client: Client, idp: OpenIDProvider, claims: dict[str, Any], name: str
) -> None:
    signs_in(client, idp, **{"given_name": None, "family_name": None, **claims})
    assert olga(idp).get_full_name() == name


def test_roles_follow_the_groups_at_every_sign_in(client: Client, idp: OpenIDProvider) -> None:
    signs_in(client, idp)
    olga(idp).groups.add(Group.objects.get(name="Relying parties"))  # by hand

    signs_in(client, idp, groups=["keepers"])
    assert roles(olga(idp)) == {"Keys", "Support"}
    signs_in(client, idp, groups="helpdesk")  # some providers write a single one so
    assert roles(olga(idp)) == {"Support"}


@pytest.mark.parametrize("groups", [[], ["staff"], ["Helpdesk"], None, {"helpdesk": True}, [["helpdesk"]], 7])
def test_who_is_in_no_group_with_a_role_is_not_signed_in(
    client: Client, idp: OpenIDProvider, groups: Any
) -> None:
    response = signs_in(client, idp, groups=groups)

    assert response.status_code == 403
    assert "Your groups at Example Ltd give you no role here." in response.content.decode()
    assert not User.objects.exists()
    assert not AuditLine.objects.exists()
    assert client.get("/admin/").status_code == 302


def test_who_lost_the_last_group_reaches_nothing_any_more_also_in_other_browsers(
    client: Client, idp: OpenIDProvider
) -> None:
    signs_in(client, idp)
    assert client.get("/admin/").status_code == 200

    assert signs_in(Client(), idp, groups=[]).status_code == 403

    assert (olga(idp).is_staff, roles(olga(idp))) == (False, set())
    assert recorded()[-1] == ("roles_given", "none")
    assert client.get("/admin/").status_code == 302


def test_an_account_belongs_to_the_subject_and_not_to_its_names_or_address(
    client: Client, idp: OpenIDProvider
) -> None:
    boss = User.objects.create_superuser("olga", "olga@example.org", "a password")
    signs_in(client, idp, email="olga@example.org", email_verified=True, preferred_username="olga")
    assert client.session["_auth_user_id"] != str(boss.pk)

    other = Client()
    signs_in(other, idp, sub="olga-18")
    assert other.session["_auth_user_id"] != client.session["_auth_user_id"]


@pytest.mark.parametrize("closed", ["inactive", "password"])
def test_an_account_that_was_closed_or_given_a_password_is_not_signed_in(
    client: Client, idp: OpenIDProvider, closed: str
) -> None:
    user = User.objects.create_superuser(user_name(idp.issuer, "olga-17"))
    if closed == "inactive":
        user.is_active = False
    else:
        user.set_password("a password that a colleague knows")
    user.save()

    response = signs_in(client, idp)

    assert response.status_code == 403
    assert "Your account here is closed." in response.content.decode()
    assert "_auth_user_id" not in client.session


def test_a_state_is_good_once_and_only_in_the_browser_that_began(client: Client, idp: OpenIDProvider) -> None:
    address = comes_back(client, idp)
    thief = Client()
    thief.get(BEGIN)

    refused = thief.get(address)
    assert refused.status_code == 400
    assert "begun in another browser" in refused.content.decode()  # and not asked of the provider
    assert Client().get(address).status_code == 400
    assert client.get(address).status_code == 302
    assert client.post("/admin/logout/").status_code in (200, 302)
    assert client.get(address).status_code == 400
    assert User.objects.count() == 1


def test_a_sign_in_that_took_too_long_begins_again(client: Client, idp: OpenIDProvider) -> None:
    address = comes_back(client, idp)
    session = client.session
    session["single_sign_on"] = {
        **session["single_sign_on"],
        "began": session["single_sign_on"]["began"] - 601,
    }
    session.save()

    response = client.get(address)

    assert response.status_code == 400
    assert "This sign-in is over" in response.content.decode()


@pytest.mark.parametrize(
    "lie",
    ["wrong-nonce", "wrong-iss", "wrong-aud", "aud-and-other", "wrong-azp", "expired", "iat-1970"]
    + ["wrong-at-hash", "no-sub", "wrong-key", "unknown-key", "alg-none", "alg-hs256", "no-id-token"],
)
def test_a_token_that_proves_nothing_signs_nobody_in(client: Client, idp: OpenIDProvider, lie: str) -> None:
    idp.play(lie)

    response = client.get(comes_back(client, idp))

    assert response.status_code == 403
    assert "You were not signed in at Example Ltd." in response.content.decode()
    assert not User.objects.exists()


def test_the_providers_refusal_is_said(client: Client, idp: OpenIDProvider) -> None:
    idp.play("denied")

    assert client.get(comes_back(client, idp)).status_code == 403


def test_the_answer_of_another_issuer_is_refused(client: Client, idp: OpenIDProvider) -> None:
    address = comes_back(client, idp)
    issuer = parse_qs(urlsplit(address).query)["iss"][0]
    assert issuer == idp.issuer
    before = idp.calls("/token")

    changed = address.replace("iss=", "iss=https%3A%2F%2Fevil.example&was=")

    assert client.get(changed).status_code == 403
    assert idp.calls("/token") == before


def test_while_the_provider_is_away_operators_are_told_when_to_come_back(
    client: Client, idp: OpenIDProvider
) -> None:
    with idp.down():
        providers._loaded.cache_clear()
        response = client.get(BEGIN)

    assert (response.status_code, response["Retry-After"]) == (502, "10")
    assert "Example Ltd cannot be reached." in response.content.decode()


@pytest.mark.parametrize("wanted", ["//evil.example/admin/", "https://evil.example/", "/wallet/", "x"])
def test_it_leads_to_pages_of_the_admin_only(client: Client, idp: OpenIDProvider, wanted: str) -> None:
    assert signs_in(client, idp, f"{BEGIN}?next={wanted}")["Location"] == "/admin/"


def test_the_second_factor_of_this_service_is_asked_for_unless_the_provider_proved_one(
    client: Client, idp: OpenIDProvider, settings: Any
) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    signs_in(client, idp, amr=["pwd", "mfa"])
    assert client.get("/admin/")["Location"].startswith("/admin/login/")
    assert client.get("/admin/login/?next=/admin/")["Location"].startswith("/admin/second-factor/")

    settings.SINGLE_SIGN_ON = configured(idp, second_factor="urn:test:strong mfa")
    for number, claims in enumerate([{"amr": ["pwd", "mfa"]}, {"acr": "urn:test:strong"}]):
        browser = Client()
        signs_in(browser, idp, **claims)
        assert browser.get("/admin/").status_code == 200, number
    for claims in ({"acr": "urn:test:weak", "amr": ["pwd"]}, {"amr": "mfa"}, {"amr": [["mfa"]]}):
        browser = Client()
        signs_in(browser, idp, **{"acr": "0", **claims})
        assert browser.get("/admin/").status_code == 302, claims


def test_a_password_sign_in_after_it_still_needs_its_own_second_factor(
    client: Client, idp: OpenIDProvider, settings: Any
) -> None:
    settings.OPERATOR_SECOND_FACTOR = True
    settings.SINGLE_SIGN_ON = configured(idp, second_factor="mfa")
    User.objects.create_superuser("boss", password="a password")
    signs_in(client, idp, amr=["mfa"])
    assert client.get("/admin/").status_code == 200

    client.post("/admin/login/", {"username": "boss", "password": "a password", "next": "/admin/"})

    assert client.get("/admin/").status_code == 302


@pytest.mark.usefixtures("windows_just_begun")
def test_beginning_is_limited_by_client(client: Client, settings: Any) -> None:
    statuses = [client.get(BEGIN).status_code for _ in range(22)]

    assert statuses[:20] == [302] * 20
    assert statuses[20:] == [429] * 2


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"issuer": "http://idp.example"}, "SINGLE_SIGN_ON_FILE: issuer must be an https address"),
        ({"issuer": ""}, "SINGLE_SIGN_ON_FILE: issuer must be set"),
        ({"client_secret": ""}, "SINGLE_SIGN_ON_FILE: client_secret must be set"),
        ({"roles": "helpdesk"}, "SINGLE_SIGN_ON_FILE: roles must be pairs"),
        ({"roles": "=Support"}, "SINGLE_SIGN_ON_FILE: roles must be pairs"),
        ({"roles": ""}, "SINGLE_SIGN_ON_FILE: roles must be set"),
        ({"scope": "profile"}, "SINGLE_SIGN_ON_FILE: scope must contain openid"),
        ({"role": "helpdesk=Support"}, "SINGLE_SIGN_ON_FILE: role: this provider has no such option"),
    ],
)
def test_a_wrong_setting_is_named(idp: OpenIDProvider, changes: dict[str, str], error: str) -> None:
    with pytest.raises(OptionError, match=error):
        providers.read(configured(idp, **changes), loopback=True)


def test_a_group_name_may_contain_an_equals_sign(idp: OpenIDProvider) -> None:
    read = providers.read(configured(idp, roles="cn=ops=Keys"), loopback=True)
    assert read.roles == {"cn=ops": frozenset({"Keys"})}


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql
def test_two_browsers_that_sign_in_first_at_the_same_moment_share_one_account(
    idp: OpenIDProvider,
) -> None:
    Group.objects.get_or_create(name="Support")
    browsers = [Client(), Client()]
    addresses = [comes_back(browser, idp) for browser in browsers]

    answers = together(lambda number: browsers[number].get(addresses[number]).status_code, 2)

    assert answers == [302, 302]
    assert User.objects.count() == 1
