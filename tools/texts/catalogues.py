"""Catalogues as files: read, merged with the texts of the source, written in one form, and compiled."""

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

_NO_DATE = datetime(2000, 1, 1, tzinfo=UTC)  # Babel writes dates into the header; ours never change
HEADER = "# Texts for holders in {}. `make texts` writes this file; docs/translations.md explains it."


def path(root: Path, language: str, ending: str = "po") -> Path:
    """The file of a catalogue below `root`, or with `mo` its compiled form."""
    return root / "locale" / language / "LC_MESSAGES" / f"django.{ending}"


def read(file: Path, language: str) -> Catalog:
    """The catalogue in the file, with its obsolete and fuzzy entries; an empty one if there is no file."""
    if not file.exists():
        return Catalog(locale=language)
    with file.open("rb") as opened:
        return read_po(opened, locale=language)


def merged(texts: Catalog, known: Catalog, language: str) -> Catalog:
    """The texts of the source with the translations that are known; new texts have none."""
    catalogue = Catalog(locale=language, header_comment=HEADER.format(Locale.parse(language).english_name))
    for text in _entries(texts):
        entry = known.get(text.id, text.context)
        string = entry.string if entry and _same_form(entry, text) else None
        catalogue.add(
            text.id,
            string=string,
            locations=sorted({(file, 0) for file, _line in text.locations}),
            flags=text.flags - {"fuzzy"},
            auto_comments=text.auto_comments,
            context=text.context,
        )
    return catalogue


def written(catalogue: Catalog, language: str) -> bytes:
    """The file of a catalogue: texts in the order of their files and of the alphabet, and no dates."""
    plural = f"nplurals={catalogue.num_plurals}; plural={catalogue.plural_expr};"
    header = {
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": plural,
    }
    lines = [catalogue.header_comment.splitlines()[0], 'msgid ""', 'msgstr ""']
    lines += [f"{_quoted(f'{name}: {value}' + chr(10))}" for name, value in header.items()]
    for entry in sorted(_entries(catalogue), key=_order):
        lines += ["", *_lines(entry, catalogue.num_plurals)]
    return ("\n".join(lines) + "\n").encode()


def compiled(file: Path, language: str) -> bytes:
    """The `.mo` file of a `.po` file: without fuzzy entries and without dates."""
    catalogue = read(file, language)
    lean = Catalog(locale=language, fuzzy=False, creation_date=_NO_DATE, revision_date=_NO_DATE)
    for entry in _entries(catalogue):
        if entry.string and not entry.fuzzy:
            lean.add(entry.id, string=entry.string, context=entry.context)
    buffer = BytesIO()
    write_mo(buffer, lean)
    return buffer.getvalue()


def outdated(root: Path, language: str, anew: bytes) -> list[str]:
    """What is not as `make texts` would write it: the catalogue (`anew`) or its compiled file."""
    file, found = path(root, language), []
    if file.read_bytes() != anew:
        found.append("the catalogue is not as `make texts` writes it")
    if path(root, language, "mo").read_bytes() != compiled(file, language):
        found.append("the compiled file does not belong to the catalogue: run `make texts`")
    return found


def _entries(catalogue: Catalog) -> list[Message]:
    return [entry for entry in catalogue if entry.id]


def _same_form(entry: Message, text: Message) -> bool:
    return bool(entry.pluralizable) == bool(text.pluralizable)


def _order(entry: Message) -> tuple[str, str]:
    files = [file for file, _line in entry.locations]
    return (files[0] if files else "", entry.id if isinstance(entry.id, str) else entry.id[0])


def _lines(entry: Message, plurals: int) -> list[str]:
    lines = [f"#. {comment}" for comment in entry.auto_comments]
    lines += [f"#: {file}" for file, _line in entry.locations]
    lines += [f"#, {', '.join(sorted(entry.flags))}"] if entry.flags else []
    lines += [f"msgctxt {_quoted(entry.context)}"] if entry.context else []
    if isinstance(entry.id, str):
        return [*lines, f"msgid {_quoted(entry.id)}", f"msgstr {_quoted(str(entry.string or ''))}"]
    strings = [*(entry.string or ()), *[""] * plurals][:plurals]
    lines += [f"msgid {_quoted(entry.id[0])}", f"msgid_plural {_quoted(entry.id[1])}"]
    return [*lines, *(f"msgstr[{index}] {_quoted(string)}" for index, string in enumerate(strings))]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
