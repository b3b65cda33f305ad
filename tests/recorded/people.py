"""What holders and operators do again and again, by the pages that everybody has."""

import re
from typing import TYPE_CHECKING, Any

from tests.fuzz.gateway import Reply
from tests.recorded.clock import clock
from tests.recorded.world import AUTHORIZE, OPERATOR, PASSWORD

if TYPE_CHECKING:
    from tests.recorded.stage import Browser

_ACTION = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(?:(?!</form>).)*value="share"', re.DOTALL)
IDENTITY = {
    "given_name": "Alice",
    "family_name": "Example",
    "birth_date": "1990-04-12",
    "nationalities": "GB",
    "reason": "Passport seen",
}


def signed_in(browser: "Browser", email: str) -> Reply:
    """Through the front door, with a code; the page after it."""
    page = browser.follow(browser.post("/wallet/sign-in/", {"email": email}))
    return typed(browser, page)


def typed(browser: "Browser", page: Reply) -> Reply:
    """The code that was sent, on the page that asks for it; the page after it."""
    assert page.path.endswith("/code/"), (page.status, page.path)
    return browser.follow(browser.post(page.path, {"code": browser.world.code(page)}))


def to_identity(browser: "Browser", email: str, **changes: Any) -> Reply:
    """A newcomer on the way of a request, up to the page about their identity."""
    asked = browser.world.asked("Harbour Bank", login_hint=email, **changes)
    page = browser.follow(browser.get(AUTHORIZE, asked))
    page = browser.follow(browser.post(page.path))
    return typed(browser, page)


def checked(browser: "Browser", page: Reply, outcome: str = "adult") -> Reply:
    """Their identity is verified; the page after it."""
    address = page.path
    provider = browser.follow(browser.post(f"{address}start/"))
    if browser.world.sandbox:
        return browser.follow(browser.post(provider.path, {"outcome": outcome}))
    done = browser.follow(browser.post(provider.path))
    assert done.path == address, (done.status, done.path)
    approve(browser)
    return browser.follow(browser.get(address))


def approve(browser: "Browser") -> None:
    """An operator approves the newest attempt. Not recorded, because the pages of the admin are elsewhere."""
    _operated(browser, "approve", IDENTITY)


def decline(browser: "Browser") -> None:
    """An operator declines the newest attempt."""
    _operated(browser, "decline", {"reason": "No document"})


def _operated(browser: "Browser", operation: str, form: dict[str, str]) -> None:
    operating = operator(browser.stage.browser())
    rows = browser.world.rows("wallet", "IdentityVerification").filter(state="review")
    number = str(rows.order_by("-created_at").first().pk)
    with operating.quietly():
        operating.post(f"/admin/wallet/identityverification/{number}/do/claim/", {})
        done = operating.post(f"/admin/wallet/identityverification/{number}/do/{operation}/", form)
    assert done.status == 302, (done.status, done.path)


def operator(browser: "Browser") -> "Browser":
    """An operator, signed in."""
    with browser.quietly():
        browser.get("/admin/login/")
        done = browser.post("/admin/login/", {"username": OPERATOR, "password": PASSWORD, "next": "/admin/"})
        assert done.status == 302, (done.status, done.path)
    return browser


def enrolled(browser: "Browser", email: str, outcome: str = "adult") -> None:
    """A holder with a verified identity, signed in to this browser; not recorded."""
    with browser.quietly():
        page = checked(browser, to_identity(browser, email), outcome)
        decided(browser, page, "decline")
        clock.next(minutes=1)  # the way is longer in production


def asked(browser: "Browser", parameters: dict[str, Any]) -> Reply:
    """The page that a request leads to; not recorded."""
    with browser.quietly():
        return browser.follow(browser.get(AUTHORIZE, parameters))


def decided(browser: "Browser", page: Reply, decision: str) -> Reply:
    """A decision, sent to where the form of the page sends it."""
    return browser.post(action(page), {"decision": decision})


def action(page: Reply) -> str:
    """Where the form of the consent page sends a decision."""
    form = _ACTION.search(page.text)
    assert form, (page.status, page.path)
    return form[1]


def links(page: Reply, ending: str) -> list[str]:
    """The links of a page that end like this."""
    return [link for link in re.findall(r'href="([^"]+)"', page.text) if link.endswith(ending)]
