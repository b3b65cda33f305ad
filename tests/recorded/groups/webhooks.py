"""Sandbox only, because relying parties are on loopback: what the service sends to them by itself."""

from io import StringIO

from django.core.management import call_command

from tests.recorded import people
from tests.recorded.clock import clock
from tests.recorded.stage import Stage
from tests.recorded.world import EVENTS

BANK = "Harbour Bank"


def play(stage: Stage) -> None:
    """Events are sent, sent again where they failed, and given up."""
    world = stage.world
    client_id = world[BANK].client_id
    url = f"{world.far_end.origin}/harbour-bank/hook"
    call_command("set_webhook", client_id, url=url, event=list(EVENTS), new_secret=True, stdout=StringIO())
    with stage.story("a relying party is notified of a decision each way, and of a revocation") as browser:
        people.enrolled(browser, "hooked@example.org")
        for number, decision in enumerate(("share", "decline")):
            asked = world.asked(BANK, login_hint="hooked@example.org", nonce=f"n-webhooks-{number:08}")
            page = people.asked(browser, asked)
            with browser.quietly():
                people.decided(browser, page, decision)
            _deliver(stage)
        with browser.quietly():
            receipt = people.links(browser.get("/wallet/history/"), "/invalidate/")[0]
            browser.post(receipt)
        _deliver(stage)
    with stage.story("a relying party that fails is notified again") as browser:
        people.enrolled(browser, "hooked2@example.org")
        page = people.asked(browser, world.asked(BANK, login_hint="hooked2@example.org"))
        with browser.quietly():
            people.decided(browser, page, "share")
        world.far_end.reply = (500, b"{}")
        _deliver(stage)
        _deliver(stage)
        world.far_end.reply = (200, b"{}")
        clock.move(hours=1)
        _deliver(stage)
    _looked_at(stage)
    call_command("set_webhook", client_id, url="", stdout=StringIO())


def _looked_at(stage: Stage) -> None:
    """The delivery log in the admin, and the numbers of what waits."""
    with stage.story("operators look at what was sent, and send it again") as browser:
        browser.get("/metrics", Authorization=f"Bearer {'m' * 40}")
        people.operator(browser)
        where = "/admin/presentation/webhookevent/"
        event = stage.world.rows("presentation", "WebhookEvent").order_by("-created_at").first()
        browser.get(where)
        for page in ("", "change/", "history/", "delete/", "send_again/"):
            browser.get(f"{where}{event.pk}/{page}")
        browser.follow(browser.post(f"{where}{event.pk}/send_again/", {"reason": "Because"}))
        browser.post(f"{where}{event.pk}/send_again/", {"reason": "Because"})
        _deliver(stage)


def _deliver(stage: Stage) -> None:
    stage.world.far_end.taken()
    call_command("deliver_webhooks", stdout=StringIO())
    stage.calls()
