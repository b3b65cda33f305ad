"""docs/products.md says what `make products` runs, and CI runs a part of it."""

import json
import re
from pathlib import Path

import pytest

from tools.products.every import PRODUCTS, SCOPES, SHORT
from tools.products.page import PAGE, page
from tools.products.person import Page
from tools.products.product import FOLDER, MARKED, SHOP, Product, filled, without_marked_lines

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"base_url": "http://sandbox", "url": "http://here", "client_id": "c-1", "secret": "s-1"}
each_product = pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.key)


def test_the_page_is_made_of_the_settings_that_run() -> None:
    assert PAGE.read_text() == page(PRODUCTS, SCOPES), "write it with: make products WRITE=1"


@each_product
def test_settings_are_short_and_complete(product: Product) -> None:
    assert len(product.text.splitlines()) <= 40
    for text in (product.text, without_marked_lines(product.text)):
        run = filled(text, **KNOWN)
        assert ("c-1" in run, "s-1" in run, "http://sandbox" in run) == (True, True, True)
        assert not re.search(rf"\{{base_url|{SHOP}|<client", run)


@each_product
def test_a_product_runs_without_marked_lines_only_if_it_has_some(product: Product) -> None:
    assert product.without_marked is None or MARKED.search(product.text)


@each_product
def test_the_page_says_what_a_product_shows(product: Product) -> None:
    told = (product.yes, product.no, product.after_a_no, product.sub, product.name_claim)
    assert all(told)


def test_every_file_of_settings_and_every_environment_is_used() -> None:
    assert {path.name for path in (FOLDER / "settings").iterdir() if path.is_file()} == {
        product.settings for product in PRODUCTS
    }
    locks = {path.stem for path in (FOLDER / "environments").glob("*.txt")}
    assert locks == {product.environment for product in PRODUCTS} - {"node", "debian"}
    assert locks == {path.stem for path in (FOLDER / "environments").glob("*.in")}


def test_a_marked_line_goes_with_its_comment_and_nothing_else() -> None:
    text = "a\n  # for PKCE\n  b\n// for ES256\nc\nd # for PKCE\n"
    assert without_marked_lines(text) == "a\nd # for PKCE\n"


def test_a_placeholder_that_nothing_replaces_is_noticed() -> None:
    with pytest.raises(ValueError, match="<tenant ID>"):
        filled("<client ID> <tenant ID>", **KNOWN)


def test_locks_name_hashes_and_no_addresses() -> None:
    for lock in (FOLDER / "environments").glob("*.txt"):
        text = lock.read_text()
        assert "://" not in text, lock
        assert len(re.findall(r"^\S+==", text, re.MULTILINE)) == len(
            re.findall(r"^\S+==.* \\\n    --hash=sha256:", text, re.MULTILINE)
        ), lock
    packages = json.loads((FOLDER / "node" / "package-lock.json").read_text())["packages"]
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    assert not [name for name, entry in packages.items() if name and "integrity" not in entry]


def test_ci_runs_products_of_both_languages_and_one_with_rs256() -> None:
    assert "make products SHORT=1" in (ROOT / ".ci" / "run").read_text()
    short = [product for product in PRODUCTS if product.key in SHORT]
    assert [product.key for product in short] == sorted(SHORT, key=[p.key for p in PRODUCTS].index)
    assert {"jupyterhub", "authjs", "django_allauth", "mod_auth_openidc", "pgadmin"} <= set(SHORT)
    assert any("RS256" in product.registration for product in short)


def test_a_person_reads_words_and_presses_the_button_of_a_form() -> None:
    text = "<style>p {}</style><p>Hello&nbsp;<b>Alice</b></p><script>no()</script>"
    form = '<form method=post><input name="token" value="t"><button name="go" value="1">Go</button></form>'
    shown = Page("http://here/login", 200, text + form)
    assert shown.words == "Hello Alice Go"
    assert shown.form("") == ("http://here/login", {"token": "t", "go": "1"})
    with pytest.raises(LookupError):
        shown.form("/elsewhere")
