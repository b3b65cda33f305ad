"""The support view: who may look, what is recorded, what is found, and what never appears."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from consent.models import Consent
from infra.mail import outbox
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent
from infra.models import AuditLine
from presentation.admin.support.case import masked
from presentation.admin.support.views import PER_OPERATOR
from presentation.models import Interaction, RelyingParty
from presentation.webhooks.models import WebhookEvent
from tests.drawn import without_drawn
from tests.people import ALICE, BOB
from tests.presentation.requests.deciding import ask, decide
from wallet.models import Credential, FormerAddress, IdentityVerification, Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]
REASON = "Ticket 4711"


def helper(*codenames: str) -> Client:
    """An operator of the group Support, with these permissions besides."""
    user = User.objects.create(username="sam", is_staff=True)
    user.groups.add(Group.objects.get(name="Support"))
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def look_up(client: Client, term: object, reason: str = REASON) -> Any:
    return client.post(reverse("admin:support"), {"term": str(term), "reason": reason})


def text_of(client: Client, term: object) -> str:
    return str(look_up(client, term).content.decode())


@pytest.fixture
def shared(client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any) -> Interaction:
    """Alice shared with Acme Bank, which was told by a webhook."""
    acme_bank.webhook_url, acme_bank.webhook_events = "https://bank.example/w", ["presentation.completed"]
    acme_bank.save()
    sign_in(alice)
    client.get(decide(client, ask(client, acme_bank)))
    return Interaction.objects.get()


def references(interaction: Interaction) -> dict[str, object]:
    """Everything by which Alice's wallet or her request can be found."""
    return {
        "e-mail address": ALICE,
        "address with capitals and spaces": f"  {ALICE.upper()} ",
        "wallet": Wallet.objects.get(email=ALICE).pk,
        "receipt": Consent.objects.get().pk,
        "request": interaction.pk,
        "beginning of the request": str(interaction.pk)[:8].upper(),
        "identity check": IdentityVerification.objects.get().pk,
        "credential": Credential.objects.get().pk,
        "webhook": WebhookEvent.objects.get().pk,
    }


def test_each_reference_leads_to_everything_linked_with_each_other(shared: Interaction) -> None:
    client = helper()
    for name, term in references(shared).items():
        page = text_of(client, term)
        assert str(Wallet.objects.get(email=ALICE).pk) in page, name
        receipt, event = Consent.objects.get(), WebhookEvent.objects.get()
        for anchor in (f"receipt-{receipt.pk}", f"request-{shared.pk}"):
            assert f'id="{anchor}"' in page, name
            assert f'href="#{anchor}"' in page, name
        assert f'id="webhook-{event.pk}"' in page, name
        assert f'id="check-{IdentityVerification.objects.get().pk}"' in page, name


def test_a_case_number_and_a_former_address_lead_to_the_wallet(alice: Wallet) -> None:
    now = timezone.now()
    IdentityVerification.objects.create(
        wallet=alice,
        state="review",
        provider="in_person",
        provider_reference="ABCD-EF23",
        created_at=now,
        changed_at=now,
    )
    FormerAddress.objects.create(
        wallet=alice, email="old@example.org", left_at=now, expires_at=now + timedelta(days=1)
    )
    FormerAddress.objects.create(
        wallet=alice, email="older@example.org", left_at=now, expires_at=now - timedelta(days=1)
    )
    client = helper()
    for number in ("ABCD-EF23", "abcdef23"):
        assert str(alice.pk) in text_of(client, number)
    assert str(alice.pk) in text_of(client, "old@example.org")
    assert str(alice.pk) not in text_of(client, "older@example.org")


def test_neither_claims_nor_parameters_nor_a_hidden_address_appear(shared: Interaction) -> None:
    client = helper("view_wallet", "view_consent", "view_interaction", "view_credential")
    Interaction.objects.update(parameters={"login_hint": ALICE, "state": "the-state", "nonce": "the-nonce"})
    for name, term in references(shared).items():
        page = text_of(client, term)
        assert shared.nonce_digest not in page
        result = without_drawn(page.split('id="found"')[1])
        for word in ("Alice", "Archer", "1990", "the-state", "the-nonce"):
            assert word not in result, (name, word)
        if "address" in name:
            assert ALICE in result
        else:
            assert ALICE not in result
            assert "a…@example.org" in result


def test_nothing_is_found_by_a_part_of_a_value(shared: Interaction, bob: Wallet) -> None:
    client = helper()
    wallet, receipt = Wallet.objects.get(email=ALICE).pk, Consent.objects.get().pk
    parts = [
        "alice@",
        "alice",
        "%@example.org",
        "*",
        "@",
        str(wallet)[:8],
        str(receipt)[:8],
        str(wallet)[:-1],
    ]
    parts += [
        str(shared.pk)[:7],
        f"{shared.pk}'--",
        "\0",
        "a\0@example.org",
        "9" * 250,
        str(uuid4()),
        "[]@a.b",
    ]
    for part in parts:
        page = text_of(client, part)
        assert 'id="receipt-' not in page, part
        assert "<dl" not in page, part


def test_each_search_is_recorded_with_its_reason_before_anything_is_shown(
    shared: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = helper()
    look_up(client, ALICE)
    look_up(client, "nobody@example.org", reason="A second ticket")
    found, nothing = AuditLine.objects.filter(action="looked_up").order_by("seq")
    wallet = Wallet.objects.get(email=ALICE)
    assert (found.about, nothing.about) == (f"wallet.wallet:{wallet.pk}", "wallet.wallet")
    assert found.operator_id == User.objects.get(username="sam").pk
    assert (REASON in found.text, "A second ticket" in nothing.text) == (True, True)
    assert "@" not in found.text + nothing.text

    def away(*args: Any, **kwargs: Any) -> None:
        raise OSError("the record is away")

    monkeypatch.setattr("infra.audit.record", away)
    client.raise_request_exception = False
    assert str(wallet.pk) not in text_of(client, ALICE)


@pytest.mark.parametrize("reason", ["", "   ", "help", "x" * 201, "alice@example.org called"])
def test_nothing_is_shown_without_a_reason_that_may_be_kept(alice: Wallet, reason: str) -> None:
    client = helper()
    response = look_up(client, ALICE, reason=reason)
    assert str(alice.pk) not in response.content.decode()
    assert "<title>Error:" in response.content.decode()
    assert not AuditLine.objects.filter(action="looked_up").exists()


def test_only_operators_with_the_permission_may_look(alice: Wallet) -> None:
    for group in ("Relying parties", "Identity review", "Keys", "Audit (read only)"):
        user = User.objects.create(username=group, is_staff=True)
        user.groups.add(Group.objects.get(name=group))
        client = Client()
        client.force_login(user)
        assert client.get(reverse("admin:support")).status_code == 403, group
        assert look_up(client, ALICE).status_code == 403, group
        assert "/admin/support/" not in client.get("/admin/").content.decode()
    stranger = Client()
    assert look_up(stranger, ALICE).status_code == 302
    assert not AuditLine.objects.filter(action="looked_up").exists()


def test_the_role_gives_no_page_of_the_admin_beyond_the_search(shared: Interaction) -> None:
    client = helper()
    wallet = Wallet.objects.get(email=ALICE)
    page = text_of(client, ALICE)
    assert "/admin/wallet/" not in page
    assert "/admin/consent/" not in page
    assert client.get(f"/admin/wallet/wallet/{wallet.pk}/change/").status_code == 403
    assert "/admin/support/" in client.get("/admin/").content.decode()


def test_rows_lead_to_their_pages_for_those_who_may_see_them(shared: Interaction) -> None:
    page = text_of(helper("view_wallet", "view_interaction"), ALICE)
    assert f"/admin/wallet/wallet/{Wallet.objects.get(email=ALICE).pk}/change/" in page
    assert f"/admin/presentation/interaction/{shared.pk}/change/" in page
    assert "/admin/consent/" not in page
    assert "/admin/presentation/webhookevent/" not in page


def test_the_search_is_posted_and_a_link_searches_nothing(alice: Wallet) -> None:
    client = helper()
    page = client.get(reverse("admin:support"), {"term": ALICE, "reason": REASON}).content.decode()
    assert ALICE not in page
    assert str(alice.pk) not in page
    assert not AuditLine.objects.filter(action="looked_up").exists()
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.get(username="sam"))
    assert look_up(careful, ALICE).status_code == 403


def test_the_page_is_neither_stored_nor_logged(shared: Interaction, capsys: Any) -> None:
    response = look_up(helper(), ALICE)
    assert (
        response.headers["Cache-Control"].startswith("max-age=0")
        or "no-store" in response.headers["Cache-Control"]
    )
    log = capsys.readouterr().err
    assert "[config.middleware]" in log
    assert ALICE not in log


@pytest.mark.usefixtures("windows_just_begun")
def test_an_operator_can_look_up_so_many_in_an_hour(alice: Wallet) -> None:
    client = helper()
    sam, now = User.objects.get(username="sam"), timezone.now()
    for _ in range(PER_OPERATOR.most):
        PER_OPERATOR.take(str(sam.pk), now=now)
    response = look_up(client, ALICE)
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert str(alice.pk) not in response.content.decode()


def test_a_closed_wallet_leaves_the_request_and_nobody(shared: Interaction) -> None:
    receipt = Consent.objects.get()
    Consent.objects.filter(pk=receipt.pk).update(wallet=None)
    page = text_of(helper(), receipt.pk)
    assert "the wallet was closed" in page
    assert f'id="request-{shared.pk}"' in page
    assert f'id="receipt-{receipt.pk}"' in page


def test_somebody_elses_records_do_not_appear(shared: Interaction, bob: Wallet) -> None:
    page = text_of(helper(), BOB)
    assert str(bob.pk) in page
    assert str(shared.pk) not in page
    assert str(Consent.objects.get().pk) not in page


def test_it_shows_what_became_of_the_emails_and_nothing_of_their_content(shared: Interaction) -> None:
    OutgoingEmail.objects.all().delete()
    with override_settings(EMAILS_SENT_AT_ONCE=False):
        outbox.put(EmailContent(ALICE, "The subject", "The text"), purpose="code")
        outbox.put(EmailContent(BOB, "The subject", "The text"), purpose="notice of Bob")
    OutgoingEmail.objects.update(state="refused", reason="no_mailbox", ended_at=timezone.now())
    client = helper("view_outgoingemail")

    for name, term in references(shared).items():
        page = text_of(client, term)
        assert "E-mails of the last days" in page, name
        assert "<td>code</td><td>refused</td><td>no_mailbox</td>" in page, name
        assert "notice of Bob" not in page, name
        assert "The subject" not in page, name
    alices = OutgoingEmail.objects.get(purpose="code")
    assert f"/admin/infra/outgoingemail/{alices.pk}/change/" in page


def test_somebody_who_waits_for_the_first_code_is_found_by_the_address(db: None) -> None:
    with override_settings(EMAILS_SENT_AT_ONCE=False):
        outbox.put(EmailContent("new@example.org", "Your code", "123456"), purpose="code")
    client = helper()

    page = text_of(client, "New@Example.org")

    assert "nobody has signed in yet" in page
    assert "<td>code</td><td>waiting</td>" in page
    assert "Nothing found" in text_of(client, "newer@example.org")


def test_a_request_that_waits_for_the_sign_in_is_found_by_the_address_that_it_names(
    client: Client, acme_bank: RelyingParty
) -> None:
    ask(client, acme_bank, login_hint="New@Example.org")
    operator = helper()

    page = text_of(operator, "new@example.org")

    asked = Interaction.objects.get()
    assert "nobody has signed in yet" in page
    assert str(asked.pk) in page
    assert acme_bank.name in page
    Interaction.objects.update(expires_at=timezone.now())
    assert "Nothing found" in text_of(operator, "new@example.org")


def test_a_request_that_names_another_address_is_not_shown(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    ask(client, acme_bank, login_hint=BOB)

    assert str(Interaction.objects.get().pk) not in text_of(helper(), ALICE)


def test_the_page_costs_a_fixed_number_of_statements(shared: Interaction, statements: Any) -> None:
    client = helper()
    look_up(client, ALICE)
    with statements() as few:
        look_up(client, ALICE)
    one = Interaction.objects.defer("consent").get()
    now = timezone.now()
    for number in range(5):
        IdentityVerification.objects.create(
            wallet=Wallet.objects.get(email=ALICE),
            state="declined",
            provider="p",
            created_at=now,
            changed_at=now,
        )
        Interaction.objects.create(
            relying_party=one.relying_party,
            redirect_uri="https://bank.example/",
            parameters={},
            nonce_digest=str(number),
            created_at=now,
            expires_at=now,
        )
    with statements() as many:
        look_up(client, ALICE)
    assert len(many.texts) == len(few.texts) <= 24


def test_a_masked_address_keeps_one_letter_and_the_domain() -> None:
    assert masked("alice@example.org") == "a…@example.org"
    assert masked("a@example.org") == "a…@example.org"
