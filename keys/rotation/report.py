"""The report of a rotation, as text and as JSON: what was done, what comes next, what is wrong. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from infra.moments import iso


@dataclass(frozen=True)
class Entry:
    """One entry: a word for machines, the id of the key concerned (if any), the time, and a sentence."""

    what: str
    kid: UUID | None
    at: datetime
    text: str

    def facts(self) -> dict[str, str | None]:
        """The members documented in docs/keys.md."""
        kid = None if self.kid is None else str(self.kid)
        return {"what": self.what, "kid": kid, "at": iso(self.at), "text": self.text}


@dataclass(frozen=True)
class RotationReport:
    """All entries at one moment. In a dry run `done` lists what would be done."""

    at: datetime
    done: tuple[Entry, ...] = ()
    next: tuple[Entry, ...] = ()
    problems: tuple[Entry, ...] = ()
    dry_run: bool = False

    def lines(self) -> list[str]:
        """The sentences: what was done, what is wrong, what comes next."""
        return [entry.text for entry in (*self.done, *self.problems, *self.next)]

    def facts(self) -> dict[str, Any]:
        """The same for machines; docs/keys.md documents the members."""
        lists = {"done": self.done, "next": self.next, "problems": self.problems}
        entries = {name: [entry.facts() for entry in several] for name, several in lists.items()}
        return {"at": iso(self.at), "dry_run": self.dry_run, **entries}


def together(reports: Sequence[RotationReport]) -> RotationReport:
    """One report of all entries, at the moment of the last."""
    done, ahead, problems = (
        tuple(entry for report in reports for entry in getattr(report, name))
        for name in ("done", "next", "problems")
    )
    return replace(reports[-1], done=done, next=ahead, problems=problems)
