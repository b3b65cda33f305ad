"""The five roles of operators in the real admin: what each may do, and nothing else."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from tests.presentation.relying_parties.operator_roles import (
    AUDIT,
    IDENTITY_REVIEW,
    KEYS,
    RELYING_PARTIES,
    make_roles,
    operator,
    release,
)
from tests.warm_start import run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_groups")]

SUPPORT = "Support"

# Every list of the admin, and the roles that may read it. Other roles do not see that it exists.
LISTS = {
    "presentation/relyingparty": {RELYING_PARTIES, AUDIT},
    "presentation/scope": {RELYING_PARTIES, AUDIT},
    "presentation/interaction": {RELYING_PARTIES, AUDIT},
    "presentation/webhookevent": {RELYING_PARTIES, AUDIT},
    "consent/consent": {AUDIT},
    "consent/report": {RELYING_PARTIES, AUDIT},
    "wallet/wallet": {IDENTITY_REVIEW, AUDIT},
    "wallet/identityverification": {IDENTITY_REVIEW, AUDIT},
    "wallet/credential": {IDENTITY_REVIEW, AUDIT},
    "wallet/statusentry": {IDENTITY_REVIEW, AUDIT},
    "wallet/statusevent": {IDENTITY_REVIEW, AUDIT},
    "infra/auditline": {AUDIT},
    "wallet/recovery": {IDENTITY_REVIEW, AUDIT},
    "wallet/walletclosure": {IDENTITY_REVIEW, AUDIT},
    "keys/signingkey": {KEYS, AUDIT},
    "keys/statementkey": {KEYS, AUDIT},
    "keys/idtokenkey": {KEYS, AUDIT},
    "keys/authority": {KEYS, AUDIT},
    "keys/keyevent": {KEYS, AUDIT},
    "infra/outgoingemail": {IDENTITY_REVIEW, AUDIT},
    "auth/user": set(),
    "auth/group": set(),
}
NAMES = [RELYING_PARTIES, IDENTITY_REVIEW, KEYS, AUDIT, SUPPORT]


def test_the_migration_makes_five_groups_and_can_be_repeated() -> None:
    before = {
        group.name: set(group.permissions.values_list("codename", flat=True)) for group in Group.objects.all()
    }
    count = Permission.objects.count()

    make_roles()

    assert set(before) == set(NAMES)
    assert all(before.values())
    assert Permission.objects.count() == count
    assert before == {
        group.name: set(group.permissions.values_list("codename", flat=True)) for group in Group.objects.all()
    }


def test_a_fresh_database_has_the_groups_with_their_permissions(tmp_path: Path) -> None:
    database = tmp_path / "fresh.sqlite3"
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{database}"}
    run(environment, "manage.py", "migrate", "--verbosity", "0").check_returncode()

    with contextlib.closing(sqlite3.connect(database)) as fresh:
        found = dict(
            fresh.execute(
                "SELECT name, COUNT(permission_id) FROM auth_group"
                " LEFT JOIN auth_group_permissions ON group_id = auth_group.id GROUP BY name"
            )
        )
        twice = fresh.execute(
            "SELECT codename FROM auth_permission GROUP BY content_type_id, codename HAVING COUNT(*) > 1"
        ).fetchall()
    expected = {
        role: sum(len(actions) for models in parts.values() for actions in models.values())
        for role, parts in release.ROLES.items()
    }
    assert found == expected
    assert twice == []


def test_permissions_are_named_as_django_names_them() -> None:
    for permission in Permission.objects.filter(group__isnull=False).distinct():
        declared = apps.get_model(permission.content_type.app_label, permission.content_type.model)
        if own := dict(declared._meta.permissions).get(permission.codename):
            assert permission.name == own
            continue
        action, _model = permission.codename.split("_")
        assert permission.name == f"Can {action} {declared._meta.verbose_name_raw}"


@pytest.mark.parametrize("role", NAMES)
@pytest.mark.parametrize("path", LISTS)
def test_each_role_sees_its_part_and_no_other(role: str, path: str) -> None:
    client = operator(role)
    known = path in client.get("/admin/").content.decode()

    assert client.get(f"/admin/{path}/").status_code == (200 if role in LISTS[path] else 403)
    assert known is (role in LISTS[path])


def test_every_list_of_the_admin_is_in_the_table() -> None:
    from django.contrib import admin

    registered = {f"{model._meta.app_label}/{model._meta.model_name}" for model in admin.site._registry}
    assert registered == set(LISTS)


def test_the_audit_role_can_only_read() -> None:
    permissions = Group.objects.get(name=AUDIT).permissions.values_list("codename", flat=True)

    assert all(codename.startswith("view_") for codename in permissions)


def test_no_role_may_change_secrets_or_histories() -> None:
    for model in (
        "logincode",
        "holdersession",
        "redirect_task",
        "allowance",
        "user",
        "group",
        "permission",
        "session",
    ):
        assert not Permission.objects.filter(group__isnull=False, content_type__model=model).exists()


def test_relying_parties_registers_changes_and_suspends(acme_bank: RelyingParty) -> None:
    client = operator(RELYING_PARTIES)
    base = f"/admin/presentation/relyingparty/{acme_bank.pk}"

    assert client.get("/admin/presentation/relyingparty/add/").status_code == 200
    assert 'name="_save"' in client.get(f"{base}/change/").content.decode()
    assert client.post(f"{base}/suspend/", {"reason": "x"}).status_code == 302
    assert client.post(f"{base}/reinstate/").status_code == 302
    assert client.get(f"{base}/history/").status_code == 200
    assert client.post(f"{base}/delete/", {"post": "yes"}).status_code == 403
    assert RelyingParty.objects.get().state == "active"


@pytest.mark.parametrize("role", [IDENTITY_REVIEW, KEYS, AUDIT])
def test_no_other_role_can_change_a_relying_party(role: str, acme_bank: RelyingParty) -> None:
    client = operator(role)
    base = f"/admin/presentation/relyingparty/{acme_bank.pk}"

    assert client.get("/admin/presentation/relyingparty/add/").status_code == 403
    for path, data in (("change", {"name": "x"}), ("suspend", {"reason": "x"}), ("reinstate", {})):
        assert client.post(f"{base}/{path}/", data).status_code == 403
    for row in (acme_bank.pk, 4711):  # the page does not reveal which exist
        assert client.get(f"/admin/presentation/relyingparty/{row}/suspend/").status_code == 403
    assert "/suspend/" not in client.get(f"{base}/change/").content.decode()
    acme_bank.refresh_from_db()
    assert (acme_bank.name, acme_bank.state) == ("Acme Bank", "active")


def test_keys_can_stage_a_key_and_no_other_role_can(signing_key: Any) -> None:
    from keys.models import SigningKey

    before = SigningKey.objects.count()
    address = "/admin/keys/signingkey/do/stage/"
    for role in (RELYING_PARTIES, IDENTITY_REVIEW, AUDIT):
        assert operator(role).post(address).status_code == 403
    assert SigningKey.objects.count() == before

    assert operator(KEYS).post(address, {"yes": "1"}).status_code == 302
    assert SigningKey.objects.count() == before + 1


def test_identity_review_decides_an_attempt_and_no_other_role_can() -> None:
    from wallet.models import IdentityVerification, Wallet

    now = timezone.now()
    wallet = Wallet.objects.create(email="nora@example.org", created_at=now)
    attempt = IdentityVerification.objects.create(
        wallet=wallet, state="review", provider="operator", created_at=now, changed_at=now
    )
    base = f"/admin/wallet/identityverification/{attempt.pk}"
    for role in (RELYING_PARTIES, KEYS, AUDIT):
        assert operator(role).post(f"{base}/do/decline/", {"reason": "forged"}).status_code == 403
    attempt.refresh_from_db()
    assert attempt.state == "review"

    reviewer = operator(IDENTITY_REVIEW)
    reviewer.post(f"{base}/do/claim/")
    response = reviewer.post(f"{base}/do/decline/", {"reason": "forged"})

    assert response.status_code == 302
    attempt.refresh_from_db()
    assert attempt.state == "declined"


def test_a_member_of_staff_without_a_role_can_do_nothing() -> None:
    client = Client()
    client.force_login(User.objects.create_user("new", is_staff=True))

    for path in LISTS:
        assert client.get(f"/admin/{path}/").status_code == 403
