"""The person: a browser without scripts, and the sandbox's holder where the service asks."""

import re
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import requests

MOST_REDIRECTS = 20
PATIENCE = 60  # seconds for one page


@dataclass(frozen=True)
class Page:
    url: str
    status: int
    text: str

    def form(self, action: str) -> tuple[str, dict[str, str]]:
        """The address and hidden fields of the form whose action contains a text."""
        reader = _Forms()
        reader.feed(self.text)
        for address, fields in reader.forms:
            if action in address:
                return urljoin(self.url, address), fields
        raise LookupError(f"no form of {self.url} leads to {action}")

    @property
    def words(self) -> str:
        """What a person reads on the page: without scripts, styles and tags."""
        visible = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", self.text, flags=re.DOTALL)
        return " ".join(unescape(visible).split())


class Person:
    """One person with one browser, who answers each request for consent alike. Use: share or decline."""

    def __init__(self, base_url: str, decision: str) -> None:
        self._base_url, self._decision = base_url, decision
        self._session = requests.Session()
        self.asked = 0

    def opens(self, url: str) -> Page:
        return self._follows("GET", url, None)

    def submits(self, page: Page, action: str) -> Page:
        """Presses the button of the form whose action contains a text."""
        return self.posts(*page.form(action))

    def posts(self, url: str, fields: dict[str, str]) -> Page:
        return self._follows("POST", url, fields)

    def _follows(self, method: str, url: str, fields: dict[str, str] | None) -> Page:
        """Goes to an address and on from there, also through the service. RecursionError: a loop."""
        referrer = {"Referer": url, "Origin": "/".join(url.split("/")[:3])}
        for _ in range(MOST_REDIRECTS):
            if url.startswith(f"{self._base_url}/verifiable-credentials/"):
                method, url, fields = "GET", self._answers(url), None
                continue
            for cookie in self._session.cookies:
                cookie.secure = False  # browsers send them to loopback addresses without https too
            headers = referrer if method == "POST" else {}
            response = self._session.request(
                method, url, data=fields, headers=headers, allow_redirects=False, timeout=PATIENCE
            )
            if not response.is_redirect:
                return Page(url, response.status_code, response.text)
            method, url, fields = "GET", urljoin(url, response.headers["Location"]), None
        raise RecursionError(f"{url} redirects without end")

    def _answers(self, url: str) -> str:
        """The address to which the service sends the browser after the decision."""
        self.asked += 1
        call = {"authorize_url": url, "decision": self._decision}
        answer: dict[str, Any] = requests.post(
            f"{self._base_url}/sandbox/holder", json=call, timeout=PATIENCE
        ).json()
        if not answer.get("redirect_to"):
            raise ConnectionError(f"the service ended with {answer}"[:1000])
        return str(answer["redirect_to"])


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append((found.get("action", ""), {}))
        elif tag in ("input", "button") and self.forms and found.get("name"):
            self.forms[-1][1][found["name"]] = found.get("value", "")
