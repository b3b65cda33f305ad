"""Stories that follow links and send forms as they stand on pages: of anybody, operators, developers."""

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urljoin

from django.apps import apps
from django.contrib.admin import site
from django.urls import reverse

from tests.fuzz.gateway import BASE_URL, Reply
from tests.fuzz.player import routes
from tests.fuzz.requests import Pairs
from tests.fuzz.spoiling import METHODS, TEXTS

if TYPE_CHECKING:
    from tests.fuzz.player import Browser

STEPS = 8
_STARTS = (
    *("/", "/wallet/", "/wallet/sign-in/", "/wallet/history/", "/playground/", "/playground/callback/"),
    *("/sandbox/mailbox/", "/sandbox/guide/", "/sandbox/guide/integrate/", "/sandbox/relying-parties/"),
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


class Page(HTMLParser):
    """The links and forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, str, Pairs]] = []  # method, action, fields
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
    """Anybody, or a holder, from link to link and from form to form."""
    chance, world = browser.spoiler.chance, browser.player.world
    if chance.random() < 0.5:
        browser.cookies["holder"] = world.holder_cookie(chance.choice(world.holders))
    _on_and_on(browser, chance.choice(_STARTS))


def operate(browser: "Browser") -> None:
    """An operator in the admin: from a list, or from any page about something that is there."""
    browser.cookies["operator"] = browser.player.world.operator_cookie()
    places = [route for route in routes() if route.startswith("/admin/") and "(" not in route]
    places.remove("/admin/logout/")
    place = browser.spoiler.chance.choice(places)
    _on_and_on(browser, _PARAMETER.sub(lambda found: _of_the_admin(browser, found, place), place))


def search(browser: "Browser") -> None:
    """The admin's lists, searched and filtered by all that they can be filtered by."""
    browser.cookies["operator"] = browser.player.world.operator_cookie()
    chance = browser.spoiler.chance
    for _ in range(8):
        model, admin = chance.choice(list(site._registry.items()))
        fields = [name for name in map(str, admin.list_filter) if name.isidentifier()]
        names = (*_FILTERS, *(f"{name}__exact" for name in fields), *(f"{name}__in" for name in fields))
        value = (
            chance.choice((*_HARD, *TEXTS))
            if browser.spoiler.turns()
            else chance.choice(("1", "active", "x"))
        )
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        browser.get(address, [(chance.choice(names), value)])


def _of_the_admin(browser: "Browser", found: re.Match[str], place: str) -> str:
    """The primary key of a row of the model that the place is about."""
    chance, words = browser.spoiler.chance, place.split("/")
    if found[2] == "content_type_id":
        return str(chance.randint(1, 25))
    if found[2] == "name":
        return chance.choice(_ACTIONS)
    if words[2] == "r" or chance.random() < 0.1:
        return chance.choice(("1", "x", *browser.spoiler.others))
    rows = apps.get_model(words[2], words[3])._default_manager.order_by("pk")
    known = [str(key) for key in rows.values_list("pk", flat=True)[:6]]
    return quote(chance.choice(known or ["1"]), safe="")


def develop(browser: "Browser") -> None:
    """A developer who registers an application and looks after it."""
    home = "/sandbox/relying-parties/"
    email = f"dev{browser.spoiler.chance.getrandbits(40):x}@example.org"
    sent = browser.post(home, [("email", email)])
    link = re.search(r'href="' + re.escape(BASE_URL) + r'(/sandbox/relying-parties/link/[^"]+)"', sent.text)
    if link is None:
        return
    browser.follow(browser.get(link[1]))
    chance = browser.spoiler.chance
    fields = [("name", f"Shop {email[3:8]}"), ("redirect_uris", "http://127.0.0.1:5000/callback")]
    fields += [
        ("allowed_scopes", "urn:service:params:scope:verifiable-credentials:basic"),
        ("wire_format", "string"),
    ]
    if chance.random() < 0.5:
        fields += [
            ("response_uris", "http://127.0.0.1:5000/x"),
            ("jwks", '{"keys": []}'),
            ("webhook_url", ""),
        ]
    made = browser.follow(browser.post(home + "new/", fields))
    browser.player.account.reached["applications self-registered"] += made.path not in (home + "new/", home)
    _on_and_on(browser, made.path if made.path.startswith(home) else home)


def _on_and_on(browser: "Browser", place: str) -> None:
    chance = browser.spoiler.chance
    reply = browser.follow(browser.get(place))
    for _ in range(STEPS):
        if not (reply.header("Content-Type") or "").startswith("text/html"):
            reply = browser.follow(browser.get(place))
        page = Page(reply.text[:150_000])
        links = [link for link in (_ours(link, reply) for link in page.links) if link]
        if page.forms and (not links or chance.random() < 0.55):
            reply = _submit(browser, reply, *chance.choice(page.forms))
        elif links:
            reply = browser.follow(_visit(browser, chance.choice(links)))
        else:
            reply = browser.follow(browser.get(chance.choice(_STARTS)))


def _ours(link: str, reply: Reply) -> str:
    address = urljoin(f"{BASE_URL}{quote(reply.path)}", link).partition("#")[0]
    return address.removeprefix(BASE_URL) if address.startswith(f"{BASE_URL}/") else ""


def _visit(browser: "Browser", address: str) -> Reply:
    """A link, with something more in its query now and then."""
    if browser.spoiler.turns(0.3):
        address += f"{'&' if '?' in address else '?'}{chance_pair(browser)}"
    elif "?" in address and browser.spoiler.turns(0.5):
        path, _, query = address.partition("?")
        address = f"{path}?{browser.spoiler.form(parse_qsl(query, keep_blank_values=True))}"
    elif browser.spoiler.turns(0.3):
        name, value = browser.spoiler.chance.choice(_SEARCHES), browser.spoiler.chance.choice(TEXTS)
        more = f"{quote(name)}={quote(value.encode('utf-8', 'surrogatepass'))[:3000]}"
        address += ("&" if "?" in address else "?") + more
    return browser.get(address)


def chance_pair(browser: "Browser") -> str:
    """A filter of the admin's lists with what databases take badly."""
    name, value = browser.spoiler.chance.choice(_FILTERS), browser.spoiler.chance.choice(_HARD)
    return f"{name}={quote(value)}"


def _submit(browser: "Browser", page: Reply, method: str, action: str, fields: Pairs) -> Reply:
    """A form as it stands there, spoilt; as multipart where chance has it."""
    place = _ours(action or page.path, page) or page.path
    if method != "POST":
        return browser.follow(browser.get(place.partition("?")[0], fields))
    browser.player.account.reached["forms sent as they stood on a page"] += 1
    if browser.spoiler.chance.random() < 0.2:
        body, content_type = multipart(browser.spoiler.pairs(fields), browser)
        return browser.follow(browser.send("POST", place, body, content_type))
    return browser.follow(browser.send("POST", place, browser.spoiler.form(fields)))


def multipart(pairs: Pairs, browser: "Browser") -> tuple[bytes, str]:
    """The same form as parts (RFC 7578), one of them perhaps a file."""
    chance, parts = browser.spoiler.chance, []
    for name, value in pairs:
        file = f'; filename="{chance.choice(TEXTS)[:80]}"' if "logo" in name or chance.random() < 0.03 else ""
        header = f'Content-Disposition: form-data; name="{name}"{file}'
        if browser.spoiler.turns(0.05):
            header += chance.choice(
                ("; a*=nonsense'x'%41", "\r\nContent-Transfer-Encoding: base64", "\r\n:", '"')
            )
        content = b"\x89PNG\r\n\x1a\n" + b"\0" * 60 if file else value.encode("utf-8", "surrogatepass")
        parts.append(header.encode("utf-8", "surrogatepass") + b"\r\n\r\n" + content)
    body = b"".join(b"--b0undary\r\n" + part + b"\r\n" for part in parts) + b"--b0undary--\r\n"
    return body, "multipart/form-data; boundary=b0undary"


def any_address(browser: "Browser") -> None:
    """Every pattern of the URLconf, by any method, with ids that are good elsewhere or none."""
    chance, world = browser.spoiler.chance, browser.player.world
    if chance.random() < 0.4:
        browser.cookies["holder"] = world.holder_cookie(chance.choice(world.holders))
    if chance.random() < 0.4:
        browser.cookies["operator"] = world.operator_cookie()
    patterns = routes()
    for _ in range(10):
        path = _PARAMETER.sub(lambda found: _argument(browser, found), chance.choice(patterns))
        path = path.replace("^", "").replace("$", "")
        method = chance.choice(("GET", "GET", "GET", "POST", "POST", chance.choice(METHODS)))
        pairs = [(chance.choice(_SEARCHES), chance.choice(TEXTS)) for _ in range(chance.choice((0, 0, 1, 2)))]
        if chance.random() < 0.3:
            pairs.append((chance.choice(_FILTERS), chance.choice(_HARD)))
        if method == "GET":
            browser.get(path, pairs)
        elif method == "POST":
            browser.post(path, pairs)
        else:
            browser.send(method, path)


def _argument(browser: "Browser", found: re.Match[str]) -> str:
    chance = browser.spoiler.chance
    apps = ("presentation", "consent", "wallet", "keys", "auth")
    small = (str(number) for number in range(1, 20))
    good = (*browser.spoiler.others, *small, *apps) if found[3] is None else apps
    text = chance.choice(good) if chance.random() < 0.8 else chance.choice(TEXTS)[:1500]
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
