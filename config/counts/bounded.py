"""Values of a label of which there may be many: the first few by name, the rest together as `other`.

First come, not the largest: a value that changed between its name and `other` would let counters fall.
"""

import fcntl
from pathlib import Path

OTHER = "other"
_LONGEST = 100  # characters of a value that gets its name

_in_memory: dict[str, list[str]] = {}


def named(value: str, *, label: str, most: int, folder: Path | None) -> str:
    """The value if it is among the first `most` of this label, else `other`.

    All processes that share the folder name the same values. Slow: call it once for each value.
    """
    if not value.isprintable() or len(value) > _LONGEST:
        return OTHER
    if folder is None:
        return value if _find(value, _in_memory.setdefault(label, []), most)[0] else OTHER
    try:
        with open(folder / f"{label}.labels", "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            file.seek(0)
            is_named, is_new = _find(value, file.read().splitlines(), most)
            file.write(f"{value}\n" if is_new else "")
    except OSError:  # counting must not fail a request
        return OTHER
    return value if is_named else OTHER


def _find(value: str, names: list[str], most: int) -> tuple[bool, bool]:
    """Whether the value is named, and whether it was added for that."""
    if value in names:
        return True, False
    if len(names) >= most:
        return False, False
    names.append(value)
    return True, True
