"""Starts a product, lets two people sign in and one decline, and says what differs from the page."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.products import environments
from tools.products.person import Page, Person
from tools.products.product import FOLDER, Place, Product, filled, without_marked_lines
from tools.products.waiting import end_of, until_it_answers


class DiffersError(Exception):
    """A product does not do what the page says; the text has what it did."""


def trial(product: Product, place: Place, client: Mapping[str, Any], base_url: str, *, marked: bool) -> None:
    """Runs a product, with or without the marked lines. Raises DiffersError or NotStartedError."""
    text = product.text if marked else without_marked_lines(product.text)
    known = {"client_id": client["client_id"], "secret": client["client_secret"], "url": place.url}
    place.settings.write_text(filled(text, base_url=base_url, **known))
    with _running(product, place) as log:
        try:
            _expect("after a yes", product.yes, _signed_in(product, place, Person(base_url, "share")))
            again = product.again or product.yes
            _expect("the second time", again, _signed_in(product, place, Person(base_url, "share")))
            declining = Person(base_url, "decline")
            declined = _came_back(product, place, declining)
            _expect("after a no", product.no, declined)
            if declining.asked != 1:
                raise DiffersError(f"after a no the person was asked {declining.asked} times")
        except Exception as error:
            raise DiffersError(f"{error!r}\n{end_of(log)}") from error


def _signed_in(product: Product, place: Place, person: Person) -> Page:
    page = _came_back(product, place, person)
    return person.opens(f"{place.url}{product.shown}") if product.shown else page


def _came_back(product: Product, place: Place, person: Person) -> Page:
    """The page to which the person comes back after deciding."""
    page = person.opens(f"{place.url}{product.login}")
    return product.presses(person, page) if product.presses else page


def _expect(when: str, text: str, page: Page) -> None:
    if text not in page.words and text not in page.text:  # JSON may look like tags
        raise DiffersError(f"{when} no “{text}” in {page.url} ({page.status}): {page.words[:1500]}")


@contextmanager
def _running(product: Product, place: Place) -> Iterator[Path]:
    """The product as a process group of its own, until it answered once; gives its log."""
    log = place.folder / "log"
    surroundings = {
        "PATH": f"{place.programs}:{os.environ['PATH']}",
        "HOME": str(place.folder),
        "PYTHONPATH": f"{place.folder}:{FOLDER / 'applications'}",
        "PYTHONUNBUFFERED": "1",
        "PORT": str(place.port),
        "URL": place.url,
        **dict(product.variables),
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(word) for word in product.command(place)],
            cwd=place.folder,
            env=surroundings,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        until_it_answers(f"{place.url}{product.login}", process, log)
        yield log
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def place_for(product: Product, folder: Path, port: int) -> Place:
    """A folder of its own for a product, whose environment is installed first. Raises MissingProgramError."""
    programs = environments.programs(product.environment)
    if product.environment == "node":  # modules are looked for in the folders above
        folder = environments.NODE / "runs" / folder.parent.name / folder.name
    folder.mkdir(parents=True)
    folder.chmod(0o755)  # for servers that give up root
    return Place(port, folder, programs, folder / f"settings{Path(product.settings).suffix}")
