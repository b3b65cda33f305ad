"""Operators and webhooks: opt in, make a secret, read the log, send again."""

import json
import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from infra.database.append_only import AppendOnlyError
from keys.rotation.key_events import shell_user
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent, WebhookSecret
from tests.config.reading_metrics import TOKEN, numbers
from tests.presentation.relying_parties.operator_roles import AUDIT, KEYS, RELYING_PARTIES, operator
from tests.presentation.webhooks import EVENTS, deliver, opted_in, receiving, waiting

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
LOG = "/admin/presentation/webhookevent/"
URL = "https://bank.example/told"


def form(party: RelyingParty, **changes: Any) -> dict[str, Any]:
    """The form of a relying party as it is, with changes."""
    uris = list(party.redirect_uris.all())
    data: dict[str, Any] = {
        "name": party.name,
        "allowed_scopes": party.allowed_scopes,
        "wire_format": party.wire_format,
        "webhook_url": party.webhook_url,
        "webhook_events": party.webhook_events,
        "redirect_uris-TOTAL_FORMS": len(uris),
        "redirect_uris-INITIAL_FORMS": len(uris),
        "response_uris-TOTAL_FORMS": 0,
        "response_uris-INITIAL_FORMS": 0,
        "certified_client_ids-TOTAL_FORMS": 0,
        "certified_client_ids-INITIAL_FORMS": 0,
    }
    for number, row in enumerate(uris):
        data |= {
            f"redirect_uris-{number}-id": row.pk,
            f"redirect_uris-{number}-relying_party": party.pk,
            f"redirect_uris-{number}-uri": row.uri,
        }
    return data | changes


def page_of(party: RelyingParty, page: str = "change") -> str:
    return f"/admin/presentation/relyingparty/{party.pk}/{page}/"


def test_an_operator_opts_a_relying_party_in_and_out(acme_bank: RelyingParty) -> None:
    client = operator(RELYING_PARTIES)

    told = form(acme_bank, webhook_url=URL, webhook_events=EVENTS[:2])
    assert client.post(page_of(acme_bank), told).status_code == 302
    acme_bank.refresh_from_db()
    assert (acme_bank.webhook_url, acme_bank.webhook_events) == (URL, EVENTS[:2])
    assert "There is no secret yet" in client.get(page_of(acme_bank)).content.decode()

    client.post(page_of(acme_bank), form(acme_bank, webhook_url="", webhook_events=[]))
    acme_bank.refresh_from_db()
    assert (acme_bank.webhook_url, acme_bank.webhook_events) == ("", [])


@pytest.mark.parametrize(
    ("url", "sandbox", "said"),
    [
        ("", False, "Enter where the events are sent"),
        ("http://bank.example/told", False, "begins with https://"),
        ("http://127.0.0.1:5000/told", True, ""),
        ("https://bank.example:8443/told?by=us", False, ""),
    ],
)
def test_an_address_is_https_or_in_the_sandbox_this_machine(
    acme_bank: RelyingParty, settings: Any, url: str, sandbox: bool, said: str
) -> None:
    settings.LOOPBACK_CALLS = sandbox
    client = operator(RELYING_PARTIES)

    answer = client.post(page_of(acme_bank), form(acme_bank, webhook_url=url, webhook_events=EVENTS))

    acme_bank.refresh_from_db()
    assert (answer.status_code, acme_bank.webhook_url) == ((200, "") if said else (302, url))
    assert not said or said in answer.content.decode()


def test_a_secret_is_shown_once_and_the_one_before_goes_on(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    client = operator(RELYING_PARTIES)
    page = page_of(acme_bank, "webhook_secret")
    assert "whsec_" not in client.get(page).content.decode()

    made = client.post(page, {"before": "overlap"})

    assert len(re.findall(r"whsec_[A-Za-z0-9+/]{43}=", made.content.decode())) == 1
    assert "no-store" in made.headers["Cache-Control"]
    assert len(signing_secrets.signing(acme_bank, now=timezone.now())) == 2
    for later in (page, page_of(acme_bank), page_of(acme_bank, "history")):
        assert "whsec_" not in client.get(later).content.decode()
    assert "New webhook secret" in client.get(page_of(acme_bank, "history")).content.decode()


def test_a_secret_in_the_wrong_hands_is_ended_at_once(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    operator(RELYING_PARTIES).post(page_of(acme_bank, "webhook_secret"), {"before": "end"})

    assert len(signing_secrets.signing(acme_bank, now=timezone.now())) == 1


def test_a_secret_forgotten_with_its_sealing_key_is_none(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    WebhookSecret.objects.update(sealed_secret=b"")  # as `reseal --forget` does
    client = operator(RELYING_PARTIES)

    assert "There is no secret yet" in client.get(page_of(acme_bank)).content.decode()
    client.post(page_of(acme_bank, "webhook_secret"), {"before": "overlap"})
    assert "Signed with a secret of" in client.get(page_of(acme_bank)).content.decode()


@pytest.mark.parametrize("role", [AUDIT, KEYS])
def test_no_other_role_makes_secrets_or_sends_again(acme_bank: RelyingParty, role: str) -> None:
    opted_in(acme_bank)
    (event,) = waiting(acme_bank)
    client = operator(role)

    assert client.post(page_of(acme_bank, "webhook_secret"), {"before": "overlap"}).status_code == 403
    client.post(LOG, {"action": "send_again", "_selected_action": [event.pk]})
    assert WebhookSecret.objects.count() == 1
    assert WebhookEvent.objects.get().due_at == event.due_at


def test_the_log_says_how_it_went_and_an_operator_sends_again(acme_bank: RelyingParty) -> None:
    client = operator(RELYING_PARTIES)
    with receiving() as receiver:
        opted_in(acme_bank, receiver.url)
        receiver.statuses = [503]
        (event,) = waiting(acme_bank)
        deliver()
        listed = client.get(LOG, {"q": acme_bank.client_id}).content.decode()
        assert "It answered with status 503." in listed
        assert "has not taken the last webhook" in client.get(page_of(acme_bank)).content.decode()
        assert str(event.pk) in client.get(f"{LOG}{event.pk}/change/").content.decode()

        receiver.statuses = [204]
        said = client.post(LOG, {"action": "send_again", "_selected_action": [event.pk]}, follow=True)
        assert "1 webhook will be sent now." in said.content.decode()
        deliver()

    assert receiver.ids == [str(event.pk)] * 2
    assert WebhookEvent.objects.get().state == "delivered"
    assert "To be sent now" in client.get(f"{LOG}{event.pk}/history/").content.decode()


@pytest.mark.parametrize(("attempts", "button"), [(0, "Send now"), (3, "Send again")])
def test_one_is_sent_again_from_its_own_page_which_asks_first(
    acme_bank: RelyingParty, attempts: int, button: str
) -> None:
    opted_in(acme_bank)
    (event,) = waiting(acme_bank, now=timezone.now() + timedelta(hours=1))
    WebhookEvent.objects.update(attempts=attempts)
    client, page = operator(RELYING_PARTIES), f"{LOG}{event.pk}/send_again/"
    assert f'href="{page}">{button}</a>' in client.get(f"{LOG}{event.pk}/change/").content.decode()
    assert f'value="{button}"' in client.get(page).content.decode()
    assert WebhookEvent.objects.get().due_at == event.due_at

    said = client.post(page, follow=True)

    assert "1 webhook will be sent now." in said.content.decode()
    assert WebhookEvent.objects.get().due_at <= timezone.now()


@pytest.mark.parametrize("role", [AUDIT, KEYS])
def test_the_page_that_sends_again_requires_the_permission(acme_bank: RelyingParty, role: str) -> None:
    opted_in(acme_bank)
    (event,) = waiting(acme_bank)
    client, page = operator(role), f"{LOG}{event.pk}/send_again/"

    assert client.get(page).status_code == 403
    assert client.post(page).status_code == 403
    assert page not in client.get(f"{LOG}{event.pk}/change/").content.decode()
    assert WebhookEvent.objects.get().due_at == event.due_at
    assert operator(RELYING_PARTIES).get(f"{LOG}{UUID(int=1)}/send_again/").status_code == 404


def test_the_history_of_one_begins_with_the_last(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    (event,) = waiting(acme_bank)
    first, second = operator(RELYING_PARTIES), Client()
    second.force_login(User.objects.create_superuser("olga"))
    for client in (first, second):
        client.post(f"{LOG}{event.pk}/send_again/")

    history = first.get(f"{LOG}{event.pk}/history/").content.decode()

    assert history.count("To be sent now") == 2
    assert history.index("<td>olga") < history.index(f"<td>{RELYING_PARTIES}")


def test_unwanted_events_are_not_reported_as_sent(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank, URL, "credential.revoked")
    (event,) = waiting(acme_bank)  # presentation.completed
    client = operator(RELYING_PARTIES)

    said = client.post(f"{LOG}{event.pk}/send_again/", follow=True).content.decode()

    assert "1 will not be sent: the relying party does not get these events any more." in said
    assert "will be sent now" not in said
    assert "To be sent now" not in client.get(f"{LOG}{event.pk}/history/").content.decode()


def test_the_page_of_one_is_for_people(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank)
    (event,) = waiting(acme_bank, now=datetime(2030, 1, 2, 3, 4, 5, 6789, tzinfo=UTC))

    page = operator(RELYING_PARTIES).get(f"{LOG}{event.pk}/change/").content.decode()

    assert "+00:00" not in page
    assert "006789" not in page
    assert "{\n  &quot;type&quot;: &quot;presentation.completed&quot;," in page
    assert "not tried yet" in page


OBSTACLES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "suspended": ({"state": "suspended", "suspension_reason": "x"}, {}, "once the relying party is reinst"),
    "opted out": ({"webhook_events": []}, {}, "none: it is not told of this any more"),
    "gone": ({}, {"gone_url": URL}, "once there is another address, or this is sent again"),
    "resting": ({}, {"next_call_at": datetime(2031, 5, 6, 7, 8, tzinfo=UTC)}, "6 May 2031, 07:08"),
    "overdue": ({}, {"next_call_at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC)}, "due since 3 Jan 2026, 03:04"),
}


@pytest.mark.parametrize(("party", "endpoint", "said"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_the_next_try_is_the_one_that_will_be(
    acme_bank: RelyingParty, party: dict[str, Any], endpoint: dict[str, Any], said: str
) -> None:
    opted_in(acme_bank, URL)
    WebhookEndpoint.objects.update(**endpoint)
    RelyingParty.objects.update(**party)
    waiting(acme_bank, now=datetime(2026, 1, 3, 3, 4, tzinfo=UTC))

    assert said in operator(RELYING_PARTIES).get(LOG).content.decode()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "not tried yet"),
        ({"response_status": 204, "state": "delivered"}, "taken, with status 204"),
        ({"problem": "It took too long."}, "It took too long."),
        ({"problem": "It took too long.", "state": "given up"}, "given up: It took too long."),
        ({"state": "unwanted"}, "no longer wanted: not tried yet"),
    ],
)
def test_the_last_result_is_one_column(acme_bank: RelyingParty, facts: dict[str, Any], said: str) -> None:
    opted_in(acme_bank)
    waiting(acme_bank)
    WebhookEvent.objects.update(**facts)

    page = operator(RELYING_PARTIES).get(LOG).content.decode()

    assert f'<td class="field-last_result">{said}</td>' in page


def test_the_log_costs_no_statement_per_line(acme_bank: RelyingParty, statements: Any) -> None:
    opted_in(acme_bank)
    client = operator(RELYING_PARTIES)
    counts = []
    for _ in range(2):
        waiting(acme_bank, 5)
        with statements() as seen:
            client.get(LOG)
        counts.append(len(seen.texts))

    assert counts[0] == counts[1]


def test_the_page_says_that_an_address_is_gone_until_another_is_entered(acme_bank: RelyingParty) -> None:
    client = operator(RELYING_PARTIES)
    with receiving() as receiver:
        opted_in(acme_bank, receiver.url)
        receiver.statuses = [410]
        waiting(acme_bank)
        deliver()
    assert "it is gone for good (410)" in client.get(page_of(acme_bank)).content.decode()

    client.post(page_of(acme_bank), form(acme_bank, webhook_url=URL, webhook_events=EVENTS))

    assert "it is gone for good (410)" not in client.get(page_of(acme_bank)).content.decode()


def test_the_log_cannot_be_changed(acme_bank: RelyingParty) -> None:
    (event,) = waiting(acme_bank)
    client = operator(RELYING_PARTIES)

    assert client.get(f"{LOG}add/").status_code == 403
    assert client.post(f"{LOG}{event.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"{LOG}{event.pk}/change/", {"state": "delivered"}).status_code == 403


# --- By command -------------------------------------------------------------------------------------------


def set_webhook(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("set_webhook", *arguments, stdout=out)
    said: dict[str, Any] = json.loads(out.getvalue())
    return said


def test_the_command_opts_in_makes_secrets_and_opts_out(acme_bank: RelyingParty) -> None:
    said = set_webhook(acme_bank.client_id, "--url", URL, "--event", EVENTS[0], "--new-secret")
    assert said.pop("secret").startswith("whsec_")
    assert said == {"client_id": acme_bank.client_id, "url": URL, "events": EVENTS[:1]}

    assert "secret" not in set_webhook(acme_bank.client_id)
    set_webhook(acme_bank.client_id, "--new-secret", "--at-once")
    assert len(signing_secrets.signing(acme_bank, now=timezone.now())) == 1

    assert set_webhook(acme_bank.client_id, "--url", "")["events"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["unknown"], "There is no relying party with this client ID."),
        (["{}", "--url", "http://bank.example/"], "begins with https://"),
        (["{}", "--event", EVENTS[0]], "Enter where the events are sent"),
        (["{}", "--url", URL, "--event", "presentation.started"], "Unknown: presentation.started"),
        (["{}", "--url", URL, "--at-once"], "--at-once goes with --new-secret."),
    ],
)
def test_a_wrong_command_says_what_is_wrong_and_changes_nothing(
    acme_bank: RelyingParty, arguments: list[str], said: str
) -> None:
    with pytest.raises(CommandError, match=re.escape(said)):
        set_webhook(*[argument.format(acme_bank.client_id) for argument in arguments])

    acme_bank.refresh_from_db()
    assert (acme_bank.webhook_url, acme_bank.webhook_events) == ("", [])
    assert not WebhookSecret.objects.exists()
    assert not RelyingPartyEvent.objects.exists()


def test_what_commands_do_is_in_the_history_with_who_did_it(acme_bank: RelyingParty) -> None:
    set_webhook(acme_bank.client_id, "--url", URL, "--event", EVENTS[0], "--new-secret")
    set_webhook(acme_bank.client_id)  # changes nothing
    set_webhook(acme_bank.client_id, "--url", "", "--new-secret", "--at-once")

    for role in (RELYING_PARTIES, AUDIT):
        page = operator(role).get(page_of(acme_bank, "history")).content.decode()
        assert page.count(f"{shell_user()}, by set_webhook") == 4
        assert "Changed webhook address. Now told of: presentation.completed." in page
        assert "Removed webhook address. Now told of: nothing." in page
        assert "<td>New webhook secret</td>" in page
        assert "<td>New webhook secret, those before ended</td>" in page
        assert "whsec_" not in page
        assert URL not in page


def test_the_history_of_one_is_not_that_of_another(
    acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    set_webhook(acme_bank.client_id, "--url", URL)

    page = operator(RELYING_PARTIES).get(page_of(corner_shop, "history")).content.decode()

    assert "By command" not in page
    with pytest.raises(AppendOnlyError):
        RelyingPartyEvent.objects.get().delete()


# --- Afterwards -------------------------------------------------------------------------------------------


def test_the_log_and_ended_secrets_are_forgotten(acme_bank: RelyingParty) -> None:
    now = timezone.now()
    opted_in(acme_bank)
    waiting(acme_bank, 3, now=now - timedelta(days=31))
    (kept,) = waiting(acme_bank, now=now - timedelta(days=29))
    signing_secrets.rotate(acme_bank, now=now - timedelta(days=8))

    call_command("clear_expired", batch=2, stdout=StringIO())

    assert WebhookEvent.objects.get() == kept
    assert WebhookSecret.objects.count() == 1


def test_metrics_count_waiting_and_given_up_webhooks_and_show_that_none_are_sent(
    client: Client, acme_bank: RelyingParty, corner_shop: RelyingParty, settings: Any
) -> None:
    settings.METRICS_TOKEN = TOKEN
    assert numbers(client)[("webhooks_overdue_seconds",)] == 0
    opted_in(acme_bank)
    waiting(acme_bank, 2, now=timezone.now() - timedelta(minutes=10))
    waiting(corner_shop, now=timezone.now() - timedelta(minutes=20))  # has no secret, which is no fault
    WebhookEvent.objects.filter(pk=waiting(acme_bank)[0].pk).update(state="given up")

    found = numbers(client)

    assert (found[("webhooks_waiting",)], found[("webhooks_given_up",)]) == (3, 1)
    assert 600 <= found[("webhooks_overdue_seconds",)] < 660
