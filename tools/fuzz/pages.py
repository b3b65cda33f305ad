"""Scenarios that follow the links and submit the forms of pages: as a visitor, an operator, a developer."""

import re
from collections.abc import Collection
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urljoin

from django.apps import apps
from django.contrib.admin import site
from django.urls import reverse

from tests.presentation.relying_parties.png_files import png
from tests.wallet.pictures import picture
from tools.fuzz.gateway import BASE_URL, Reply
from tools.fuzz.mutations import METHODS, TEXTS
from tools.fuzz.requests import Pairs
from tools.fuzz.routes import routes

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

STEPS = 8
_STARTS = (
    *("/", "/wallet/", "/wallet/sign-in/", "/wallet/history/", "/playground/", "/playground/callback/"),
    *("/sandbox/mailbox/", "/sandbox/guide/", "/sandbox/guide/integrate/", "/sandbox/relying-parties/"),
    *("/wallet/identity/",),
    *("/admin/", "/admin/login/?next=//evil.example", "/wallet/signed-out/", "/relying-parties/x/logo"),
)
_SEARCHES = (
    "q",
    "o",
    "p",
    "all",
    "page",
    "next",
    "_popup",
    "_to_field",
    "state__exact",
    "id__exact",
    "e",
    "saved",
)
_FILTERS = (
    "state__exact",
    "id__exact",
    "p",
    "q",
    "o",
    "all",
    "decision__exact",
    "action_time__gte",
    "e",
    "page",
)
_HARD = ("\0", "9" * 5000, "-1", "9" * 20, "\u0663", "1e5", "é", "")
_ACTIONS = (
    *(
        "suspend",
        "reinstate",
        "revoke",
        "approve",
        "decline",
        "claim",
        "release",
        "ask-again",
        "stage",
        "activate",
        "retire",
        "withdraw",
        "certify",
    ),
    *("request", "rotate", "resume", "end", "invalidate"),
)
_PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


_AWAY = ("/language/", "/sign-out/", "/leave/", "/logout/")  # forms beside the one of a page
# What people type into fields that are empty, by the beginning of their names.
_TYPED = {
    "reason": "Ticket 4711: asked for on the telephone",
    "note": "Seen at the counter",
    "email": "somebody@example.org",
    "given_name": "Zoë",
    "family_name": "Holder",
    "birth_date": "1990-02-28",
    "nationalit": "IE, ES",
    "document_number": "X1234567",
    "issuing_country": "IE",
    "document_expires_on": "2090-01-01",
    "name": "A name",
    "term": "holder1@example.org",
    "code": "123456",
}
PICTURES = (
    picture((400, 300)),
    png(400, 300),
    picture((300, 300), "WEBP"),
    b"\xff\xd8\xff" + b"\0" * 50,
    b"GIF89a",
    b"",
)


class Page(HTMLParser):
    """The links and forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, str, Pairs]] = []  # method, action, fields
        self.files: set[str] = set()  # names of the fields for files
        self._choice: tuple[str, list[str]] = ("", [])
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attributes}
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        elif tag == "form":
            self.forms.append((said.get("method", "get").upper(), said.get("action", ""), []))
        elif self.forms and said.get("name"):
            self._field(tag, said)
        elif tag == "option" and self.forms and self._choice[0]:
            self._choice[1].append(said.get("value", ""))
            if "selected" in said or len(self._choice[1]) == 1:
                self._replace(self._choice[0], said.get("value", ""))

    def _field(self, tag: str, said: dict[str, str]) -> None:
        fields = self.forms[-1][2]
        kind = said.get("type", "text")
        if kind == "file":
            self.files.add(said["name"])
        if tag == "select":
            self._choice = (said["name"], [])
        elif tag == "textarea" or (tag == "input" and kind not in ("checkbox", "radio")):
            fields.append((said["name"], said.get("value", "")))
        elif tag == "button" or "checked" in said or len(fields) % 3 == 0:
            fields.append((said["name"], said.get("value", "on")))

    def _replace(self, name: str, value: str) -> None:
        fields = self.forms[-1][2]
        fields[:] = [pair for pair in fields if pair[0] != name] + [(name, value)]


def wander(browser: "Browser") -> None:
    """A visitor or a holder follows links and submits forms."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    if rng.random() < 0.5:
        browser.cookies["holder"] = dataset.holder_cookie(rng.choice(dataset.holders))
    _on_and_on(browser, rng.choice(_STARTS))


def operate(browser: "Browser") -> None:
    """An operator in the admin starts from a list, or from the page of an existing row."""
    browser.cookies["operator"] = browser.runner.dataset.operator_cookie()
    places = [route for route in routes() if route.startswith("/admin/") and "(" not in route]
    places.remove("/admin/logout/")
    place = browser.mutator.rng.choice(places)
    _on_and_on(browser, _PARAMETER.sub(lambda found: _of_the_admin(browser, found, place), place))


def search(browser: "Browser") -> None:
    """Searches the admin's lists and applies all their filters."""
    browser.cookies["operator"] = browser.runner.dataset.operator_cookie()
    rng = browser.mutator.rng
    for _ in range(8):
        model, admin = rng.choice(list(site._registry.items()))
        fields = [name for name in map(str, admin.list_filter) if name.isidentifier()]
        names = (*_FILTERS, *(f"{name}__exact" for name in fields), *(f"{name}__in" for name in fields))
        value = rng.choice((*_HARD, *TEXTS)) if browser.mutator.turns() else rng.choice(("1", "active", "x"))
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        browser.get(address, [(rng.choice(names), value)])


def _of_the_admin(browser: "Browser", found: re.Match[str], place: str) -> str:
    """The primary key of a row of the model that the address names."""
    rng, words = browser.mutator.rng, place.split("/")
    if found[2] == "content_type_id":
        return str(rng.randint(1, 25))
    if found[2] == "name":
        return rng.choice(_ACTIONS)
    if words[2] == "r" or rng.random() < 0.1:
        return rng.choice(("1", "x", *browser.mutator.others))
    rows = apps.get_model(words[2], words[3])._default_manager.order_by("pk")
    known = [str(key) for key in rows.values_list("pk", flat=True)[:6]]
    return quote(rng.choice(known or ["1"]), safe="")


def develop(browser: "Browser") -> None:
    """A developer registers an application and changes it."""
    home = "/sandbox/relying-parties/"
    email = f"dev{browser.mutator.rng.getrandbits(40):x}@example.org"
    sent = browser.post(home, [("email", email)])
    link = re.search(r'href="' + re.escape(BASE_URL) + r'(/sandbox/relying-parties/link/[^"]+)"', sent.text)
    if link is None:
        return
    browser.follow(browser.get(link[1]))
    rng = browser.mutator.rng
    fields = [("name", f"Shop {email[3:8]}"), ("redirect_uris", "http://127.0.0.1:5000/callback")]
    fields += [
        ("allowed_scopes", "urn:service:params:scope:verifiable-credentials:basic"),
        ("wire_format", "string"),
    ]
    if rng.random() < 0.5:
        fields += [
            ("response_uris", "http://127.0.0.1:5000/x"),
            ("jwks", '{"keys": []}'),
            ("webhook_url", ""),
        ]
    made = browser.follow(browser.post(home + "new/", fields))
    browser.runner.account.reached["applications self-registered"] += made.path not in (home + "new/", home)
    _on_and_on(browser, made.path if made.path.startswith(home) else home)


def _on_and_on(browser: "Browser", place: str) -> None:
    rng = browser.mutator.rng
    reply = browser.follow(browser.get(place))
    for _ in range(STEPS):
        if not (reply.header("Content-Type") or "").startswith("text/html"):
            reply = browser.follow(browser.get(place))
        page = Page(reply.text[:150_000])
        links = [link for link in (_ours(link, reply) for link in page.links) if link]
        if page.forms and (not links or rng.random() < 0.55):
            reply = _submit(browser, reply, *rng.choice(page.forms), files=page.files)
        elif links:
            reply = browser.follow(_visit(browser, rng.choice(links)))
        else:
            reply = browser.follow(browser.get(rng.choice(_STARTS)))


def _ours(link: str, reply: Reply) -> str:
    address = urljoin(f"{BASE_URL}{quote(reply.path)}", link).partition("#")[0]
    return address.removeprefix(BASE_URL) if address.startswith(f"{BASE_URL}/") else ""


def _visit(browser: "Browser", address: str) -> Reply:
    """Follows a link, sometimes with more parameters in its query."""
    if browser.mutator.turns(0.3):
        address += f"{'&' if '?' in address else '?'}{random_pair(browser)}"
    elif "?" in address and browser.mutator.turns(0.5):
        path, _, query = address.partition("?")
        address = f"{path}?{browser.mutator.form(parse_qsl(query, keep_blank_values=True))}"
    elif browser.mutator.turns(0.3):
        name, value = browser.mutator.rng.choice(_SEARCHES), browser.mutator.rng.choice(TEXTS)
        more = f"{quote(name)}={quote(value.encode('utf-8', 'surrogatepass'))[:3000]}"
        address += ("&" if "?" in address else "?") + more
    return browser.get(address)


def random_pair(browser: "Browser") -> str:
    """A filter of the admin's lists with a value that databases may refuse."""
    name, value = browser.mutator.rng.choice(_FILTERS), browser.mutator.rng.choice(_HARD)
    return f"{name}={quote(value)}"


def submit_one(browser: "Browser", page: Reply, *, place: str = "") -> Reply | None:
    """Fills in and submits a form of the page, at random or that for `place`; None if it has none."""
    found = Page(page.text[:150_000])
    forms = [form for form in found.forms if form[0] == "POST" and not form[1].endswith(_AWAY)]
    forms = [form for form in forms if place and form[1] in ("", place)] or forms
    if not forms:
        return None
    return _submit(browser, page, *browser.mutator.rng.choice(forms), files=found.files)


def _submit(
    browser: "Browser", page: Reply, method: str, action: str, fields: Pairs, *, files: Collection[str] = ()
) -> Reply:
    """Submits a form of a page, filled in and mutated, sometimes as multipart."""
    place = _ours(action or page.path, page) or page.path
    if method != "POST":
        return browser.follow(browser.get(place.partition("?")[0], fields))
    browser.runner.account.reached["forms sent as they stood on a page"] += 1
    if browser.mutator.rng.random() < 0.7:
        holders = [holder.email for holder in browser.runner.dataset.holders]
        email = browser.mutator.rng.choice((_TYPED["email"], *holders))
        fields = [(name, value or (email if name == "email" else _typed(name))) for name, value in fields]
    if files or browser.mutator.rng.random() < 0.2:
        body, content_type = multipart(browser.mutator.pairs(fields), browser, files)
        return browser.follow(browser.send("POST", place, body, content_type))
    return browser.follow(browser.send("POST", place, browser.mutator.form(fields)))


def _typed(name: str) -> str:
    return next((typed for beginning, typed in _TYPED.items() if name.startswith(beginning)), "")


def multipart(pairs: Pairs, browser: "Browser", files: Collection[str] = ()) -> tuple[bytes, str]:
    """The form as multipart (RFC 7578), with pictures in the fields for files, and sometimes elsewhere."""
    rng, parts = browser.mutator.rng, []
    for name, value in pairs:
        file = f'; filename="{rng.choice(TEXTS)[:80]}"' if name in files or rng.random() < 0.03 else ""
        header = f'Content-Disposition: form-data; name="{name}"{file}'
        if browser.mutator.turns(0.05):
            header += rng.choice(
                ("; a*=nonsense'x'%41", "\r\nContent-Transfer-Encoding: base64", "\r\n:", '"')
            )
        picture = rng.choice(PICTURES) if browser.mutator.turns() else PICTURES[0]
        content = picture if file else value.encode("utf-8", "surrogatepass")
        parts.append(header.encode("utf-8", "surrogatepass") + b"\r\n\r\n" + content)
    body = b"".join(b"--b0undary\r\n" + part + b"\r\n" for part in parts) + b"--b0undary--\r\n"
    return body, "multipart/form-data; boundary=b0undary"


def any_address(browser: "Browser") -> None:
    """A random pattern of the URLconf, by any method, with ids of other rows or invalid ones."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    if rng.random() < 0.4:
        browser.cookies["holder"] = dataset.holder_cookie(rng.choice(dataset.holders))
    if rng.random() < 0.4:
        browser.cookies["operator"] = dataset.operator_cookie()
    patterns = routes()
    for _ in range(10):
        path = _PARAMETER.sub(lambda found: _argument(browser, found), rng.choice(patterns))
        path = path.replace("^", "").replace("$", "")
        method = rng.choice(("GET", "GET", "GET", "POST", "POST", rng.choice(METHODS)))
        pairs = [(rng.choice(_SEARCHES), rng.choice(TEXTS)) for _ in range(rng.choice((0, 0, 1, 2)))]
        if rng.random() < 0.3:
            pairs.append((rng.choice(_FILTERS), rng.choice(_HARD)))
        if method == "GET":
            browser.get(path, pairs)
        elif method == "POST":
            browser.post(path, pairs)
        else:
            browser.send(method, path)


def _argument(browser: "Browser", found: re.Match[str]) -> str:
    rng = browser.mutator.rng
    apps = ("presentation", "consent", "wallet", "keys", "auth")
    small = (str(number) for number in range(1, 20))
    good = (*browser.mutator.others, *small, *apps) if found[3] is None else apps
    text = rng.choice(good) if rng.random() < 0.8 else rng.choice(TEXTS)[:1500]
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
