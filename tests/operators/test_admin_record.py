"""What operators do and look at in the admin is in the audit record, one line each."""

import json
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from infra.models import AuditLine
from operators.site import Audited
from presentation.models import RelyingParty
from wallet.models import Wallet

pytestmark = pytest.mark.django_db
ALICE = "alice@example.org"


@pytest.fixture
def olga(settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_superuser("olga", "olga@example.org", "correct horse battery")


@pytest.fixture
def operator(client: Client, olga: User) -> Client:
    client.force_login(olga)
    return client


def lines() -> list[tuple[str, str]]:
    return list(AuditLine.objects.order_by("seq").values_list("action", "about"))


@pytest.mark.slow
def test_each_model_of_the_admin_is_audited() -> None:
    assert all(isinstance(own, Audited) for own in admin.site._registry.values())


def test_the_pages_that_show_no_person_are_these_and_no_others() -> None:
    exempt = {
        model._meta.label
        for model, own in admin.site._registry.items()
        if getattr(own, "shows_no_person", False)
    }
    assert exempt == {
        "keys.SigningKey",
        "keys.StatementKey",
        "keys.IdTokenKey",
        "keys.Authority",
        "presentation.Scope",
    }


def test_each_look_at_a_wallet_is_one_line_without_the_address_that_was_searched_for(
    operator: Client, olga: User, alice: Wallet
) -> None:
    operator.get("/admin/wallet/wallet/", {"q": ALICE})
    operator.get(f"/admin/wallet/wallet/{alice.pk}/change/")
    operator.get(f"/admin/wallet/wallet/{alice.pk}/history/")
    operator.get(f"/admin/wallet/wallet/{alice.pk}/do/suspend/")
    operator.get("/admin/wallet/wallet/00000000-0000-4000-8000-000000000000/change/")

    row = f"wallet.wallet:{alice.pk}"
    expected = [("list_seen", "wallet.wallet"), ("page_seen", row), ("history_seen", row), ("page_seen", row)]
    assert lines() == expected
    assert set(AuditLine.objects.values_list("operator_id", flat=True)) == {olga.pk}
    assert "@" not in "".join(AuditLine.objects.values_list("text", flat=True))


def test_an_operation_is_one_line_with_its_reason(operator: Client, alice: Wallet) -> None:
    operator.post(f"/admin/wallet/wallet/{alice.pk}/do/suspend/", {"reason": f"{ALICE} lost her phone"})

    assert lines() == [("suspend", f"wallet.wallet:{alice.pk}")]
    assert json.loads(AuditLine.objects.get().text)["reason"] == "[address left out] lost her phone"


def test_what_an_operator_adds_changes_and_deletes_is_one_line_each(operator: Client) -> None:
    operator.post("/admin/auth/group/add/", {"name": "Auditors"})
    group = Group.objects.get(name="Auditors")
    allowed = {"name": "Readers", "permissions": [Permission.objects.order_by("pk")[0].pk]}
    operator.post(f"/admin/auth/group/{group.pk}/change/", allowed)
    operator.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})

    row = f"auth.group:{group.pk}"
    assert lines() == [("added", row), ("changed", row), ("deleted", row)]
    assert "Name and Permissions" in AuditLine.objects.get(seq=2).text


def test_each_of_the_rows_chosen_in_a_list_is_a_line(operator: Client) -> None:
    rows = [Group.objects.create(name=name).pk for name in "AB"]
    chosen = {"action": "delete_selected", "_selected_action": rows, "post": "yes"}

    assert operator.post("/admin/auth/group/", chosen).status_code == 302

    assert sorted(lines()) == [("deleted", f"auth.group:{pk}") for pk in sorted(rows)]
    assert not Group.objects.filter(pk__in=rows).exists()


def test_a_new_password_is_a_line_for_oneself_and_for_another(operator: Client, olga: User) -> None:
    otto = User.objects.create_user("otto", is_staff=True)
    new = {
        "password1": "another horse battery",
        "password2": "another horse battery",
        "usable_password": True,
    }
    operator.post(f"/admin/auth/user/{otto.pk}/password/", new)
    own = {"old_password": "correct horse battery", "new_password1": "a third battery"}
    operator.post("/admin/password_change/", {**own, "new_password2": "something else"})
    operator.post("/admin/password_change/", {**own, "new_password2": "a third battery"})

    assert [line for line in lines() if line[0] != "page_seen"] == [
        ("changed", f"auth.user:{otto.pk}"),
        ("password_changed", ""),
    ]


def test_signing_in_and_out_are_lines_and_a_wrong_password_is_none(client: Client, olga: User) -> None:
    form = {"username": "olga", "password": "wrong"}
    client.post("/admin/login/", form)
    client.post("/admin/login/", form | {"password": "correct horse battery"})
    client.post("/admin/logout/")
    client.post("/admin/logout/")

    assert lines() == [("signed_in", ""), ("signed_out", "")]
    assert set(AuditLine.objects.values_list("operator_id", flat=True)) == {olga.pk}


@pytest.mark.parametrize(
    "act",
    [
        lambda client, party, wallet: client.post(
            f"/admin/presentation/relyingparty/{party.pk}/suspend/", {"reason": "Complaints"}
        ),
        lambda client, party, wallet: client.post("/admin/auth/group/add/", {"name": "New"}),
        lambda client, party, wallet: client.post(
            f"/admin/presentation/relyingparty/{party.pk}/secrets/", {"before": "end"}
        ),
        lambda client, party, wallet: client.get(f"/admin/wallet/wallet/{wallet.pk}/change/"),
        lambda client, party, wallet: client.get("/admin/wallet/wallet/", {"q": ALICE}),
    ],
    ids=["operation", "added", "secret", "page", "list"],
)
def test_what_cannot_be_recorded_is_neither_done_nor_shown(
    operator: Client, acme_bank: RelyingParty, alice: Wallet, monkeypatch: pytest.MonkeyPatch, act: Any
) -> None:
    def unwritable(*args: Any, **values: Any) -> None:
        raise OSError("The disk is full.")

    operator.raise_request_exception = False
    monkeypatch.setattr(AuditLine, "save", unwritable)

    response = act(operator, acme_bank, alice)

    assert response.status_code == 500
    assert ALICE not in response.content.decode()
    assert RelyingParty.objects.get(pk=acme_bank.pk).state == "active"
    assert not Group.objects.filter(name="New").exists()
    assert not acme_bank.client_secrets.exists()


def test_the_record_is_read_by_auditors_and_reading_it_is_recorded(operator: Client, alice: Wallet) -> None:
    operator.get(f"/admin/wallet/wallet/{alice.pk}/change/")

    listing = operator.get("/admin/infra/auditline/", {"q": f"wallet.wallet:{alice.pk}"})

    assert "page_seen" in listing.content.decode()
    me = User.objects.get()
    assert f'class="field-operator">{me.username}<' in listing.content.decode()
    assert operator.get("/admin/infra/auditline/1/change/").status_code == 200
    me.first_name, me.last_name = "Olga", "Brandt"
    me.save()
    assert "Olga Brandt" in operator.get("/admin/infra/auditline/1/change/").content.decode()
    assert operator.post("/admin/infra/auditline/1/delete/", {"post": "yes"}).status_code == 403
    assert [action for action, _about in lines()] == ["page_seen", "list_seen", *["page_seen"] * 2]
    operator.force_login(User.objects.create_user("otto", is_staff=True))
    assert operator.get("/admin/infra/auditline/").status_code == 403
