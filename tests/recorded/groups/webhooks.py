"""Webhooks. Sandbox only, because the relying parties are on loopback."""

from io import StringIO

from django.core.management import call_command

from tests.recorded import people
from tests.recorded.clock import clock
from tests.recorded.installation import EVENTS
from tests.recorded.recorder import Recorder

BANK = "Harbour Bank"


def run(recorder: Recorder) -> None:
    """Events are sent, sent again after failures, and given up."""
    service = recorder.service
    client_id = service[BANK].client_id
    url = f"{service.party_server.origin}/harbour-bank/hook"
    call_command("set_webhook", client_id, url=url, event=list(EVENTS), new_secret=True, stdout=StringIO())
    with recorder.scenario(
        "a relying party is notified of a decision each way, and of a revocation"
    ) as browser:
        people.enrolled(browser, "hooked@example.org")
        for number, decision in enumerate(("share", "decline")):
            asked = service.asked(BANK, login_hint="hooked@example.org", nonce=f"n-webhooks-{number:08}")
            page = people.asked(browser, asked)
            with browser.quietly():
                people.decided(browser, page, decision)
            _deliver(recorder)
        with browser.quietly():
            receipt = people.links(browser.get("/wallet/history/"), "/invalidate/")[0]
            browser.post(receipt)
        _deliver(recorder)
    with recorder.scenario("a relying party that fails is notified again") as browser:
        people.enrolled(browser, "hooked2@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="hooked2@example.org"))
        with browser.quietly():
            people.decided(browser, page, "share")
        service.party_server.reply = (500, b"{}")
        _deliver(recorder)
        _deliver(recorder)
        service.party_server.reply = (200, b"{}")
        clock.move(hours=1)
        _deliver(recorder)
    _looked_at(recorder)
    call_command("set_webhook", client_id, url="", stdout=StringIO())


def _looked_at(recorder: Recorder) -> None:
    """The delivery log in the admin, and the metrics of waiting webhooks."""
    with recorder.scenario("operators look at what was sent, and send it again") as browser:
        browser.get("/metrics", Authorization=f"Bearer {'metrics' * 6}")
        people.operator(browser)
        where = "/admin/presentation/webhookevent/"
        event = recorder.service.rows("presentation", "WebhookEvent").order_by("-created_at").first()
        browser.get(where)
        for page in ("", "change/", "history/", "delete/", "send_again/"):
            browser.get(f"{where}{event.pk}/{page}")
        browser.follow(browser.post(f"{where}{event.pk}/send_again/", {"reason": "Because"}))
        browser.post(f"{where}{event.pk}/send_again/", {"reason": "Because"})
        _deliver(recorder)


def _deliver(recorder: Recorder) -> None:
    recorder.service.party_server.taken()
    call_command("worker", once=True, jobs=["revocations", "webhooks"])
    recorder.calls()
