"""The rows that a test committed are deleted before the next test."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from infra.models import DatabaseMark
from tests import emptying
from wallet.models import Wallet


@pytest.fixture
def before(transactional_db: None) -> list[Any]:
    return rows()


def rows() -> list[Any]:
    parts = Group.permissions.through.objects
    return [list(model.order_by("pk").values()) for model in (Group.objects, Permission.objects, parts)]


def test_rows_that_a_test_committed_are_deleted_with_all_references(before: list[Any], alice: Wallet) -> None:
    User.objects.create_user("olga").groups.add(Group.objects.first())

    emptying.empty()

    assert not Wallet.objects.exists()
    assert not User.objects.exists()
    assert rows() == before


def test_after_a_flush_ids_continue_after_those_of_the_migrations(before: list[Any]) -> None:
    call_command("flush", interactive=False, verbosity=0)

    emptying.empty()

    assert rows() == before
    assert Group.objects.create(name="Auditors").pk > max(row["id"] for row in before[0])
    kind = ContentType.objects.get_for_model(Wallet).pk
    assert kind in {row["content_type_id"] for row in before[1]}


def test_the_rows_of_the_migrations_are_restored(before: list[Any]) -> None:
    assert all(before)
    Group.objects.all().delete()
    Permission.objects.all().update(name="changed")
    DatabaseMark.objects.all().delete()

    emptying.empty()

    assert rows() == before
    assert DatabaseMark.objects.exists()
