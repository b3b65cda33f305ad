"""Verifies the stored audit record, and signs its head day by day."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from infra import jobs, runs
from infra.audit import chain, heads
from infra.audit.chain import Fault, Head, Line
from infra.audit.heads import SignedHead
from infra.models import AuditLine


class BrokenRecordError(Exception):
    """The record has faults, so it is not signed."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(f"line {faults[0].seq}: {faults[0].problem}")
        self.faults = faults


def lines(*, after: int = 0) -> Iterator[Line]:
    """The stored lines, the oldest first."""
    rows = AuditLine.objects.filter(seq__gt=after).order_by("seq").values_list(*Line._fields)
    for row in rows.iterator(chunk_size=1000):
        jobs.next_batch()
        yield Line(*row)


def faults(signed: Iterable[Head] = ()) -> Iterator[Fault]:
    """Every fault of the record. Read the signed heads before: lines may be added meanwhile."""
    return chain.faults(lines(), signed)


def verify(signed: Iterable[Head] = (), *, now: datetime) -> None:
    """Raises BrokenRecordError if the record has faults, and stores their number for monitoring."""
    found = list(faults(signed))
    runs.record(runs.AUDIT_RECORD, now=now, failures=len(found))
    if found:
        raise BrokenRecordError(found)


def sign_days(folder: Path, key: Ed25519PrivateKey, *, now: datetime) -> list[SignedHead]:
    """Signs the head of each day from the last signed one to today, and exports the lines of these days.

    Today's files are written anew each time. The whole record is verified first; raises BrokenRecordError,
    and FileError when a file cannot be used.
    """
    before = heads.read(folder, key.public_key())
    verify([each.head for each in before], now=now)
    done = [signed for signed in before if signed.day < (before[-1].day if before else date.max)]
    written = []
    for day in _days(before, now):
        head = _head_at_the_end_of(day)
        last = done[-1].head.seq if done else 0
        if head and head.seq > last:
            done.append(SignedHead(day, head))
            heads.write(folder, done[-1], key, _texts(last, head.seq))
            written.append(done[-1])
    return written


def _days(before: list[SignedHead], now: datetime) -> list[date]:
    """From the last signed day, whose head may have moved since, or the day of the first line, to today."""
    oldest = AuditLine.objects.order_by("seq").values_list("at", flat=True).first()
    if oldest is None:
        return []
    first = before[-1].day if before else oldest.astimezone(UTC).date()
    count = (now.astimezone(UTC).date() - first).days
    return [first + timedelta(days=number) for number in range(count + 1)]


def _head_at_the_end_of(day: date) -> Head | None:
    """The last line before the first of a later day: clocks of several machines may differ a little."""
    tomorrow = datetime.combine(day + timedelta(days=1), time.min, UTC)
    stored = AuditLine.objects.order_by("-seq")
    later = AuditLine.objects.filter(at__gte=tomorrow).order_by("seq").values_list("seq", flat=True).first()
    found = (stored.filter(seq__lt=later) if later else stored).values_list("seq", "hash").first()
    return Head(*found) if found else None


def _texts(after: int, until: int) -> list[str]:
    rows = AuditLine.objects.filter(seq__gt=after, seq__lte=until).order_by("seq")
    return list(rows.values_list("text", flat=True))
