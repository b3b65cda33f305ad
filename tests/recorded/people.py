"""Steps of holders and operators that many scenarios use."""

import re
from typing import TYPE_CHECKING, Any

from tests.recorded.clock import clock
from tests.recorded.installation import AUTHORIZE, OPERATOR, PASSWORD
from tools.fuzz.gateway import Reply

if TYPE_CHECKING:
    from tests.recorded.recorder import Browser

_ACTION = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(?:(?!</form>).)*value="share"', re.DOTALL)
IDENTITY = {
    "given_name": "Alice",
    "family_name": "Example",
    "birth_date_day": "12",
    "birth_date_month": "4",
    "birth_date_year": "1990",
    "nationalities": "GB",
    "reason": "Passport seen",
}


def signed_in(browser: "Browser", email: str) -> Reply:
    """Sign in to the wallet with a code; returns the next page."""
    page = browser.follow(browser.post("/wallet/sign-in/", {"email": email}))
    return typed(browser, page)


def typed(browser: "Browser", page: Reply) -> Reply:
    """Enter the e-mailed code; returns the next page."""
    assert page.path.endswith("/code/"), (page.status, page.path)
    return browser.follow(browser.post(page.path, {"code": browser.service.code(page)}))


def to_identity(browser: "Browser", email: str, **changes: Any) -> Reply:
    """A new holder follows a request up to the page about identity verification."""
    asked = browser.service.asked("Harbour Bank", login_hint=email, **changes)
    page = browser.follow(browser.get(AUTHORIZE, asked))
    page = browser.follow(browser.post(page.path))
    return typed(browser, page)


def checked(browser: "Browser", page: Reply, outcome: str = "adult") -> Reply:
    """Verify the identity; returns the next page."""
    address = page.path
    provider = browser.follow(browser.post(f"{address}start/"))
    if browser.service.sandbox:
        return browser.follow(browser.post(provider.path, {"outcome": outcome}))
    done = browser.follow(browser.post(provider.path))
    assert done.path == address, (done.status, done.path)
    approve(browser)
    return browser.follow(browser.get(address))


def approve(browser: "Browser") -> None:
    """An operator approves the newest attempt. Not recorded, because `operating` records the admin."""
    _operated(browser, "approve", IDENTITY)


def decline(browser: "Browser") -> None:
    """An operator declines the newest attempt."""
    _operated(browser, "decline", {"reason": "No document"})


def _operated(browser: "Browser", operation: str, form: dict[str, str]) -> None:
    operating = operator(browser.recorder.browser())
    rows = browser.service.rows("wallet", "IdentityVerification").filter(state="review")
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
        first = f"n-of-{email}-before"  # so that the next request is another one
        page = checked(browser, to_identity(browser, email, nonce=first), outcome)
        decided(browser, page, "decline")
        clock.next(minutes=1)  # it takes more requests in production


def asked(browser: "Browser", parameters: dict[str, Any]) -> Reply:
    """The page that a request leads to; not recorded."""
    with browser.quietly():
        return browser.follow(browser.get(AUTHORIZE, parameters))


def decided(browser: "Browser", page: Reply, decision: str) -> Reply:
    """Submit a decision to the address of the page's form."""
    return browser.post(action(page), {"decision": decision})


def action(page: Reply) -> str:
    """The address of the form on the consent page."""
    form = _ACTION.search(page.text)
    assert form, (page.status, page.path)
    return form[1]


def links(page: Reply, ending: str) -> list[str]:
    """The links of a page that end like this."""
    return [link for link in re.findall(r'href="([^"]+)"', page.text) if link.endswith(ending)]
