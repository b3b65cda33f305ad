"""A form that was shown to one holder does nothing for another, who signed in later in the same browser."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.typed_identities import TYPED_BY_NORA
from wallet.models import EmailChange, IdentityVerification, Picture, RedirectTask, Wallet, WalletClosure

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
# The pages whose forms ask nobody to be signed in, or name what they are about themselves.
WITHOUT = {
    *("consent/review.html", "consent/closed.html", "presentation/delivery.html"),
    *("includes/deadline.html", "includes/time_warning.html"),  # the request
    *("includes/languages.html", "includes/account.html", "consent/receipt_check.html"),
    *("wallet/sign_in.html", "wallet/send_form.html", "wallet/code.html", "wallet/link.html"),
    *("wallet/front_door.html", "wallet/switch.html", "wallet/passkeys/sign_in.html"),
    *("wallet/address/undo.html", "wallet/recovery/begin.html", "wallet/recovery/stop.html"),
    *("presentation/form_post.html", "presentation/way_back.html"),  # lead to the relying party
    "sandbox/identity.html",  # one check of one wallet
}
FORM = re.compile(r'<form method="post"[^\n]*')


def test_every_form_for_a_signed_in_holder_names_the_holder() -> None:
    """A new form does, or is listed above."""
    apart, without, sent_to = {"admin", "developer", "playground"}, set(), set()
    for path in TEMPLATES.rglob("*.html"):
        name = str(path.relative_to(TEMPLATES))
        for form in FORM.findall(path.read_text()):
            if "{% of_holder %}" in form:
                sent_to |= set(re.findall(r'action="{% url "(\w+)"', form))
            elif name.split("/")[0] not in apart:
                without.add(name)
    assert without == WITHOUT
    assert len(sent_to) > 10
    assert sent_to <= FORMS.keys()


@pytest.fixture
def redirect_task(client: Client, db: None) -> RedirectTask:
    """A redirect task of this browser on which everybody may sign in."""
    return make_redirect_task(client, now=timezone.now(), asks_address=True)


@pytest.fixture
def bob_after_alice(client: Client, alice: Wallet, bob: Wallet, sign_in: Any) -> Client:
    sign_in(alice)
    sign_in(bob)
    return client


# Every address to which these forms are sent, by its name, and what else is sent.
FORMS: dict[str, dict[str, str]] = {
    "wallet_share_emails": {"share_emails": "on"},
    "wallet_browsers_end": {},
    "wallet_browsers_end_all": {"where": "everywhere"},
    "wallet_close": {},
    "wallet_close_keep": {},
    "wallet_email_change": {"email": "new@example.org"},
    "wallet_email_change_confirm": {"code": "123456"},
    "wallet_recovery_ask": {"email": "lost@example.org"},
    "wallet_recovery_check": {},
    "wallet_recovery_stop_here": {},
    "wallet_passkey_add": {"passkey": "{}"},
    "wallet_passkey_close_offer": {},
    "wallet_passkey_rename": {"name": "x"},
    "wallet_passkey_remove": {},
    "wallet_own_identity": {},
    "consent_invalidate": {},
    "consent_new_number": {},
    "consent_deletion": {},
    "consent_report": {"reason": "other"},
    "wallet_identity_start": {"provider": "simulated"},
    "wallet_identity_cancel": {},
    "wallet_identity_in_person": {},
    "wallet_identity_other_wallet": {"device": "this"},
}


def address_of(name: str, redirect_task: RedirectTask) -> str:
    patterns = [entry for entry in every_pattern(get_resolver()) if entry.name == name]
    names = patterns[0].pattern.converters
    values = {"redirect_task_id": redirect_task.id, "requester_id": "acme"}
    return reverse(name, kwargs={one: values.get(one, uuid.uuid4()) for one in names})


def every_pattern(resolver: Any) -> list[URLPattern]:
    found = []
    for entry in resolver.url_patterns:
        found += [entry] if isinstance(entry, URLPattern) else every_pattern(entry)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_was_shown_to_alice_does_nothing_for_bob(
    bob_after_alice: Client, alice: Wallet, bob: Wallet, redirect_task: RedirectTask, name: str
) -> None:
    response = bob_after_alice.post(address_of(name, redirect_task), FORMS[name] | {"holder": str(alice.id)})

    page = response.content.decode()
    assert response.status_code == 409
    assert "no-store" in response.headers["Cache-Control"]
    assert "Somebody else is signed in now" in page
    assert bob.email in page
    assert alice.email not in page
    bob.refresh_from_db()
    assert (bob.closes_at, bob.share_emails, bob.passkey_offered_at) == (None, False, None)
    assert not WalletClosure.objects.exists()
    assert not EmailChange.objects.exists()
    assert not IdentityVerification.objects.exclude(state="approved").exists()


def test_pictures_that_were_chosen_for_alice_are_not_kept_for_bob(
    bob_after_alice: Client, alice: Wallet, bob: Wallet, redirect_task: RedirectTask, settings: Any
) -> None:
    settings.IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}
    form = bob_after_alice.post(
        reverse("wallet_identity_start", args=[redirect_task.id]),
        {"provider": "from_afar", "holder": str(bob.id)},
    ).headers["Location"]
    front = SimpleUploadedFile("front.jpg", b"\xff\xd8", "image/jpeg")

    response = bob_after_alice.post(form, TYPED_BY_NORA | {"front": front, "holder": str(alice.id)})

    assert response.status_code == 409
    assert not Picture.objects.exists()
    assert "holder" not in str(IdentityVerification.objects.latest("created_at").__dict__)
    assert bob_after_alice.post(form, TYPED_BY_NORA | {"holder": str(bob.id)}).status_code == 422


def test_a_form_of_the_holder_is_accepted_after_they_signed_in_again(
    client: Client, alice: Wallet, sign_in: Any
) -> None:
    sign_in(alice)
    page = client.get(reverse("wallet_close")).content.decode()
    (holder,) = set(re.findall('name="holder" value="([^"]+)"', page))
    sign_in(alice)

    client.post(reverse("wallet_close"), {"holder": holder})

    assert holder == str(alice.id)
    assert WalletClosure.objects.count() == 1


def test_a_page_on_which_nobody_is_signed_in_names_nobody(client: Client, db: None) -> None:
    assert 'name="holder"' not in client.get(reverse("wallet_front_door")).content.decode()
