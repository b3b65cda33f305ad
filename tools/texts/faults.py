"""What is wrong with a catalogue: compared with the texts of the source and with its compiled file. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from string import Formatter

from babel.messages.catalog import Catalog, Message

_PERCENT = re.compile(r"%(?:\(\w+\))?[a-z%]")
_TAG = re.compile(r"</?[a-z]+[^<>]*>")
_EDGE = re.compile(r"^\s*|\s*$")


def faults(texts: Catalog, catalogue: Catalog) -> list[str]:
    """A line for each fault: missing, fuzzy and obsolete entries, placeholders, HTML, spaces at the ends."""
    found = [f"obsolete: {_name(entry)}" for entry in catalogue.obsolete.values()]
    wanted = {_key(text) for text in texts if text.id}
    found += [
        f"not in the source any more: {_name(entry)}"
        for entry in catalogue
        if entry.id and _key(entry) not in wanted
    ]
    for text in texts:
        if text.id:
            entry = catalogue.get(text.id, text.context)
            found += [f"{fault}: {_name(text)}" for fault in _faults(text, entry, catalogue.num_plurals)]
    return found


def _faults(text: Message, entry: Message | None, plurals: int) -> Iterator[str]:
    strings = _strings(entry) if entry else []
    if entry is None or not strings or not all(strings):
        yield "not translated"
        return
    if entry.fuzzy:
        yield "fuzzy"
    if len(strings) != (plurals if text.pluralizable else 1):
        yield "a plural form is missing"
    sources = [text.id] if isinstance(text.id, str) else list(text.id)
    for string in strings:
        if not any(_placeholders(source) == _placeholders(string) for source in sources):
            yield "other placeholders"
        if not any(_tags(source) == _tags(string) for source in sources):
            yield "other HTML tags"
        if not any(_EDGE.findall(source) == _EDGE.findall(string) for source in sources):
            yield "other spaces at its ends"
        if "'" in string:
            yield "a straight apostrophe"


def _placeholders(text: str) -> Counter[str]:
    return Counter(_PERCENT.findall(text)) + Counter(_fields(text))


def _fields(text: str) -> list[str]:
    """The names in braces, as `str.format` reads them; none if the text is no such format."""
    try:
        return [name for _literal, name, _format, _conversion in Formatter().parse(text) if name]
    except ValueError:
        return []


def _tags(text: str) -> Counter[str]:
    return Counter(_TAG.findall(text))


def _strings(entry: Message) -> list[str]:
    return [entry.string] if isinstance(entry.string, str) else list(entry.string or ())


def _key(entry: Message) -> tuple[str, str]:
    return (entry.id if isinstance(entry.id, str) else entry.id[0], entry.context or "")


def _name(entry: Message) -> str:
    return repr(_key(entry)[0][:100])
