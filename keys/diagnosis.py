"""The doctor's check of signing keys and their certificates: what the calendar of the keys says."""

from datetime import datetime, timedelta

from infra.doctor import Check, State
from keys.certificates.watch import ending_certificates
from keys.rotation.plan import NO_ACTIVE_KEY, in_use, outlook
from keys.rotation.report import together

LATE = timedelta(hours=12)


def signing_keys(now: datetime) -> tuple[State, str]:
    report = together([outlook(now=now, kind=kind) for kind in in_use()])
    endings = [ending for ending in ending_certificates(now=now) if ending.days < 30]
    late = [entry for entry in report.next if entry.at <= now - LATE]
    if not (report.problems or endings or late):
        return State.OK, "A key signs, and no certificate ends within 30 days."
    cannot_sign = any(entry.what == NO_ACTIVE_KEY for entry in report.problems)
    state = State.NOW if cannot_sign or any(ending.days < 7 for ending in endings) else State.SOON
    return state, " ".join([*(entry.text for entry in (*report.problems, *late)), *map(str, endings)])


CHECKS: dict[str, Check] = {"signing_keys": (signing_keys, "see docs/operate.md, “Signing keys”")}
