"""Gaps in the audit record that two operators have accepted, in signed files beside the signed heads.

After a restore the record ends earlier than a signed head says, and nothing would be signed any more. An
accepted gap says what is missing and why, and pins every line up to the present end by one digest, so that
the record can be verified and signed from there on. Signed heads that do not hold are moved aside with the
lines of their days, and the gap stays on file for ever.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from infra.audit.chain import Fault, Head, Line, canonical
from infra.audit.heads import SignedHead, replace
from infra.files import FileError, content

_LARGEST = 10_000_000  # bytes of a file
_FILES = "gap-????.json"
_CONTEXT = "audit-gap\n"  # begins what is signed, so that the signature is good for nothing else
ACCEPTED = "audit_gap_accepted"  # the action of the lines in the record itself

MOST_FAULTS = 10_000  # that a file lists


class Gap(NamedTuple):
    """An accepted gap. head: the end of the record then; digest: of every line up to there."""

    number: int
    at: datetime
    head: Head
    digest: str
    faults: tuple[Fault, ...]
    set_aside: tuple[SignedHead, ...]
    operators: tuple[int, ...]
    reason: str


def digest_of(lines: Iterable[Line]) -> str:
    """The SHA-256 of all these lines with their hashes and columns."""
    hasher = sha256()
    for line in lines:
        hasher.update(canonical({"line": [str(column) for column in line]}).encode() + b"\n")
    return hasher.hexdigest()


def write(folder: Path, gap: Gap, key: Ed25519PrivateKey) -> None:
    """Writes the signed file of the gap; raises FileError."""
    text = canonical(_values(gap))
    signature = b64encode(key.sign((_CONTEXT + text).encode())).decode()
    replace(folder / f"gap-{gap.number:04}.json", canonical({"gap": text, "signature": signature}) + "\n")


def read(folder: Path, key: Ed25519PublicKey) -> list[Gap]:
    """All accepted gaps of the folder, the oldest first; raises FileError when one is not signed or lost."""
    gaps = [_read(path, key) for path in sorted(folder.glob(_FILES))]
    if [gap.number for gap in gaps] != list(range(1, len(gaps) + 1)):
        raise FileError(f"{folder}: the file of an accepted gap is missing.")
    return gaps


def without_set_aside(signed: Sequence[SignedHead], gaps: Sequence[Gap]) -> list[SignedHead]:
    """The signed heads that no gap has set aside."""
    aside = {signed_head for gap in gaps for signed_head in gap.set_aside}
    return [signed_head for signed_head in signed if signed_head not in aside]


def move_aside(folder: Path, gaps: Iterable[Gap]) -> None:
    """Moves the files of heads that were set aside into a folder of each gap, so that none is overwritten.

    Raises FileError.
    """
    for gap in gaps:
        for signed_head in gap.set_aside:
            _move(folder, folder / f"gap-{gap.number:04}", signed_head)


def _move(folder: Path, aside: Path, signed: SignedHead) -> None:
    lines, head = folder / f"audit-{signed.day}.jsonl", folder / f"audit-{signed.day}.json"
    kept = aside / head.name
    try:
        if kept.exists() or not head.exists():
            return
        aside.mkdir(exist_ok=True)
        if lines.exists():
            lines.replace(aside / lines.name)
        head.replace(kept)
    except OSError as error:
        raise FileError(f"{head} cannot be moved aside: {error.strerror}.") from None


def _read(path: Path, key: Ed25519PublicKey) -> Gap:
    try:
        file = json.loads(content(path, most=_LARGEST))
        key.verify(b64decode(file["signature"]), (_CONTEXT + file["gap"]).encode())
        gap = _gap(json.loads(file["gap"]))
    except InvalidSignature:
        raise FileError(f"{path} is not signed with the audit key.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FileError(f"{path} is not an accepted gap.") from None
    if path.name != f"gap-{gap.number:04}.json":
        raise FileError(f"{path} is the gap {gap.number}.")
    return gap


def _values(gap: Gap) -> dict[str, Any]:
    return {
        "number": gap.number,
        "at": gap.at.isoformat(),
        "seq": gap.head.seq,
        "hash": gap.head.hash,
        "digest": gap.digest,
        "faults": [[fault.seq, fault.problem] for fault in gap.faults],
        "set_aside": [
            [signed_head.day.isoformat(), signed_head.head.seq, signed_head.head.hash]
            for signed_head in gap.set_aside
        ],
        "operators": list(gap.operators),
        "reason": gap.reason,
    }


def _gap(values: dict[str, Any]) -> Gap:
    return Gap(
        number=values["number"],
        at=datetime.fromisoformat(values["at"]),
        head=Head(values["seq"], values["hash"]),
        digest=values["digest"],
        faults=tuple(Fault(seq, problem) for seq, problem in values["faults"]),
        set_aside=tuple(
            SignedHead(date.fromisoformat(day), Head(seq, hash)) for day, seq, hash in values["set_aside"]
        ),
        operators=tuple(values["operators"]),
        reason=values["reason"],
    )
