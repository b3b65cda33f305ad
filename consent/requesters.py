"""What each requester received from a wallet, and what its holder does about it: ask to delete, report."""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db.models import QuerySet, Window
from django.db.models.functions import RowNumber
from django.template.loader import render_to_string
from django.utils.translation import get_language, gettext, override

from consent import decisions
from consent.models import Consent, Report
from consent.question import Requester
from consent.receipts import label
from infra.limits import Limit, RollingLimit, take
from infra.sealing import SealError, seal_column
from wallet.account import pairwise
from wallet.credential import credentials, days
from wallet.credential.claims import SUBJECT, ClaimPath
from wallet.credential.inference import Fact
from wallet.models import Credential, Wallet
from wallet.status_lists.statuses import statuses_of

REFERENCES = 10  # of receipts in an e-mail, because not every program opens a long address
REPORTS = Limit.from_settings("reports-per-wallet")
REPORTS_OF_ONE = RollingLimit("reports-per-wallet-and-requester", most=1, window=timedelta(days=30))


def requesters(wallet: Wallet) -> QuerySet[Consent]:
    """The last consent record of each requester that ever asked this wallet, newest first."""
    consents = Consent.objects.filter(wallet=wallet)
    place = Window(RowNumber(), partition_by="requester_id", order_by=["-asked_at", "-id"])
    newest = consents.annotate(place=place).filter(place=1)
    return consents.filter(id__in=newest.values("id")).order_by("-asked_at")


def shared(wallet: Wallet, requester_id: str, *, now: datetime) -> QuerySet[Consent]:
    """The consent records by which a requester received something, or still can, newest first."""
    records = decisions.shared_with(wallet=wallet, requester_id=requester_id, now=now)
    return records.defer("sealed_transactions").order_by("-decided_at")


def knowledge(wallet: Wallet, requester_id: str, *, now: datetime) -> dict[str, Any]:
    """What a requester knows, as its page needs it; raises `Consent.DoesNotExist` if it never asked.

    known: each claim that it received, the last time, and the status of that presentation; None if it
    expired. told: the labels of further claims of which its answers tell something. adds_up: what its answers
    say together. question: an open one; new, has: the labels of the claims in it that the requester does not
    have yet, and has.
    """
    consents = Consent.objects.filter(wallet=wallet, requester_id=requester_id)
    newest, records = consents.latest("asked_at"), list(shared(wallet, requester_id, now=now))
    last: dict[ClaimPath, Consent] = {}
    for consent in records:
        last |= {path: consent for path in decisions.shared_by(consent) if path not in last}
    told = dict.fromkeys(path for record in records for path in decisions.told_by(record) if path not in last)
    number = last.get(SUBJECT)
    recognised = Requester.from_json(number.requester) if number else None
    statuses = statuses_of(wallet, [consent.id for consent in last.values()], now=now)
    is_open = newest.decision == Consent.Decision.ASKED and newest.expires_at > now
    paths = [tuple(path) for path in newest.claims] if is_open else []
    return {
        "id": requester_id,
        "requester": Requester.from_json(newest.requester),
        "received": bool(records),
        "known": [
            {"label": label(path), "consent": consent, "status": statuses.get(consent.id)}
            for path, consent in last.items()
        ],
        "told": [label(path) for path in told],
        "adds_up": _adds_up(wallet, records, now=now),
        "number": number,
        "recognised": recognised,
        "has_number": recognised and pairwise.is_used(recognised.sector, wallet=wallet),
        "asked_to_delete_at": max(
            filter(None, (record.deletion_asked_at for record in records)), default=None
        ),
        "question": newest if is_open else None,
        "new": [label(path) for path in paths if path not in last],
        "has": [label(path) for path in paths if path in last],
    }


def _adds_up(wallet: Wallet, records: Sequence[Consent], *, now: datetime) -> list[Fact]:
    """What the answers say together, computed from the present identity; nothing if that does not open."""
    credential: Credential | None = getattr(wallet, "credential", None)
    today = days.of_ages(now, settings.AGE_TIME_ZONE)
    answers = [answer for record in records for answer in decisions.answers_by(record)]
    try:
        return credentials.adds_up(credential, [], answers, today=today) if credential else []
    except SealError:
        return []


def deletion_email(
    wallet: Wallet, requester_id: str, *, contact: str, now: datetime
) -> tuple[dict[str, str], str]:
    """An e-mail that asks to delete what was shared, and the address that opens it in a program.

    It is a text for each language, that of the page first, and names nothing of the wallet but its receipts.
    contact: the e-mail address that it is for, or empty.
    """
    records = shared(wallet, requester_id, now=now)
    context = {
        "requester": Requester.from_json(records[0].requester),
        "operator": settings.OPERATOR,
        "records": records[:REFERENCES],
        "older": max(0, records.count() - REFERENCES),
    }
    texts, titles = dict[str, str](), []
    for language in sorted(dict(settings.LANGUAGES), key=lambda code: code != get_language()):
        with override(language):
            titles.append(gettext("Please delete my details"))
            texts[language] = render_to_string("consent/deletion.txt", context).strip()
    facts = {"subject": " / ".join(titles), "body": "\n\n\n".join(texts.values())}
    to = quote(contact, safe="@")
    return texts, f"mailto:{to}?{urlencode(facts, quote_via=quote)}"


def note_deletion_asked(wallet: Wallet, requester_id: str, *, now: datetime) -> None:
    """Store that the holder asked a requester to delete all that it received until now."""
    shared(wallet, requester_id, now=now).update(deletion_asked_at=now)


def report(wallet: Wallet, requester_id: str, *, reason: str, text: str, now: datetime) -> None:
    """Store a report; raises `LimitReachedError` after too many of this wallet, or of the same requester."""
    with ExitStack() as taken:
        take(REPORTS_OF_ONE, f"{wallet.id}\n{requester_id}", now=now, taken=taken)
        REPORTS.take(str(wallet.id), now=now)
        row = Report(requester_id=requester_id, reason=reason, reported_at=now)
        row.sealed_text = seal_column(row, "sealed_text", text.encode()) if text else None
        row.save()
        taken.pop_all()
