"""What a test that commits leaves behind is gone before the next one."""

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


def test_rows_that_a_test_committed_are_gone_whatever_refers_to_them(
    before: list[Any], alice: Wallet
) -> None:
    User.objects.create_user("olga").groups.add(Group.objects.first())

    emptying.empty()

    assert not Wallet.objects.exists()
    assert not User.objects.exists()
    assert rows() == before


def test_after_a_flush_ids_go_on_where_the_migrations_left_off(before: list[Any]) -> None:
    call_command("flush", interactive=False, verbosity=0)

    emptying.empty()

    assert rows() == before
    assert Group.objects.create(name="Auditors").pk > max(row["id"] for row in before[0])
    kind = ContentType.objects.get_for_model(Wallet).pk
    assert kind in {row["content_type_id"] for row in before[1]}


def test_what_the_migrations_wrote_is_put_back(before: list[Any]) -> None:
    assert all(before)
    Group.objects.all().delete()
    Permission.objects.all().update(name="changed")
    DatabaseMark.objects.all().delete()

    emptying.empty()

    assert rows() == before
    assert DatabaseMark.objects.exists()
