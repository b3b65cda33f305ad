"""Writes the whole texts of a run as a record that a person can review, and gets them back from it.

The record says once what the whole texts say several times. Nothing is lost by that: `expanded` makes the
same whole texts of it again, and the test compares these. Inside a record,

* a section names the file that has the same section in full;
* a run of exchanges of production names the exchanges of the sandbox's scenario that it equals;
* consecutive requests with the same answer stand together in front of it;
* a body that another body of its file repeats has a name. The other is this name with “again”, or with the
  lines that differ. Lines of a body are counted from 1.

A text is blocks with an empty line between them. A block that begins with `## ` is the title of a section,
and one with `> ` an exchange: the request, the answer from `< ` on, and the body with `|` before each line.
"""

import re
from difflib import SequenceMatcher

LEAST = 4  # lines of a body that gets a name
_SANDBOX = "the sandbox"
_RUN = re.compile(r"^\(exchanges? (\d+)(?: to (\d+))? as in the sandbox\)$")
_SAME_SECTION = re.compile(r"^(## .*) \(as in ([\w. -]+)\)$")
_NAME = re.compile(r"^«(.*)»$")
_AGAIN = re.compile(r"^«(.*)» again$")
_CHANGED = re.compile(r"^«(.*)» with other lines$")
_HUNK = re.compile(r"^« (?:(?:instead of|without) lines? (\d+)(?:–(\d+))?|after line (\d+)):?$")
_HUNKS = {
    "insert": "« after line {first}:",
    "replace": "« instead of {lines}:",
    "delete": "« without {lines}",
}
Sections = dict[str, list[str]]  # blocks by title


def compacted(texts: dict[str, str], sandbox: dict[str, str] | None = None) -> dict[str, str]:
    """The record of whole texts by file name. `sandbox`: the whole texts that production refers to."""
    found: dict[str, str] = {}
    places: dict[tuple[str, ...], str] = {}
    for name, text in sorted(texts.items()):
        there = _sections((sandbox or {}).get(name, ""))
        said: list[str] = []
        for title, blocks in _sections(text).items():
            place = _SANDBOX if there.get(title) == blocks else places.setdefault((title, *blocks), name)
            if place != name:
                said.append(f"{title} (as in {place})")
            else:
                said += [title, *_grouped(_without_runs(blocks, there.get(title, [])))]
        found[name] = _text(_named(said))
    return found


def expanded(records: dict[str, str], sandbox: dict[str, str] | None = None) -> dict[str, str]:
    """The whole texts of these records: the reverse of `compacted`."""
    found: dict[str, str] = {}
    for name, record in sorted(records.items()):
        there = _sections((sandbox or {}).get(name, ""))
        said: list[str] = []
        for title, blocks in _sections(_text(_unnamed(_blocks(record)))).items():
            if same := _SAME_SECTION.match(title):
                others = there if same[2] == _SANDBOX else _sections(found[same[2]])
                said += [same[1], *others[same[1]]]
            else:
                said += [title, *_with_runs(_ungrouped(blocks), there.get(title, []))]
        found[name] = _text(said)
    return found


def _blocks(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n\n") if text else []


def _text(blocks: list[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _sections(text: str) -> Sections:
    sections: Sections = {}
    for block in _blocks(text):
        if block.startswith("## "):
            if block in sections:
                raise ValueError(f"Two sections have the title {block!r}.")
            blocks = sections[block] = []
        else:
            blocks.append(block)
    return sections


# --- Runs of exchanges as in the sandbox ----------------------------------------------------------------


def _without_runs(blocks: list[str], sandbox: list[str]) -> list[str]:
    said: list[str] = []
    for kind, first, last, ours, ours_end in SequenceMatcher(None, sandbox, blocks, False).get_opcodes():
        if kind == "equal":
            numbers = f"s {first + 1} to {last}" if last > first + 1 else f" {last}"
            said.append(f"(exchange{numbers} as in the sandbox)")
        else:
            said += blocks[ours:ours_end]
    return said


def _with_runs(blocks: list[str], sandbox: list[str]) -> list[str]:
    said: list[str] = []
    for block in blocks:
        run = _RUN.match(block)
        said += sandbox[int(run[1]) - 1 : int(run[2] or run[1])] if run else [block]
    return said


# --- Requests with the same answer ----------------------------------------------------------------------


def _parts(block: str) -> tuple[str, str]:
    """The requests of an exchange, and the answer; of another block all, and nothing."""
    requests, mark, answer = block.partition("\n< ")
    return (requests, mark + answer) if block.startswith("> ") else (block, "")


def _grouped(blocks: list[str]) -> list[str]:
    said: list[str] = []
    answer_before = ""
    for block in blocks:
        request, answer = _parts(block)
        if answer and answer == answer_before:
            said[-1] = f"{_parts(said[-1])[0]}\n{request}{answer}"
        else:
            said.append(block)
        answer_before = answer
    return said


def _ungrouped(blocks: list[str]) -> list[str]:
    said: list[str] = []
    for block in blocks:
        requests, answer = _parts(block)
        said += [request + answer for request in re.split(r"\n(?=> )", requests)] if answer else [block]
    return said


# --- Bodies with names ----------------------------------------------------------------------------------


def _with_body(block: str) -> tuple[list[str], list[str], list[str]]:
    """The lines of a block: before its body, the body, and after it."""
    lines = block.split("\n")
    inside = [number for number, line in enumerate(lines) if line.startswith(("|", "«"))]
    if not inside:
        return lines, [], []
    return lines[: inside[0]], lines[inside[0] : inside[-1] + 1], lines[inside[-1] + 1 :]


def _named(blocks: list[str]) -> list[str]:
    known: dict[str, tuple[int, list[str]]] = {}  # by name: the block that has the body, and its lines
    said: list[str] = []
    used: set[str] = set()
    for block in blocks:
        before, body, after = _with_body(block)
        if len(body) < LEAST:
            said.append(block)
            continue
        kind = _kind(before, body)
        candidates = [name for name in known if name == kind or name.startswith(f"{kind} (")]
        short = min(
            ((_changed(known[name][1], body, name), name) for name in candidates),
            key=lambda pair: len(pair[0]),
            default=(body, ""),
        )
        if len(short[0]) <= len(body) / 2:
            used.add(short[1])
            said.append("\n".join([*before, *short[0], *after]))
            continue
        name = f"{kind} ({len(candidates) + 1})" if candidates else kind
        known[name] = (len(said), body)
        said.append(block)
    for name in used:
        place, body = known[name]
        before, _, after = _with_body(said[place])
        said[place] = "\n".join([*before, f"«{name}»", *body, *after])
    return said


def _kind(before: list[str], body: list[str]) -> str:
    """What bodies of one kind have in common: the title of the page, or the first words of the request."""
    if not before:
        return "Frame"
    if body[0].startswith("| title: "):
        return body[0].removeprefix("| title: ")
    return before[0].removeprefix("> ").partition(" · ")[0]


def _changed(known: list[str], body: list[str], name: str) -> list[str]:
    if known == body:
        return [f"«{name}» again"]
    said = [f"«{name}» with other lines"]
    for kind, first, last, ours, ours_end in SequenceMatcher(None, known, body, False).get_opcodes():
        if kind != "equal":
            lines = f"lines {first + 1}–{last}" if last > first + 1 else f"line {last}"
            said.append(_HUNKS[kind].format(first=first, lines=lines))
            said += body[ours:ours_end]
    return said


def _unnamed(blocks: list[str]) -> list[str]:
    known: dict[str, list[str]] = {}
    said: list[str] = []
    for block in blocks:
        before, body, after = _with_body(block)
        if body and (name := _NAME.match(body[0])):
            body = known[name[1]] = body[1:]
        elif body and (again := _AGAIN.match(body[0])):
            body = known[again[1]]
        elif body and (changed := _CHANGED.match(body[0])):
            body = _restored(known[changed[1]], body[1:])
        said.append("\n".join([*before, *body, *after]))
    return said


def _restored(known: list[str], changes: list[str]) -> list[str]:
    said: list[str] = []
    place = 0
    for line in changes:
        if hunk := _HUNK.match(line):
            first = int(hunk[3]) if hunk[3] else int(hunk[1]) - 1
            said += known[place:first]
            place = int(hunk[3] or hunk[2] or hunk[1])
        else:
            said.append(line)
    return said + known[place:]
