"""Scenarios that fill in forms: of holders in their wallets, of identity checks, and of operators."""

import json
import re
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.apps import apps
from django.contrib.admin import site

from infra.admin.operations import OperationsAdmin
from tests.wallet.authenticator import Authenticator
from tools.fuzz.gateway import Reply
from tools.fuzz.pages import submit_one
from tools.fuzz.people import signed_in
from tools.fuzz.routes import routes
from wallet.models import IdentityVerification

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

_UUID = re.compile(r"<uuid:(\w+)>")
# The rows that a parameter of a route names: the app, the model, and the column.
_ROWS = {
    "consent_id": ("consent", "Consent", "pk"),
    "passkey_id": ("wallet", "Passkey", "pk"),
    "public_id": ("wallet", "HolderSession", "public_id"),
    "verification_id": ("wallet", "IdentityVerification", "pk"),
    "subject": ("consent", "Consent", "pk"),
    "redirect_task_id": ("wallet", "RedirectTask", "pk"),
}
_BY_OPERATORS = ("in_person", "from_afar")


def account(browser: "Browser") -> None:
    """A holder fills in the forms of their wallet, and those of the rows of others."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    holder = rng.choice(dataset.holders)
    browser.cookies["holder"] = dataset.holder_cookie(holder)
    places = [
        route for route in routes() if route.startswith("/wallet/") and re.search("<(?!uuid)", route) is None
    ]
    for _ in range(4):
        path = _UUID.sub(lambda found: _row(browser, found[1], holder), rng.choice(places))
        page = browser.follow(browser.get(path))
        for _ in range(rng.choice((1, 2))):
            page = submit_one(browser, page) or browser.follow(browser.post(path, _typed(browser)))
        browser.runner.account.reached["forms of a wallet"] += page.status in (200, 422)


def lost_mailbox(browser: "Browser") -> None:
    """A person without their mailbox moves the wallet of a holder to another address, up to the wait."""
    rng = browser.mutator.rng
    page = browser.get("/wallet/lost-mailbox/")
    for _ in range(6):
        if not (page := submit_one(browser, page) or page).path.startswith("/wallet/"):
            break
        page = signed_in(browser, page)
    page = browser.get("/wallet/lost-mailbox/move/")
    browser.runner.account.reached["recoveries"] += page.status == 200
    for path in rng.sample(
        ("/wallet/lost-mailbox/check/", "/wallet/lost-mailbox/stop/"), rng.choice((0, 1, 2))
    ):
        page = browser.follow(browser.post(path, []))


def passkeys(browser: "Browser") -> None:
    """A holder adds a passkey and signs in with it; its JSON and its CBOR are mutated."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    holder = rng.choice(dataset.holders)
    browser.cookies["holder"] = dataset.holder_cookie(holder)
    key = Authenticator("http://localhost:8000")
    options = browser.post("/wallet/passkeys/options/add/", [])
    if options.status != 200:
        return
    posted = json.loads(key.create(json.loads(options.body)))
    _mutate(browser, posted["response"], "attestationObject")
    added = browser.post("/wallet/passkeys/add/", [("passkey", browser.mutator.json(posted))])
    browser.runner.account.reached["passkeys added"] += "passkey=added" in added.location
    if rng.random() < 0.5:
        submit_one(browser, browser.follow(added))
    browser.cookies.pop("holder", None)
    for _ in range(2):
        options = browser.post("/wallet/passkeys/options/sign-in/", [])
        if options.status != 200:
            return
        posted = json.loads(key.get(json.loads(options.body)))
        _mutate(browser, posted["response"], rng.choice(("authenticatorData", "signature")))
        entered = browser.post("/wallet/passkeys/sign-in/", [("passkey", browser.mutator.json(posted))])
        browser.runner.account.reached["sign-ins with a passkey"] += "/wallet/" in entered.location
    _remove_added(holder)


def _mutate(browser: "Browser", response: dict[str, Any], name: str) -> None:
    if browser.mutator.turns():
        response[name] = browser.mutator.encoded_cbor(response[name])


def _remove_added(holder: Any) -> None:
    """Otherwise the holder soon has as many passkeys as a wallet may have."""
    holder.passkeys.all().delete()


def identity(browser: "Browser") -> None:
    """A new holder asks operators to check their identity; an operator claims the check and decides."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    page = browser.follow(
        browser.post("/wallet/sign-in/", [("email", f"id{rng.getrandbits(60):x}@example.org")])
    )
    signed_in(browser, page)
    page = browser.follow(browser.post("/wallet/identity/", []))
    redirect_task = re.match(r"/wallet/errands/([^/]+)/", page.path)
    if redirect_task is None:
        return
    start = f"/wallet/errands/{redirect_task[1]}/identity/start/"
    page = browser.follow(browser.post(start, [("provider", rng.choice(_BY_OPERATORS))]))
    for _ in range(2):
        page = submit_one(browser, page) or page
    found = IdentityVerification.objects.filter(state=IdentityVerification.State.REVIEW).order_by(
        "-created_at"
    )
    row = found.first() if rng.random() < 0.9 else None
    if row is not None:
        browser.runner.account.reached["identity checks in review"] += 1
        browser.cookies["operator"] = dataset.operator_cookie()
        model = site._registry[IdentityVerification]
        assert isinstance(model, OperationsAdmin)
        for name in ("claim", rng.choice(list(model.operations)), "approve"):
            _operation(browser, model, row, name)
        row.refresh_from_db()
        browser.runner.account.reached["identity checks decided"] += row.state != row.State.REVIEW
    browser.get(f"/wallet/errands/{redirect_task[1]}/identity/")


def operations(browser: "Browser") -> None:
    """An operator fills in the forms of operations, on rows that they fit and on others."""
    rng = browser.mutator.rng
    browser.cookies["operator"] = browser.runner.dataset.operator_cookie()
    offered = [
        admin for admin in site._registry.values() if isinstance(admin, OperationsAdmin) and admin.operations
    ]
    for _ in range(3):
        admin = rng.choice(offered)
        name = rng.choice(list(admin.operations))
        rows = list(admin.model._default_manager.order_by("pk")[:6])
        if admin.operations[name].on_list or rows:
            _operation(browser, admin, None if admin.operations[name].on_list else rng.choice(rows), name)


def _operation(browser: "Browser", admin: OperationsAdmin, row: Any, name: str) -> Reply:
    address = admin.address(row, name)
    page = browser.get(address)
    after = submit_one(browser, page, place=address) or page
    browser.runner.account.reached["operations on rows"] += page.status == 200 and after.path != address
    return after


def _row(browser: "Browser", name: str, holder: Any) -> str:
    """The key of a row that this parameter of a route names, of the holder where possible."""
    app, model, column = _ROWS.get(name, _ROWS["redirect_task_id"])
    rows = apps.get_model(app, model)._default_manager.order_by("pk")
    own = (
        rows.filter(wallet=holder)
        if any(f.name == "wallet" for f in rows.model._meta.fields)
        else rows.none()
    )
    chosen = own if own.exists() and browser.mutator.rng.random() < 0.8 else rows
    known = [str(key) for key in chosen.values_list(column, flat=True)[:6]]
    return quote(browser.mutator.rng.choice(known or [str(secrets.token_hex(16))]), safe="")


def _typed(browser: "Browser") -> list[tuple[str, str]]:
    return [("email", f"x{browser.mutator.rng.getrandbits(40):x}@example.org"), ("code", "123456")]
