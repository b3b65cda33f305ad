"""The catalogues are complete, compiled, and the same as `make texts` would write; and faults are found."""

import re

import pytest
from babel.messages.catalog import Catalog
from django.conf import settings

from tools.texts import LANGUAGES, ROOT, catalogues
from tools.texts.faults import faults

pytestmark = pytest.mark.gettext
GOOD = "Condiciones de <bdi>%(name)s</bdi>"


@pytest.fixture(scope="module")
def texts() -> Catalog:
    from tools.texts import extraction

    return extraction.texts()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_that_a_holder_reads_is_translated(texts: Catalog, language: str):
    catalogue = catalogues.read(catalogues.path(ROOT, language), language)
    assert faults(texts, catalogue) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_and_its_compiled_file_are_as_the_command_writes_them(texts: Catalog, language: str):
    known = catalogues.read(catalogues.path(ROOT, language), language)
    anew = catalogues.written(catalogues.merged(texts, known, language), language)
    assert catalogues.outdated(ROOT, language, anew) == []


def test_every_language_but_english_has_a_catalogue():
    assert {code for code, _name in settings.LANGUAGES} == {settings.LANGUAGE_CODE, *LANGUAGES}


def test_texts_for_operators_and_developers_are_not_in_the_catalogue(texts: Catalog):
    files = {file for text in texts for file, _line in text.locations}
    assert "templates/wallet/sign_in.html" in files
    assert "wallet/emails/holder_emails.py" in files
    assert not [file for file in files if "admin" in file or "playground" in file or "management" in file]


@pytest.mark.parametrize(
    ("string", "flags", "fault"),
    [
        (GOOD, (), None),
        ("", (), "not translated"),
        (GOOD, ("fuzzy",), "fuzzy"),
        ("Condiciones de <bdi>alguien</bdi>", (), "other placeholders"),
        ("Condiciones de <bdi>%(nombre)s</bdi>", (), "other placeholders"),
        ("Condiciones de <bdi>%(name)s %(name)s</bdi>", (), "other placeholders"),
        ("Condiciones de <b>%(name)s</b>", (), "other HTML tags"),
        ('Condiciones de <bdi onclick="x()">%(name)s</bdi>', (), "other HTML tags"),
        (GOOD + " ", (), "other spaces at its ends"),
        ("\n" + GOOD, (), "other spaces at its ends"),
        ("L'<bdi>%(name)s</bdi>", (), "a straight apostrophe"),
    ],
)
def test_a_faulty_translation_is_found(string: str, flags: tuple[str, ...], fault: str | None):
    text = "Terms of <bdi>%(name)s</bdi>"
    source, catalogue = Catalog(), Catalog(locale="es")
    source.add(text)
    catalogue.add(text, string=string, flags=flags)
    found = faults(source, catalogue)
    assert found == ([f"{fault}: {text!r}"] if fault else [])


def test_a_missing_plural_form_is_found():
    source, catalogue = Catalog(), Catalog(locale="es")
    source.add(("%(n)s day", "%(n)s days"))
    catalogue.add(("%(n)s day", "%(n)s days"), string=("%(n)s día", ""))
    assert faults(source, catalogue) == ["not translated: '%(n)s day'"]


def test_a_translation_without_a_text_is_found():
    catalogue = Catalog(locale="es")
    catalogue.add("Gone", string="Perdido")
    assert faults(Catalog(), catalogue) == ["not in the source any more: 'Gone'"]


def test_days_on_the_pages_of_holders_are_written_in_the_language_of_the_page():
    found = []
    for folder in ("wallet", "consent", "presentation", "includes"):
        for page in (ROOT / "templates" / folder).rglob("*"):
            if page.is_file():
                found += re.findall(r'\|date:"[^"]*[FMjy]', page.read_text())
    assert not found, "use `|day`, `{% moment %}` or `{% clock %}` of infra/templatetags/moments.py"


def test_the_style_sheet_can_be_mirrored():
    """Left and right are named only where they mean a side of the screen in every language."""
    css = (ROOT / "config" / "static" / "style.css").read_text()
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    assert not re.findall(r"(?:margin|padding|border)-(?:left|right)|(?:^|[\s;{])(?:left|right)\s*:", css)
    assert not re.findall(r"(?:text-align|float|clear)\s*:\s*(?:left|right)", css)
    for found in re.finditer(r"(?:margin|padding|inset)\s*:\s*([^;}]+)", css):
        sides = found[1].split()
        assert len(sides) < 4 or sides[1] == sides[3] or "(" in found[1], found[0]
