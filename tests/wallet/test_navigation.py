"""Every page of a signed-in holder has the links between them, and marks where it belongs."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.wallet.conftest import passkey_of
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGES = {
    "wallet_home": ("page", "Home"),
    "consent_history": ("page", "Receipts"),
    "wallet_security": ("page", "Security"),
    "wallet_data": ("page", "My data"),
    "wallet_close": ("true", "My data"),
    "wallet_passkey_add": ("true", "Security"),
    "wallet_passkey_rename": ("true", "Security"),
    "wallet_passkey_remove": ("true", "Security"),
    "wallet_email_change": ("true", "Security"),
    "wallet_recovery_ask": ("true", "Security"),
}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_a_holder_marks_where_it_belongs(holder: Client, alice: Wallet, name: str) -> None:
    passkey = passkey_of(alice, "Phone", timezone.now())
    args = [passkey.id] if name in ("wallet_passkey_rename", "wallet_passkey_remove") else []

    text = holder.get(reverse(name, args=args)).content.decode()

    navigation = text.split('class="wallet-navigation"')[1].split("</nav>")[0]
    assert re.findall(r'aria-current="(\w+)">([^<]+)<', navigation) == [PAGES[name]]
    assert navigation.count("<a ") == 4
