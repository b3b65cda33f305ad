"""The start page of the operators: what waits, by role, and what it costs."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from consent.models import Report
from infra import doctor, runs
from infra.models import Diagnosis
from infra.sealing import seal_column
from presentation.models import Interaction, RelyingParty
from presentation.webhooks.models import WebhookEndpoint
from tests.people import register
from tests.presentation.past_requests import requests_of
from tests.wallet.attempts import attempt_in
from wallet.models import IdentityVerification, Wallet

pytestmark = pytest.mark.django_db
PANELS = {
    "Relying parties": {"webhooks", "reports", "doctor", "answers", "errors"},
    "Identity review": {"reviews"},
    "Keys": {"keys", "doctor"},
    "Audit (read only)": {"reviews", "keys", "webhooks", "reports", "doctor", "answers", "errors"},
}


def start_page(group: str = "") -> str:
    """The page as an operator of this group sees it; as a superuser without one."""
    user = User.objects.create(username=group or "olga", is_staff=True, is_superuser=not group)
    user.groups.set(Group.objects.filter(name=group))
    client = Client()
    client.force_login(user)
    return client.get("/admin/").content.decode()


def panels_of(page: str) -> set[str]:
    return set(re.findall(r'<section class="panel (\w+)', page))


def panel(page: str, name: str) -> str:
    """The text of one panel."""
    found = re.search(rf'<section class="panel {name}.*?</section>', page, re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split())


@pytest.mark.parametrize("group", PANELS)
def test_each_role_sees_its_own_panels_and_no_others(group: str, signing_key: Any) -> None:
    assert panels_of(start_page(group)) == PANELS[group]


def test_an_operator_without_a_role_sees_no_panel(signing_key: Any) -> None:
    user = User.objects.create(username="nobody", is_staff=True)
    client = Client()
    client.force_login(user)
    page = client.get("/admin/").content.decode()
    assert panels_of(page) == set()
    assert "You don’t have permission" in page


def test_reviews_say_how_many_wait_and_for_how_long(alice: Wallet, bob: Wallet, signing_key: Any) -> None:
    now = timezone.now()
    for wallet, age in ((alice, timedelta(hours=3)), (bob, timedelta(minutes=2))):
        IdentityVerification.objects.create(
            wallet=wallet, state="review", provider="in_person", created_at=now, changed_at=now - age
        )
    page = start_page("Identity review")
    assert "2 identity checks wait for a decision." in panel(page, "reviews")
    assert "The oldest has waited for 3\N{NO-BREAK SPACE}hours." in page
    assert "?state__exact=review" in page
    assert "alice@" not in page


def test_a_failing_webhook_address_is_named_with_its_delivery_log(signing_key: Any) -> None:
    told = register(
        "Told",
        "https://told.example/",
        webhook_url="https://told.example/w",
        webhook_events=["presentation.completed"],
    )
    fine = register("Fine", "https://fine.example/", webhook_url="https://fine.example/w", webhook_events=[])
    now = timezone.now()
    WebhookEndpoint.objects.create(
        relying_party=told, next_call_at=now, failures=4, failing_since=now - timedelta(hours=2)
    )
    WebhookEndpoint.objects.create(relying_party=fine, next_call_at=now)
    page = start_page("Relying parties")
    said = panel(page, "webhooks")
    assert "Told: 4 failed tries, failing for 2 hours." in said.replace("\N{NO-BREAK SPACE}", " ")
    assert "Fine" not in said
    assert f"?q={told.client_id}" in page


def test_all_failing_webhook_addresses_are_counted_although_some_are_listed(signing_key: Any) -> None:
    now = timezone.now()
    for number in range(14):
        host = f"told-{number}.example"
        events = ["presentation.completed"]
        told = register(host, f"https://{host}/", webhook_url=f"https://{host}/w", webhook_events=events)
        WebhookEndpoint.objects.create(relying_party=told, next_call_at=now, failures=1, failing_since=now)
    said = panel(start_page("Relying parties"), "webhooks")
    assert "The addresses of 14 relying parties do not take webhooks." in said


def test_reports_are_counted_by_relying_party_with_a_link_to_them(
    acme_bank: RelyingParty, signing_key: Any
) -> None:
    assert "No reports in 30 days." in panel(start_page("Relying parties"), "reports")
    now = timezone.now()
    for days, party in ((1, acme_bank.client_id), (2, acme_bank.client_id), (3, "gone"), (31, "gone")):
        Report.objects.create(requester_id=party, reason="other", reported_at=now - timedelta(days=days))
    page = start_page("Audit (read only)")
    said = panel(page, "reports").replace("\N{NO-BREAK SPACE}", " ")
    assert f"{acme_bank.name}: reports 2, the newest 1 day ago." in said
    assert "gone: reports 1, the newest 3 days ago." in said
    assert f"/admin/consent/report/?q={acme_bank.client_id}" in page
    assert '<section class="panel reports waits"' in page


def test_an_operator_reads_what_a_holder_wrote_in_a_report(acme_bank: RelyingParty) -> None:
    report = Report(requester_id=acme_bank.client_id, reason="too_much", reported_at=timezone.now())
    report.sealed_text = seal_column(report, "sealed_text", b"They <b>insist</b>.")
    report.save()
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    listed = client.get("/admin/consent/report/", {"q": acme_bank.client_id}).content.decode()
    assert "It asks for more than it needs" in listed
    page = f"/admin/consent/report/{report.id}/change/"
    assert "They &lt;b&gt;insist&lt;/b&gt;." in client.get(page).content.decode()
    Report.objects.update(sealed_text=b"lost")
    assert "It cannot be opened." in client.get(page).content.decode()
    Report.objects.update(sealed_text=None)
    assert "nothing" in client.get(page).content.decode()


def test_requests_of_today_are_drawn_and_listed_with_the_same_figures(
    acme_bank: RelyingParty, signing_key: Any
) -> None:
    requests_of(acme_bank, timezone.now(), token=3, declined=2, failed=1, left=4)
    page = start_page("Relying parties")
    said = panel(page, "answers")
    assert "10 requests today." in said
    assert "credential given 3 declined 2 failed 1 open or left 4" in said
    assert said.endswith("Today 10 3 2 1 4 Interactions")
    assert {"granted", "declined", "failed", "unanswered"} == set(re.findall(r'<rect class="(\w+)"', page))
    assert 'role="img"' in page


def test_the_last_errors_have_code_and_reference_and_nothing_of_the_person(
    acme_bank: RelyingParty, signing_key: Any
) -> None:
    requests_of(acme_bank, timezone.now(), failed=1, declined=1)
    failed = Interaction.objects.get(error="server_error")
    page = start_page("Relying parties")
    said = panel(page, "errors")
    assert f"server_error · {acme_bank.name}" in said
    assert f"reference {str(failed.id)[:8]}" in said
    assert f"/admin/presentation/interaction/{failed.id}/change/" in page
    assert "access_denied" not in said


def test_what_the_doctor_found_is_shown_the_worst_first(signing_key: Any) -> None:
    found = [
        Diagnosis(name="tls", state=1, seen="It ends.", todo="renew it", at=timezone.now()),
        Diagnosis(name="mail", state=2, seen="It fails.", todo="look", at=timezone.now()),
        Diagnosis(name="disk", state=0, seen="Enough.", todo="", at=timezone.now()),
    ]
    doctor.store(found)
    runs.record(runs.WORKER, now=timezone.now())
    page = start_page("Keys")
    said = panel(page, "doctor")
    assert said.endswith("Now: mail: It fails. To do: look. tls: It ends. To do: renew it.")
    assert '<section class="panel doctor waits"' in page
    doctor.store(found[2:])
    assert "All checks of manage.py doctor pass." in panel(start_page("Audit (read only)"), "doctor")


def test_a_worker_that_is_away_is_seen_before_the_doctor_could_say_so(signing_key: Any) -> None:
    runs.record("doctor", now=timezone.now())
    runs.record(runs.WORKER, now=timezone.now() - timedelta(minutes=3))
    said = panel(start_page("Keys"), "doctor").replace("\N{NO-BREAK SPACE}", " ")
    assert "Now: No worker was seen for 3 minutes: does manage.py worker run?" in said


def test_a_doctor_that_does_not_run_is_due_now(signing_key: Any) -> None:
    runs.record("doctor", now=timezone.now() - timedelta(hours=5))
    said = panel(start_page("Keys"), "doctor").replace("\N{NO-BREAK SPACE}", " ")
    assert "Now: Nothing was checked for 5 hours: does manage.py worker run?" in said


def test_a_review_that_waits_longer_than_its_holder_was_promised_is_urgent(
    alice: Wallet, bob: Wallet, signing_key: Any
) -> None:
    now = timezone.now()
    attempt_in("review", alice, now)
    assert "Now:" not in panel(start_page("Identity review"), "reviews")
    attempt_in("review", bob, now - timedelta(days=6))
    assert "Now:" in panel(start_page(), "reviews")


def test_a_missing_signing_key_is_due_now(db: None) -> None:
    page = start_page("Keys")
    assert "No key signs" in panel(page, "keys")
    assert '<section class="panel keys waits"' in page


def test_what_waits_comes_before_what_is_calm(alice: Wallet, signing_key: Any) -> None:
    now = timezone.now()
    IdentityVerification.objects.create(
        wallet=alice, state="review", provider="in_person", created_at=now, changed_at=now
    )
    waiting = [
        " waits" in classes for classes in re.findall(r'<section class="panel ([\w ]+)"', start_page())
    ]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[0]


def test_the_page_costs_the_same_statements_however_much_there_is(
    acme_bank: RelyingParty, signing_key: Any, statements: Any
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    client.get("/admin/")
    with statements() as few:
        client.get("/admin/")
    requests_of(acme_bank, timezone.now(), token=20, declined=20, failed=20)
    with statements() as many:
        client.get("/admin/")
    assert len(many.texts) == len(few.texts)
    assert len(few.texts) <= 26
