"""The data kept about requests, answers, relying parties and operators: why, and for how long."""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from consent import decisions
from consent.models import Consent
from infra.moments import in_words
from infra.retention import Clearing, Due, ForPeople, Kept, delete, expired, pages
from presentation.models import AuthorizationCode, Interaction, PushedRequest, RequestCount, UsedAssertion
from presentation.requests import more_time, sign_in_time
from presentation.requests.delivery import deliveries
from presentation.requests.wire_formats import codes
from presentation.statistics import counting
from presentation.webhooks.models import WebhookEvent, WebhookSecret

_OPEN = ForPeople(
    _("A request while it is open: your e-mail address, and what is asked for. Payments are encrypted."),
    _("To show it to you, and to send your answer."),
    _("Until you answer; otherwise a day after it ended"),
)
_ANSWERED = ForPeople(
    _("That a request was answered, with its receipt"),
    _("So that the same request cannot be answered twice."),
    _("400 days"),
)
_CODE = ForPeople(
    _("Your answer to an application that collects it. Encrypted."),
    _("So that the application can collect it, once."),
    _("A minute, or five minutes after it was collected"),
)

WAY_BACK_KEPT = timedelta(days=1)  # how long the page about an expired interaction has a link back
SURELY_OVER = timedelta(minutes=10)  # after the expiry; no request that could still answer runs so long
NONCE_REMEMBERED = timedelta(days=400)  # how long a nonce is refused after a token
WEBHOOKS_KEPT = timedelta(days=30)


def old_interactions(now: datetime) -> list[Due]:
    """The interactions that are no longer needed."""
    # Two queries, because what is remembered for more than a year has an index apart from what goes sooner.
    ended, forgotten = now - WAY_BACK_KEPT, now - NONCE_REMEMBERED
    with_token = Interaction.objects.filter(outcome=Interaction.Outcome.TOKEN, expires_at__lt=forgotten)
    return [
        Due(_without_token(before=ended), "expires_at", ended),
        Due(with_token, "expires_at", forgotten),
    ]


def note_never_answered(*, now: datetime, batch: int) -> None:
    """Marks granted consents as undelivered if no presentation followed, because the process died."""
    for page in pages(_without_token(before=now - SURELY_OVER), by="expires_at", batch=batch):
        granted = page.filter(
            consent__decision=Consent.Decision.GRANTED,
            consent__undelivered_at=None,
        )
        decisions.note_undelivered(*granted.values_list("consent", flat=True), now=now)


def _without_token(*, before: datetime) -> QuerySet[Interaction]:
    """The interactions without a token that expired before this moment."""
    return Interaction.objects.filter(~Q(outcome=Interaction.Outcome.TOKEN), expires_at__lt=before)


def clear_interactions(*, now: datetime, batch: int) -> int:
    """Deletes rows that are no longer needed, `batch` per transaction; returns their number."""
    note_never_answered(now=now, batch=batch)
    counting.store_ended_hours(now=now)
    return sum(delete(due.rows, by=due.by, batch=batch) for due in old_interactions(now))


ENTRIES = (
    Kept(
        "presentation.Delivery",
        columns=("sealed_body", "sealed_onward"),
        what="answer that is posted, and where the browser goes next",
        how="sealed",
        why="to post it again when it did not arrive",
        how_long=f"until it has arrived, {in_words(deliveries.KEPT)} at most",
        cleared_as="posted answers",
        clear=Clearing(deliveries.forget_expired, deliveries.expired),
        people=ForPeople(
            _("Your answer, until it has arrived. Encrypted."),
            _("To send it again if it did not arrive."),
            _("Five minutes at most"),
        ),
    ),
    Kept(
        "presentation.AuthorizationCode",
        columns=("sealed_answer",),
        what="code of OpenID Connect: the answer behind it",
        how="sealed",
        why="so that the relying party can exchange the code, and read UserInfo",
        how_long=f"{in_words(sign_in_time.CODE_LIVES)}, once exchanged {in_words(codes.ACCESS_LIVES)}",
        cleared_as="codes",
        clear=expired(AuthorizationCode.objects.all()),
        people=_CODE,
    ),
    Kept(
        "presentation.AuthorizationCode",
        columns=("digest", "access_digest"),
        what="code and access token of OpenID Connect",
        how="digests",
        why="to recognise them",
        how_long=f"{in_words(sign_in_time.CODE_LIVES)}, once exchanged {in_words(codes.ACCESS_LIVES)}",
        people=_CODE,
    ),
    Kept(
        "presentation.Interaction",
        columns=("sealed_transaction_data",),
        what="open request: its transaction data",
        how="sealed",
        why="to show it to the holder and to bind the answer to it",
        how_long=f"until it is answered; otherwise {in_words(WAY_BACK_KEPT)} after it expired",
        people=_OPEN,
    ),
    Kept(
        "presentation.Interaction",
        columns=("parameters", "request_hash", "browser", "redirect_uri", "response_uri"),
        what="open request: e-mail address, nonce, `state` and the other parameters",
        how="in clear",
        why="to answer it; the way back needs `state` even while a sealing key is missing",
        how_long=f"until it is answered; otherwise {in_words(WAY_BACK_KEPT)} after it expired",
        people=_OPEN,
    ),
    Kept(
        "presentation.Interaction",
        columns=("nonce_digest",),
        what="answered request that gave a token",
        how="the digest of its nonce, with its consent record",
        why="so that the nonce cannot be used again",
        how_long=f"{in_words(NONCE_REMEMBERED)} after it expired; without a token a day",
        cleared_as="interactions",
        clear=Clearing(clear_interactions, old_interactions),
        people=_ANSWERED,
    ),
    Kept(
        "presentation.UsedAssertion",
        columns=("digest",),
        what="client assertion that was used",
        how="a digest; it says nothing of holders",
        why="so that it cannot be used again",
        how_long="until it expires",
        cleared_as="used assertions",
        clear=expired(UsedAssertion.objects.all()),
    ),
    Kept(
        "presentation.PushedRequest",
        columns=("sealed_transaction_data",),
        what="pushed request: its transaction data",
        how="sealed",
        why="to go on with it when the browser comes",
        how_long=f"until it is answered; otherwise {in_words(more_time.LONGEST)} after it expired",
        people=_OPEN,
    ),
    Kept(
        "presentation.PushedRequest",
        columns=("parameters",),
        what="pushed request: the other parameters",
        how="in clear",
        why="to go on with it when the browser comes",
        how_long=f"{in_words(more_time.LONGEST)} after it expired",
        cleared_as="pushed requests",
        clear=expired(PushedRequest.objects.all(), kept=more_time.LONGEST),
        people=_OPEN,
    ),
    Kept(
        "presentation.PushedRequest",
        columns=("nonce_digest", "request_hash"),
        what="pushed request: its nonce, and all its parameters",
        how="digests",
        why="so that a browser that opens it again goes on with it",
        how_long=f"{in_words(more_time.LONGEST)} after it expired",
        people=_ANSWERED,
    ),
    Kept(
        "presentation.WebhookSecret",
        columns=("sealed_secret",),
        what="webhook secret",
        how="sealed; it says nothing of holders",
        why="to sign webhooks",
        how_long="until it ends after it was replaced",
        cleared_as="webhook secrets",
        clear=expired(WebhookSecret.objects.all(), by="ends_at"),
    ),
    Kept(
        "presentation.WebhookEvent",
        columns=("subject", "body", "problem"),
        what="webhook",
        how="in clear; it says neither who nor what",
        why="to send it again, and to show operators what was sent",
        how_long=in_words(WEBHOOKS_KEPT),
        cleared_as="webhooks",
        clear=expired(WebhookEvent.objects.all(), kept=WEBHOOKS_KEPT, by="created_at"),
        people=ForPeople(
            _(
                "Notes to applications that a request was answered or taken back. They say neither who nor "
                "what."
            ),
            _("To send them again if they did not arrive."),
            _("30 days"),
        ),
    ),
    Kept(
        "presentation.RelyingParty",
        columns=("contact", "privacy_contact", "suspension_reason", "notes"),
        what="relying party: contact addresses, reason for a suspension, operators’ notes",
        how="in clear",
        why="operators and holders write to the contacts; operators see why it was suspended",
        how_long="as long as the relying party",
    ),
    Kept(
        "presentation.RelyingPartyEvent",
        columns=("action", "actor"),
        what="history of relying parties: what was done by command, and by whom",
        how="in clear",
        why="to account for what operators did",
        how_long="as long as the relying party",
    ),
    Kept(
        "presentation.RequestCount",
        columns=("asked", "granted", "declined", "failed"),
        what="statistics: how many requests a relying party made in an hour, and how they ended",
        how="in clear; numbers only",
        why="operators see what each application asks",
        how_long=in_words(counting.KEPT),
        cleared_as="figures of relying parties",
        clear=expired(RequestCount.objects.all(), kept=counting.KEPT, by="hour"),
    ),
    Kept(
        "auth.User",
        columns=("username", "password", "first_name", "last_name", "email"),
        what="operator’s account",
        how="in clear; the password as a salted hash",
        why="operators sign in with it",
        how_long="until you delete it",
    ),
    Kept(
        "admin.LogEntry",
        columns=("object_id", "object_repr", "change_message"),
        what="operators’ history: what each did, with the reason they typed",
        how="in clear",
        why="to account for what operators did",
        how_long="for ever",
    ),
    Kept(
        "sessions.Session",
        columns=("session_key", "session_data"),
        what="operator’s session",
        how="in clear",
        why="to recognise the browser",
        how_long="until it expires",
        cleared_as="operators’ sessions",
        clear=expired(Session.objects.all(), by="expire_date"),  # as Django's `clearsessions`, in batches
    ),
)
