"""A holder whose sealed identity cannot be unsealed: what they and the relying party see."""

import re
import secrets
from collections.abc import Callable
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from infra.sealing import marks
from presentation.models import Interaction, RelyingParty
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import SignIn, ask, decide
from wallet.credential import credentials
from wallet.credential.claims import Identity
from wallet.models import Credential, Wallet

LOST, NEW = (secrets.token_urlsafe(32) for _ in range(2))
NONCE = "another-nonce-of-many-characters"


@pytest.fixture(autouse=True)
def identity(settings: Any, request: pytest.FixtureRequest) -> Identity:
    """Alice's identity, sealed under a key that is no longer configured."""
    settings.KEY_SEALING_KEYS = [LOST]
    alice = request.getfixturevalue("alice")
    known = credentials._identity(alice.credential)
    settings.KEY_SEALING_KEYS = [NEW, LOST]
    request.getfixturevalue("signing_key")
    request.getfixturevalue("sign_in")(alice)
    return known


def forget(settings: Any) -> None:
    lost = marks()[1][1:].hex()
    settings.KEY_SEALING_KEYS = [NEW]
    call_command("reseal", "--forget", lost, stdout=StringIO())


def lose(settings: Any) -> None:
    settings.KEY_SEALING_KEYS = [NEW]


def damage(settings: Any) -> None:
    value = bytes(Credential.objects.get().sealed_identity)
    Credential.objects.update(sealed_identity=value[:-1] + bytes([value[-1] ^ 1]))


def test_a_holder_whose_identity_was_forgotten_is_verified_again_and_goes_on(
    client: Client, acme_bank: RelyingParty, settings: Any, identity: Identity
) -> None:
    forget(settings)

    page = ask(client, acme_bank)
    assert page.endswith("/identity/")
    assert "Your verified identity cannot be read" in client.get(page).content.decode()
    credential = Credential.objects.select_related("wallet", "verification").get()
    with transaction.atomic():
        credentials.issue(credential.wallet, identity, credential.verification, now=timezone.now())
    interaction_url = client.get(page).headers["Location"]
    page = client.get(interaction_url).headers["Location"]
    assert "Archer" in client.get(page).content.decode()
    assert "vp_token" in fragment(client.get(decide(client, page)).headers["Location"])


@pytest.mark.parametrize("happen", [lose, damage])
def test_an_identity_that_does_not_unseal_is_our_fault_and_stays_stored(
    client: Client,
    acme_bank: RelyingParty,
    settings: Any,
    capsys: pytest.CaptureFixture[str],
    happen: Callable[[Any], None],
) -> None:
    before = bytes(Credential.objects.get().sealed_identity)
    happen(settings)

    page = client.get(PATH, asked(acme_bank))

    assert page.status_code == 503
    assert "Location" not in page.headers
    (link,) = re.findall(r'class="button" href="([^"]+)"', page.content.decode())
    answer = fragment(unescape(link))
    assert (answer["error"], answer["state"]) == ("server_error", "af0ifjsldkj")
    assert not Interaction.objects.exists()
    log = capsys.readouterr().err
    assert "wallet_credential.sealed_identity" in log
    assert "Archer" not in log
    settings.KEY_SEALING_KEYS = [NEW, LOST]
    Credential.objects.update(sealed_identity=before)
    assert ask(client, acme_bank, nonce=NONCE).startswith("/consent/")


@pytest.mark.parametrize("happen", [lose, damage])
def test_a_holder_who_already_sees_the_question_is_redirected_with_an_error(
    client: Client, acme_bank: RelyingParty, settings: Any, happen: Callable[[Any], None]
) -> None:
    shown, shown_and_answered = ask(client, acme_bank), ask(client, acme_bank, nonce=NONCE)
    interaction_url = decide(client, shown_and_answered)
    happen(settings)

    reloaded = client.get(shown)
    assert reloaded.status_code == 303
    for leads in (reloaded.headers["Location"], interaction_url):
        assert fragment(client.get(leads).headers["Location"])["error"] == "server_error"


def test_the_wallet_of_someone_else_is_none_the_worse(
    client: Client, acme_bank: RelyingParty, settings: Any, bob: Wallet, sign_in: SignIn
) -> None:
    lose(settings)
    sign_in(bob)

    assert ask(client, acme_bank, login_hint=bob.email).startswith("/consent/")
