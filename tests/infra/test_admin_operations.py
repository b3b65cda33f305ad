"""Rules for all operations of the admin, in every app."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models.signals import pre_save
from django.test import Client
from django.utils import timezone

from infra.admin.operations import OperationsAdmin
from infra.models import OutgoingEmail
from infra.operations import Operation
from keys.models import IdTokenKey, SigningKey, StatementKey
from presentation.models import RelyingParty
from presentation.webhooks.models import WebhookEvent
from wallet.models import Credential, IdentityVerification, Recovery, StatusEntry, Wallet

ADMINS = {model: own for model, own in admin.site._registry.items() if isinstance(own, OperationsAdmin)}
NOT_RUN = Operation(label="One").run


def operations() -> Iterator[Any]:
    for model, own in ADMINS.items():
        for name, operation in own.operations.items():
            yield pytest.param(model, operation, id=f"{model.__name__} {name}")


def test_every_row_that_operators_move_goes_through_operations() -> None:
    assert set(ADMINS) == {
        *(SigningKey, Wallet, IdentityVerification, Credential, StatusEntry, RelyingParty, WebhookEvent),
        *(StatementKey, IdTokenKey, Recovery, OutgoingEmail),
    }
    assert all(own.operations for own in ADMINS.values())


@pytest.mark.parametrize(("model", "operation"), list(operations()))
def test_an_operation_is_confirmed_and_run_or_has_a_page_of_its_own(model: Any, operation: Operation) -> None:
    confirmed = bool(operation.question) and operation.run is not NOT_RUN

    assert confirmed is (operation.page is None)
    assert confirmed or operation.run is NOT_RUN
    known = {choice for choice, _label in model._meta.get_field(ADMINS[model].state_field).choices}
    assert set(operation.states) <= known


def test_an_operation_with_a_page_of_its_own_is_never_run() -> None:
    with pytest.raises(NotImplementedError, match="page of its own"):
        NOT_RUN(None, {}, "olga", timezone.now())


@pytest.mark.django_db
def test_what_cannot_be_written_to_the_history_is_not_done(acme_bank: RelyingParty) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("olga"))

    def unwritable(**_: Any) -> None:
        raise OSError("The disk is full.")

    pre_save.connect(unwritable, sender=LogEntry)
    try:
        address = f"/admin/presentation/relyingparty/{acme_bank.pk}/suspend/"
        assert client.post(address, {"reason": "Complaints"}).status_code == 500
    finally:
        pre_save.disconnect(unwritable, sender=LogEntry)

    assert RelyingParty.objects.get().state == "active"
