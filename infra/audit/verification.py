"""Verifies the stored audit record, and signs its head day by day."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from infra import jobs, runs
from infra.audit import chain, gaps, heads
from infra.audit.chain import Fault, Head, Line
from infra.audit.gaps import Gap
from infra.audit.heads import SignedHead
from infra.models import AuditLine


class BrokenRecordError(Exception):
    """The record has faults, so it is not signed."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(f"line {faults[0].seq}: {faults[0].problem}")
        self.faults = faults


def lines(*, after: int = 0, until: int | None = None) -> Iterator[Line]:
    """The stored lines with numbers above `after` and up to `until`, the oldest first."""
    rows = AuditLine.objects.filter(seq__gt=after).order_by("seq").values_list(*Line._fields)
    if until is not None:
        rows = rows.filter(seq__lte=until)
    for row in rows.iterator(chunk_size=1000):
        jobs.next_batch()
        yield Line(*row)


def faults(signed: Iterable[SignedHead] = (), accepted: Sequence[Gap] | None = None) -> Iterator[Fault]:
    """Every fault of the record that no accepted gap explains. accepted: None where nobody knows them.

    Read the signed heads and the gaps before: lines may be added meanwhile.
    """
    heads_left = [signed_head.head for signed_head in gaps.without_set_aside(list(signed), accepted or ())]
    if accepted is not None:
        yield from _lost_gaps(accepted)
    if not accepted:
        yield from chain.faults(lines(), heads_left)
        return
    newest = accepted[-1]
    if gaps.digest_of(lines(until=newest.head.seq)) != newest.digest:
        yield Fault(
            newest.head.seq, f"a line up to this one was changed since gap {newest.number} was accepted"
        )
    after = [head for head in heads_left if head.seq > newest.head.seq]
    yield from chain.faults(lines(after=newest.head.seq), after, after=newest.head)


def _lost_gaps(accepted: Sequence[Gap]) -> Iterator[Fault]:
    """The record itself says which gaps were accepted, so the file of one cannot be removed unseen."""
    accepted_names = {f"gap {gap.number}" for gap in accepted}
    named = AuditLine.objects.filter(action=gaps.ACCEPTED).order_by("seq").values_list("seq", "about")
    for seq, gap in named:
        if gap not in accepted_names:
            yield Fault(seq, f"the signed file of {gap} is missing")


def verify(
    signed: Iterable[SignedHead] = (), accepted: Sequence[Gap] | None = None, *, now: datetime
) -> None:
    """Raises BrokenRecordError if the record has faults, and stores their number for monitoring."""
    present_faults = list(faults(signed, accepted))
    runs.record(runs.AUDIT_RECORD, now=now, failures=len(present_faults))
    if present_faults:
        raise BrokenRecordError(present_faults)


def sign_days(folder: Path, key: Ed25519PrivateKey, *, now: datetime) -> list[SignedHead]:
    """Signs the head of each day from the last signed one to today, and exports the lines of these days.

    Today's files are written anew each time. The whole record is verified first; raises BrokenRecordError,
    and FileError when a file cannot be used.
    """
    accepted = gaps.read(folder, key.public_key())
    gaps.move_aside(folder, accepted)
    before = heads.read(folder, key.public_key())
    verify(before, accepted, now=now)
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


def accept_gap(
    folder: Path, key: Ed25519PrivateKey, *, operators: tuple[int, ...], reason: str, now: datetime
) -> Gap | None:
    """Signs what is wrong with the record now, so that it can be signed again; None if nothing is wrong.

    Raises FileError.
    """
    accepted, signed = gaps.read(folder, key.public_key()), heads.read(folder, key.public_key())
    present_faults = tuple(islice(faults(signed, accepted), gaps.MOST_FAULTS))
    end = AuditLine.objects.order_by("-seq").values_list("seq", "hash").first()
    if not present_faults:
        return None
    head = Head(*end) if end else Head(0, chain.GENESIS)  # if every line was lost
    gap = Gap(
        number=len(accepted) + 1,
        at=now,
        head=head,
        digest=gaps.digest_of(lines(until=head.seq)),
        faults=present_faults,
        set_aside=tuple(
            signed_head
            for signed_head in gaps.without_set_aside(signed, accepted)
            if not _holds(signed_head.head)
        ),
        operators=operators,
        reason=reason,
    )
    gaps.write(folder, gap, key)
    gaps.move_aside(folder, [gap])
    return gap


def _holds(head: Head) -> bool:
    return AuditLine.objects.filter(seq=head.seq, hash=head.hash).exists()


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
    newest = (stored.filter(seq__lt=later) if later else stored).values_list("seq", "hash").first()
    return Head(*newest) if newest else None


def _texts(after: int, until: int) -> list[str]:
    rows = AuditLine.objects.filter(seq__gt=after, seq__lte=until).order_by("seq")
    return list(rows.values_list("text", flat=True))
