"""The Spanish catalogue keeps to docs/translations.md: words it avoids, and buttons in the infinitive."""

import re

from babel.messages.catalog import Message

from tools.texts import ROOT, catalogues

CATALOGUE = catalogues.read(catalogues.path(ROOT, "es"), "es")
# What each avoids, and why.
AVOIDED = {
    r"\bretir(ar|ó|e|o|ad[oa]s?)\b": "“retirar” beside an amount is to withdraw money; it is “anular”",
    r"\busted mism[oa]\b|\busted (está|es) \w+[aio]d[oa]\b": "the person may be a man or a woman",
    r"\b(hasta|a|desde|antes de) las %": "between one and two o’clock it is “la”",
    r"\b(quién|[Uu]na aplicación|se le|\)s( le)?) pregunt[aó]\b": "an application “solicita” data",
    r"\b[Ss]us? (motivo|condiciones|palabras)\b": "“su” reads as “your”; these are of the application",
    r"error en su |\bAlguien [^.]* para su |\b[Pp]asa a su ": "“su” reads as “your”; these are of others",
    r"\ben su lugar\b": "“su” reads as “your”; it is “en vez de”",
    r"\b(buzón antiguo|cartera antigua)\b": "it is “anterior” everywhere",
    r"^(Ve|Recibe|Mira|Hace (?!un|poco)|Conserva|Confirma|Inicia|Comparte) ": "reads as an order with “tú”",
    r"\bno le ha llegado|\b[Ll]e hemos (dicho|indicado)|podido decirle": "“le” reads as “to you”",
}
BUTTON = re.compile(r"<button[^>]*>(.*?)</button>|<a [^>]*class=\"button[^\"]*\"[^>]*>(.*?)</a>", re.DOTALL)
TEXT = re.compile(
    r'{% translate "([^"]+)"(?: context "([^"]+)")? %}|{% blocktranslate[^%]*%}(.*?){% endblocktranslate %}',
    re.DOTALL,
)
INFINITIVE = re.compile(r"(No )?\w*[aeií]r(se|lo|la|los|las|le)?\b", re.IGNORECASE)
# What a person says themselves, or names.
NO_INFINITIVE = {"I need more time", "Give me more time", "No, thanks", "Not you? Sign out"}


def spanish(entry: Message) -> list[str]:
    return [entry.string] if isinstance(entry.string, str) else list(entry.string)


def test_no_text_has_a_word_that_the_glossary_avoids() -> None:
    found = [
        f"{text!r}: {why}"
        for entry in CATALOGUE
        if entry.id
        for text in spanish(entry)
        for word, why in AVOIDED.items()
        if re.search(word, text)
    ]
    assert found == []


def test_a_text_that_quotes_a_button_writes_what_is_on_it() -> None:
    quoted = [
        (entry, button)
        for entry in CATALOGUE
        if isinstance(entry.id, str)
        for name in re.findall("“([^”%]+)”", entry.id)
        if (button := CATALOGUE.get(name, "button") or CATALOGUE.get(name))
    ]
    assert len(quoted) > 10
    assert [entry.id for entry, button in quoted if f"«{button.string}»" not in entry.string] == []


def buttons() -> dict[tuple[str, str | None], str]:
    """The English texts of the buttons on holders’ pages, with their context, and the file of each."""
    others = {"admin", "developer", "playground"}
    pages = [page for page in (ROOT / "templates").rglob("*.html") if not others & set(page.parts)]
    return {
        (re.sub(r"{{ (\w+) }}", r"%(\1)s", text or " ".join(block.split())), context or None): page.name
        for page in pages
        for parts in BUTTON.findall(page.read_text())
        for text, context, block in TEXT.findall("".join(parts))
    }


def test_buttons_are_infinitives() -> None:
    texts = buttons()
    assert len(texts) > 60
    entries = {text: CATALOGUE.get(*text) for text in texts if text[0] not in NO_INFINITIVE}
    assert not [text for text, entry in entries.items() if entry is None]
    wrong = [
        f"{texts[text]}: {string}"
        for text, entry in entries.items()
        if entry
        for string in spanish(entry)
        if not INFINITIVE.match(string)
    ]
    assert wrong == []
