"""The guide in the sandbox: complete, escaped, with working links and the sandbox's addresses."""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag

import pytest
from django.conf import settings as django_settings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from presentation.models import RelyingParty
from sandbox.guide.document import rendered
from sandbox.guide.views import PAGES
from tests.narrow_and_wide_windows import look
from tests.sandbox.developers import HOME, signed_in
from tests.sandbox.request_log.conftest import registered_by

pytestmark = pytest.mark.slow

GUIDE = "/sandbox/guide/"
ADDRESSES = {GUIDE if name == "integrate" else f"{GUIDE}{name}/": name for name in PAGES}
# The tags that a rendered page may contain.
PLAIN = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "a", "em", "strong", "code", "pre", "hr"}
PLAIN |= {"br", "blockquote", "img", "div", "wbr", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {
    "id",
    "href",
    "class",
    "tabindex",
    "role",
    "aria-label",
    "start",
    "src",
    "alt",
    "title",
    "data-label",
}


class Reader(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

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

    words = Reader(html).text
    for chapter in re.findall(r"^## (.+)$", source, re.MULTILINE):
        assert words.count(chapter.replace("`", "").replace("'", "’")) >= 2, chapter  # also in the contents
    assert html.count('<pre class="code"') == source.count("\n```") // 2
    assert "style=" not in html
    assert "<script" not in html.split("<article")[1].split("</article>")[0]
    assert "```" not in html


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_link_leads_somewhere(db: None, address: str) -> None:
    for href in Reader(page(address)).values("href"):
        where, anchor = urldefrag(href)
        if where.startswith(("https://", "/static/", "mailto:")):
            continue
        found = page(where or address)
        assert not anchor or anchor in Reader(found).values("id"), href
    assert ".md" not in " ".join(Reader(page(address)).values("href"))


def test_the_addresses_are_this_sandboxs_own(db: None, settings: Any) -> None:
    settings.BASE_URL = "https://sandbox.example"
    html = page(GUIDE)

    assert "https://sandbox.example/sandbox/relying-parties/" in html
    assert '"https://sandbox.example",' in html.replace("&quot;", '"')
    assert "export BASE_URL=https://sandbox.example<" in page(f"{GUIDE}protocol/")


@pytest.mark.parametrize(("address", "name"), ADDRESSES.items())
def test_nothing_is_left_of_the_address_that_the_files_have(
    db: None, settings: Any, address: str, name: str
) -> None:
    settings.BASE_URL = "https://sandbox.example:8443"
    html = page(address)

    source = (django_settings.BASE_DIR / "docs" / f"{name}.md").read_text()
    assert html.count("https://sandbox.example:8443") >= source.count("localhost:8000")
    for local in ("localhost:8000", "{base_url}", "wallet.example"):
        assert local not in html


def test_the_code_has_the_developers_own_client_id(db: None) -> None:
    older, newer = registered_by(name="Older <b>"), registered_by()
    older.redirect_uris.update(uri="http://127.0.0.1:3000/back?a=1&b=2")
    foreign = registered_by("other@shop.example", "Foreign Shop")
    developer = signed_in()

    def shown(**query: str) -> str:
        return Reader(developer.get(GUIDE, query).content.decode()).text

    for party, query in (
        (newer, {}),
        (older, {"client_id": older.client_id}),
        (newer, {"client_id": foreign.client_id}),
        (newer, {"client_id": "\0"}),
    ):
        found = shown(**query)
        assert f"export CLIENT_ID={party.client_id} CLIENT_SECRET=your-client-secret" in found
        assert f"The code has the client ID of {party.name}." in found
        assert foreign.client_id not in found
    assert '"http://127.0.0.1:3000/back?a=1&b=2"' in shown(client_id=older.client_id)
    assert f"Use {older.name}" in shown()
    assert f'href="?client_id={older.client_id}"' in developer.get(GUIDE).content.decode()
    stranger = Reader(page(GUIDE)).text
    assert "export CLIENT_ID=your-client-id" in stranger
    assert "Register your own application" in stranger
    RelyingParty.objects.filter(pk=newer.pk).update(wire_format="openid")  # which this code is not for
    assert newer.name not in shown(client_id=newer.client_id)
    page_of_newer = developer.get(f"{HOME}{newer.client_id}/").content.decode()
    assert f"{GUIDE}openid-connect/?client_id={newer.client_id}" in page_of_newer
    assert (
        f"{GUIDE}?client_id={older.client_id}" in developer.get(f"{HOME}{older.client_id}/").content.decode()
    )


@pytest.mark.browser
def test_the_own_client_id_is_copied(service: Any, page: Any) -> None:
    party = registered_by()
    cookies = signed_in().cookies.values()
    page.context.add_cookies([{"name": it.key, "value": it.value, "url": service.url} for it in cookies])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(service.url + GUIDE)
    page.locator("pre", has_text="CLIENT_ID=").first.locator("+ button").click()
    assert f"CLIENT_ID={party.client_id} " in page.evaluate("navigator.clipboard.readText()")


def test_code_keeps_the_variables_that_have_the_address(db: None, settings: Any) -> None:
    """Code that was copied unchanged would call the sandbox from production."""
    settings.BASE_URL = "https://sandbox.example"
    source = (django_settings.BASE_DIR / "docs" / "integrate.md").read_text()
    shown = Reader(page(GUIDE)).text

    for block in re.findall(r"```\w+\n(.*?)```", source, re.DOTALL):
        assert block.replace("http://localhost:8000", "https://sandbox.example") in shown


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_markup_is_shown_as_text(db: None, address: str) -> None:
    html = page(address)
    prose = re.sub(r'<pre class="code".*?</pre>', "", html, flags=re.DOTALL)

    words = Reader(prose).text
    assert "<!--" not in words
    assert "-->" not in words
    assert "`" not in words
    assert "**" not in words


def test_each_cell_has_the_title_of_its_column() -> None:
    text = "# Title\n\n| `a` | b |\n|---|---|\n| 1 | 2 |\n| 3 |\n\n| c |\n|---|\n| 4 |\n"
    document = rendered(text, base_url="https://a.example", link_to=lambda name: None)

    assert Reader(document.html).values("data-label") == ["a", "b", "a", "b", "c"]


def test_there_are_no_other_files_to_be_read(db: None) -> None:
    for name in ("operate", "keys", "..", "integrate.md", "..%2fREADME"):
        assert Client().get(f"{GUIDE}{name}/").status_code == 404


@given(st.text() | st.from_regex(r"(## |<\w+ style=x>|\[a\]\(javascript:|!\[|\|-|`|#|\n){1,20}"))
def test_no_text_becomes_anything_but_plain_tags(text: str) -> None:
    document = rendered(f"# Title\n\n{text}", base_url="https://a.example", link_to=lambda name: None)

    contents = "".join(title for _anchor, title in document.contents)
    assert {tag for tag, _ in Reader(contents).tags} <= {"wbr"}
    for tag, attributes in Reader(document.html).tags:
        assert tag in PLAIN
        assert set(attributes) <= ATTRIBUTES
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:", "vbscript:"))


@pytest.mark.browser
@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_read_on_a_phone_and_in_the_dark(service: Any, page: Any, address: str) -> None:
    page.goto(service.url + address)

    look(page, "guide")


# Finds words that are split although they would fit on one line.
SPLIT_WORDS = """() => {
  const split = [];
  for (const cell of document.querySelectorAll("nav li, h2, .table-scroll td, .table-scroll th")) {
    if (getComputedStyle(cell.closest("thead") ?? cell).position === "absolute") continue; // not to be seen
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const word of walker.currentNode.data.matchAll(/[\\w’]+/g)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) split.push(word[0]);
      }
    }
  }
  return split;
}"""


CUT_TABLES = """[...document.querySelectorAll(".table-scroll")].filter(
  (each) => each.scrollWidth > each.clientWidth
).length"""


@pytest.mark.browser
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_table_is_cut_and_no_word_of_tables_and_titles_is_split(
    service: Any, page: Any, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(service.url + address)

    assert page.evaluate(SPLIT_WORDS) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.evaluate(CUT_TABLES) == 0
