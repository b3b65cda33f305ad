"""The service in its shipped form (nginx, gunicorn, PostgreSQL), with the browsers that attack it."""

import html
import itertools
import json
import re
import secrets
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from tests.relying_party import RelyingParty
from tools.benchmarks.servers import Work
from tools.drills.mail import Mail, sender
from tools.drills.place import HOST, Installation, installation, place

FORM = re.compile(r'<form\b[^>]*\baction="([^"]+)"[^>]*id="decision".*?</form>', re.DOTALL)
_ADDRESSES = itertools.count(1)  # each browser comes from an address of its own, because limits count by it


@dataclass(frozen=True)
class Reply:
    """A response; `headers` by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    @property
    def gives(self) -> bool:
        """Whether it gives a presentation away."""
        return re.search('vp_token(=|%3D|")', self.location + self.text) is not None


class Visitor:
    """A browser or another client that reaches the service through nginx."""

    def __init__(self, port: int, cookies: Mapping[str, str] | None = None) -> None:
        number = next(_ADDRESSES)
        self.port, self.source = port, f"127.1.{number // 250}.{number % 250 + 1}"
        self.cookies = dict(cookies or {})

    def ask(self, method: str, path: str, body: str | bytes = "", **headers: str) -> Reply:
        """Sends one request. `headers` have `_` in place of `-`."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sent = {"Host": f"{HOST}:{self.port}", "Accept": "text/html", "Accept-Language": "en"}
        sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        to_nginx = HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=context, source_address=(self.source, 0)
        )
        with closing(to_nginx) as connection:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
        for line in response.headers.get_all("Set-Cookie", []):
            for name, cookie in SimpleCookie(line).items():
                self.cookies[name] = cookie.value
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, text)

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: Any, **headers: str) -> Reply:
        """Sends a form as a page of the service does; `fields` may be the text of its body."""
        said = {"Origin": f"https://{HOST}:{self.port}", "Referer": f"https://{HOST}:{self.port}{path}"}
        said |= {"Sec_Fetch_Site": "same-origin", "Content_Type": "application/x-www-form-urlencoded"}
        body = fields if isinstance(fields, str) else urlencode(fields, doseq=True)
        return self.ask("POST", path, body, **said | headers)

    def submit(self, path: str, **fields: str) -> Reply:
        """Opens the page with the form, and sends that."""
        self.get(path)
        return self.post(path, fields)


@dataclass
class Question:
    """An open consent page in a browser, and where its form is sent."""

    party: RelyingParty
    visitor: Visitor
    page: Reply
    action: str

    @property
    def own_address(self) -> str:
        return self.page.headers["content-location"]

    def decide(self, decision: str = "share", **fields: Any) -> Reply:
        return self.visitor.post(self.action, {"decision": decision, "page": self.own_address, **fields})


@dataclass
class Site:
    """The running installation and those who are known to it."""

    where: Installation
    facts: Mapping[str, Any]
    inside: socket.socket  # a server on this machine that must never be called
    mail: Mail
    marks: list[str] = field(default_factory=list)  # secret values that were sent; no log may contain them

    @property
    def origin(self) -> str:
        return self.where.place.origin

    def visitor(self, cookies: Mapping[str, str] | None = None) -> Visitor:
        return Visitor(self.where.proxy.port, cookies)

    def holder(self, number: int) -> tuple[str, Visitor]:
        """The e-mail address of a holder and a browser in which they are signed in; -1 has no identity."""
        email, cookies = [*self.where.facts["holders"], self.facts["refused"]][number]
        return email, self.visitor(cookies)

    def party(self, name: str = "", **changes: Any) -> RelyingParty:
        """The relying party of this name in `prepare`; without a name, that of the drills."""
        party = self.where.party()
        if name:
            party.client_id, party.redirect_uri = self.facts["parties"][name], self.facts["redirect_uri"]
        party.__dict__.update(changes)
        return party

    def address(self, party: RelyingParty, email: str, **changes: Any) -> str:
        """The path of an authorization request."""
        nonce = secrets.token_urlsafe(24)
        self.marks += [nonce, email]
        given = {"login_hint": email, "nonce": nonce, **changes}
        return party.authorize_url(**given).removeprefix(self.origin)

    def question(self, number: int, party: RelyingParty | None = None, **changes: Any) -> Question:
        """An open question to this holder."""
        party, (email, visitor) = party or self.party(), self.holder(number)
        path = self.address(party, email, **changes)
        page = visitor.get(path)
        while page.location.startswith("/"):
            page = visitor.get(page.location)
        form = FORM.search(page.text)
        if form is None:
            raise RuntimeError(f"there is no question: {page.status} {page.location} {page.text[:3000]}")
        return Question(party, visitor, page, html.unescape(form[1]))


@contextmanager
def site() -> Iterator[Site]:
    """The shipped form with its database filled, and a mail server. Raises MissingProgramError."""
    with place() as here, socket.create_server(("127.0.0.1", 0)) as inside:
        mail = Mail(here.folder / "mail")
        mail.start()
        try:
            with installation(here, changes=mail.environment) as where, sender(where):
                port = inside.getsockname()[1]
                with Work(["-m", "tools.attacks.prepare", str(port)], where.environment) as work:
                    found = Site(where, json.loads(work.done()), inside, mail)
                if f'"{found.origin}"' not in found.visitor().get("/.well-known/jwt-vc-issuer").text:
                    raise RuntimeError("another program took the port of nginx")
                yield found
        finally:
            mail.stop()
