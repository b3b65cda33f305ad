"""What is known of a product: its settings, how it starts, and what a person sees. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.products.person import Page, Person

FOLDER = Path(__file__).resolve().parent
SHOP = "https://shop.example"
# The line of settings below such a comment is needed only because of PKCE, or of the algorithm of ID tokens.
MARKED = re.compile(r"^ *(?:#|//) for (?:PKCE|ES256)\n.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """Where one product runs: its port, a folder to write to, and the programs of its environment."""

    port: int
    folder: Path
    programs: Path
    settings: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Product:
    """A product as docs/products.md describes it. The texts `after_a_no`, `sub` and `name_claim` stand there.

    settings: a file of `settings/`. It is printed as it is, and runs once its placeholders are replaced.
    environment: a lock of `environments/`, or `node`, or `debian`.
    command: starts it, in its folder.
    login: where the person begins.
    presses: what the person does there, if it is a page with a button; gives the page to which that leads.
    shown: where the person looks after signing in, if the product does not lead there.
    yes, no, again: what the page says after a yes, a no, and a second sign-in from another browser.
    variables: of its environment, only because it runs here.
    introduction: printed before its settings.
    registration: further words of `register_relying_party`.
    without_marked: the words with which it runs without the marked lines; None if it needs or has none.
    """

    name: str
    package: str
    environment: str
    settings: str
    command: Callable[[Place], Sequence[str]]
    callback: str
    login: str
    yes: str
    no: str
    after_a_no: str
    sub: str
    name_claim: str
    again: str = ""
    presses: Callable[[Person, Page], Page] | None = None
    shown: str = ""
    registration: tuple[str, ...] = ()
    without_marked: tuple[str, ...] | None = None
    variables: tuple[tuple[str, str], ...] = ()
    introduction: str = ""

    @property
    def text(self) -> str:
        """The settings with their placeholders, as the page prints them."""
        return (FOLDER / "settings" / self.settings).read_text()

    @property
    def key(self) -> str:
        """A short name, for the command line and folders."""
        return self.settings.partition(".")[0]


def without_marked_lines(text: str) -> str:
    """Settings as somebody writes them who knows nothing of PKCE or algorithms."""
    return MARKED.sub("", text)


def filled(text: str, *, base_url: str, url: str, client_id: str, secret: str) -> str:
    """Settings that can run. Raises ValueError for a placeholder that nothing replaces."""
    for shown, here in {
        "{base_url}": base_url,
        "<client ID>": client_id,
        "<client secret>": secret,
        "<32 random characters>": "r" * 32,
        SHOP: url,
    }.items():
        text = text.replace(shown, here)
    if left := re.findall(r"<[a-z0-9 ]+ (?:ID|secret|characters)>|shop\.example", text):
        raise ValueError(f"nothing replaces {left[0]}")
    return text
