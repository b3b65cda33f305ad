"""The guide, read in the sandbox: complete, nothing but text, working links, the sandbox's own addresses."""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag

import pytest
from django.conf import settings as django_settings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from presentation.sandbox.guide.document import rendered
from presentation.sandbox.guide.views import PAGES
from tests.journeys.test_self_service import look
from tests.people import register

GUIDE = "/sandbox/guide/"
ADDRESSES = {GUIDE if name == "integrate" else f"{GUIDE}{name}/": name for name in PAGES}
# What a page of docs/ may come out as.
PLAIN = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "a", "em", "strong", "code", "pre", "hr"}
PLAIN |= {"br", "blockquote", "img", "div", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"id", "href", "class", "tabindex", "role", "aria-label", "start", "src", "alt", "title"}


class Reader(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(name))]


def page(address: str) -> str:
    response = Client().get(address)
    assert response.status_code == 200
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    return response.content.decode()


@pytest.mark.parametrize(("address", "name"), ADDRESSES.items())
def test_every_chapter_and_every_line_of_code_is_there(db: None, address: str, name: str) -> None:
    source = (django_settings.BASE_DIR / "docs" / f"{name}.md").read_text()
    html = page(address)

    for chapter in re.findall(r"^## (.+)$", source, re.MULTILINE):
        assert html.count(chapter.replace("'", "&#x27;")) + html.count(chapter) >= 2  # in the contents too
    assert html.count('<pre class="code"') == source.count("\n```") // 2
    assert "style=" not in html
    assert "<script" not in html
    assert "```" not in html


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_link_leads_somewhere(db: None, address: str) -> None:
    for href in Reader(page(address)).values("href"):
        where, anchor = urldefrag(href)
        if where.startswith(("https://", "/static/")):
            continue
        found = page(where or address)
        assert not anchor or anchor in Reader(found).values("id"), href
    assert ".md" not in " ".join(Reader(page(address)).values("href"))


def test_the_addresses_are_this_sandboxs_own(db: None, settings: Any) -> None:
    settings.BASE_URL = "https://sandbox.example"
    html = page(GUIDE)

    assert "{base_url}" not in html
    assert "https://sandbox.example/sandbox/relying-parties/" in html
    assert 'SANDBOX_URL", "https://sandbox.example")' in html.replace("&quot;", '"')
    assert "export BASE_URL=https://sandbox.example<" in html


def test_it_reads_as_other_pages_do(db: None) -> None:
    html = page(GUIDE)

    assert "An hour’s work" in html
    assert "secrets.token_urlsafe" in html  # code is left alone
    assert '"response_type": "vp_token"' in html.replace("&quot;", '"')


def test_there_are_no_other_files_to_be_read(db: None) -> None:
    for name in ("operate", "keys", "..", "integrate.md", "..%2fREADME"):
        assert Client().get(f"{GUIDE}{name}/").status_code == 404


@pytest.mark.parametrize("address", ["/", "/sandbox/relying-parties/", "/sandbox/api/", "/playground/"])
def test_it_is_found_from_every_page_for_developers(
    client: Client, signing_key: Any, settings: Any, address: str
) -> None:
    register("Acme Bank", f"{settings.BASE_URL}/playground/callback/")

    assert GUIDE in Reader(client.get(address).content.decode()).values("href")


@given(st.text() | st.from_regex(r"(<\w+ style=x>|\[a\]\(javascript:|!\[|\|-|`|#|\n){1,20}"))
def test_no_text_becomes_anything_but_plain_tags(text: str) -> None:
    document = rendered(f"# Title\n\n{text}", base_url="https://a.example", link_to=lambda name: None)

    for tag, attributes in Reader(document.html).tags:
        assert tag in PLAIN
        assert set(attributes) <= ATTRIBUTES
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:", "vbscript:"))


@pytest.mark.browser
@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_read_on_a_phone_and_in_the_dark(service: Any, page: Any, address: str) -> None:
    page.goto(service.url + address)

    look(page, "guide")
