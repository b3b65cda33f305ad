"""The data kept about requests, answers, relying parties and operators: why, and for how long."""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from consent import decisions
from consent.models import Consent
from infra.retention import Clearing, Due, ForPeople, delete, expired, pages, table
from presentation.figures import counting
from presentation.models import AuthorizationCode, Interaction, PushedRequest, RequestCount, UsedAssertion
from presentation.openid_connect import codes
from presentation.requests import more_time, sign_in_time
from presentation.requests.delivery import deliveries
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
PEOPLE = {
    "open request: its transaction data": _OPEN,
    "open request: e-mail address, nonce, `state` and the other parameters": _OPEN,
    "pushed request: its transaction data": _OPEN,
    "pushed request: the other parameters": _OPEN,
    "pushed request: its nonce, and all its parameters": _ANSWERED,
    "answered request that gave a token": _ANSWERED,
    "answer that is posted, and where the browser goes next": ForPeople(
        _("Your answer, until it has arrived. Encrypted."),
        _("To send it again if it did not arrive."),
        _("Five minutes at most"),
    ),
    "code of OpenID Connect: the answer behind it": _CODE,
    "code and access token of OpenID Connect": _CODE,
    "webhook": ForPeople(
        _("Notes to applications that a request was answered or taken back. They say neither who nor what."),
        _("To send them again if they did not arrive."),
        _("30 days"),
    ),
}


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
    counting.keep(now=now)
    return sum(delete(due.rows, by=due.by, batch=batch) for due in old_interactions(now))


ENTRIES = table(
    """
presentation.Delivery: sealed_body sealed_onward | answer that is posted, and where the browser goes next |
    sealed | to post it again when it did not arrive | until it has arrived, {deliveries} at most | posted
    answers
presentation.AuthorizationCode: sealed_answer | code of OpenID Connect: the answer behind it | sealed | so
    that the relying party can exchange the code, and read UserInfo | {codes}, once exchanged {access} | codes
presentation.AuthorizationCode: digest access_digest | code and access token of OpenID Connect | digests | to
    recognise them | {codes}, once exchanged {access}
presentation.Interaction: sealed_transaction_data | open request: its transaction data | sealed | to show it
    to the holder and to bind the answer to it | until it is answered; otherwise {way_back_kept} after it
    expired
presentation.Interaction: parameters request_hash browser redirect_uri response_uri | open request: e-mail
    address, nonce, `state` and the other parameters | in clear | to answer it; the way back needs `state`
    even while a sealing key is missing | until it is answered; otherwise {way_back_kept} after it expired
presentation.Interaction: nonce_digest | answered request that gave a token | the digest of its nonce, with
    its consent record | so that the nonce cannot be used again | {nonce_remembered} after it expired;
    without a token a day | interactions
presentation.UsedAssertion: digest | client assertion that was used | a digest; it says nothing of holders |
    so that it cannot be used again | until it expires | used assertions
presentation.PushedRequest: sealed_transaction_data | pushed request: its transaction data | sealed | to go
    on with it when the browser comes | until it is answered; otherwise {interactions} after it expired
presentation.PushedRequest: parameters | pushed request: the other parameters | in clear | to go on with it
    when the browser comes | {interactions} after it expired | pushed requests
presentation.PushedRequest: nonce_digest request_hash | pushed request: its nonce, and all its parameters |
    digests | so that a browser that opens it again goes on with it | {interactions} after it expired
presentation.WebhookSecret: sealed_secret | webhook secret | sealed; it says nothing of holders | to sign
    webhooks | until it ends after it was replaced | webhook secrets
presentation.WebhookEvent: subject body problem | webhook | in clear; it says neither who nor what | to send
    it again, and to show operators what was sent | {webhooks_kept} | webhooks
presentation.RelyingParty: contact privacy_contact suspension_reason notes | relying party: contact
    addresses, reason for a suspension, operators’ notes | in clear | operators and holders write to the
    contacts; operators see why it was suspended | as long as the relying party
presentation.RelyingPartyEvent: action actor | history of relying parties: what was done by command, and by
    whom | in clear | to account for what operators did | as long as the relying party
presentation.RequestCount: asked granted declined failed | figures: how many requests a relying party made in
    an hour, and how they ended | in clear; numbers only | operators see what each application asks |
    {figures} | figures of relying parties
auth.User: username password first_name last_name email | operator’s account | in clear; the password as a
    salted hash | operators sign in with it | until you delete it
admin.LogEntry: object_id object_repr change_message | operators’ history: what each did, with the reason
    they typed | in clear | to account for what operators did | for ever
sessions.Session: session_key session_data | operator’s session | in clear | to recognise the browser |
    until it expires | operators’ sessions
""",
    periods={
        "deliveries": deliveries.KEPT,
        "codes": sign_in_time.CODE_LIVES,
        "access": codes.ACCESS_LIVES,
        "way_back_kept": WAY_BACK_KEPT,
        "nonce_remembered": NONCE_REMEMBERED,
        "interactions": more_time.LONGEST,
        "webhooks_kept": WEBHOOKS_KEPT,
        "figures": counting.KEPT,
    },
    clear={
        # As Django's `clearsessions`, but in batches.
        "operators’ sessions": expired(Session.objects.all(), by="expire_date"),
        "codes": expired(AuthorizationCode.objects.all()),
        "posted answers": Clearing(deliveries.forget_expired, deliveries.expired),
        "interactions": Clearing(clear_interactions, old_interactions),
        "used assertions": expired(UsedAssertion.objects.all()),
        "pushed requests": expired(PushedRequest.objects.all(), kept=more_time.LONGEST),
        "figures of relying parties": expired(RequestCount.objects.all(), kept=counting.KEPT, by="hour"),
        "webhook secrets": expired(WebhookSecret.objects.all(), by="ends_at"),
        "webhooks": expired(WebhookEvent.objects.all(), kept=WEBHOOKS_KEPT, by="created_at"),
    },
    people=PEOPLE,
)
