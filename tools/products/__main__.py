"""`python -m tools.products [NAME …] [--short] [--write]`: run published products against a sandbox."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from tests.ports import free_port
from tools.products.environments import NODE, install
from tools.products.every import PRODUCTS, SCOPES, SHORT
from tools.products.page import PAGE, page
from tools.products.product import Product
from tools.products.running import place_for, trial
from tools.products.sandbox import Sandbox


def main() -> int:
    """Prints for each product and way of registering it whether it does what the page says; 0 if all do."""
    parser = argparse.ArgumentParser(prog="python -m tools.products", description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, such as django_allauth")
    parser.add_argument("--short", action="store_true", help="those that CI runs, as printed")
    parser.add_argument("--write", action="store_true", help="write docs/products.md, and run nothing")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page(PRODUCTS, SCOPES))
        return 0
    names = options.names or (SHORT if options.short else [product.key for product in PRODUCTS])
    if unknown := set(names) - {product.key for product in PRODUCTS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [product for product in PRODUCTS if product.key in names]
    ways = (True,) if options.short else (True, False)
    with tempfile.TemporaryDirectory(prefix="products-") as folder:
        Path(folder).chmod(0o755)  # for servers that give up root
        try:
            return 0 if _all_hold(_runs(chosen, ways), Path(folder)) else 1
        finally:
            shutil.rmtree(NODE / "runs", ignore_errors=True)


def _runs(products: Sequence[Product], ways: Sequence[bool]) -> list[tuple[Product, bool]]:
    """Each product with its marked lines, and also without them where it connects so."""
    return [
        (product, marked)
        for product in products
        for marked in ways
        if marked or product.without_marked is not None
    ]


def _all_hold(runs: Sequence[tuple[Product, bool]], folder: Path) -> bool:
    """Installs and registers what is needed, then runs one product after the other."""
    held = True
    install({product.environment for product, _marked in runs})
    with Sandbox(folder / "sandbox") as sandbox:
        places, calls = [], []
        for number, (product, marked) in enumerate(runs):
            place = place_for(product, folder / f"{product.key}-{number}", free_port())
            places.append(place)
            calls.append(registration(product, marked=marked, name=place.folder.name, url=place.url))
        clients = sandbox.register(calls)
        for (product, marked), place, client in zip(runs, places, clients, strict=True):
            began, way = monotonic(), "as printed" if marked else "without the marked lines"
            try:
                trial(product, place, client, sandbox.base_url, marked=marked)
                result = "holds"
            except Exception as error:  # noqa: BLE001 - one product must not hide the others
                held, result = False, f"DIFFERS: {error}"
            print(f"{product.name}, {way} ({monotonic() - began:.0f} s): {result}", flush=True)
    return held


def registration(product: Product, *, marked: bool, name: str, url: str) -> list[str]:
    """The words of `register_relying_party` for a product."""
    more = (*product.registration, *(() if marked else product.without_marked or ()))
    subject = () if "--may-recognise" in more else ("--sub", "another")
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    address = f"{url}{product.callback}"
    return ["--name", name, "--wire-format", "openid", "--redirect-uri", address, *scopes, *subject, *more]


if __name__ == "__main__":
    sys.exit(main())
