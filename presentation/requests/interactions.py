"""Interactions: one browser with one authorization request, inserted once and read by later requests.

Everything shown, signed and answered is derived from that row. `next_step` computes what comes next, and
`answers` closes an interaction.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import structlog
from django.utils.translation import gettext as _

from infra.limits import ClientLimit, LimitReachedError
from infra.paths import path_with_id
from keys.issuer_key import CANNOT_SIGN
from keys.private_keys.signer import SignerUnavailableError
from presentation.errors import (
    InteractionRequiredError,
    InvalidRequestError,
    ServerError,
    TemporarilyUnavailableError,
    UnauthorizedClientError,
    UntrustedRequestError,
)
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.relying_parties.authentication.authentication import can_authenticate
from presentation.requests.authorization_request import AuthorizationRequest
from presentation.requests.client import (
    Client,
    ReceivedRequest,
    ReturnAddress,
    check_return_address,
    response_mode_of,
)
from presentation.requests.wire_formats.registered import wire_format_of
from presentation.scopes import catalogue, records
from presentation.scopes.records import ScopeError, Scopes
from wallet.sign_in import known_browsers

log = structlog.get_logger(__name__)

LIFETIME = timedelta(minutes=30)
# The simulated holder of the sandbox sets this key in `request.META`, because its calls are limited already.
COUNTED_ALREADY = "presentation.counted_already"
# Each request of a browser that is not signed in inserts two rows kept for a day, so limit them per client
# address; generously, because a whole company may share one. Signed-in holders are not counted.
UNAUTHENTICATED = ClientLimit.from_settings("unauthenticated-requests-per-client")


class InteractionGoneError(LookupError):
    """The interaction cannot continue: it is unknown, another browser's, expired, or answered already.

    interaction: the row, if there is one. own: whether it belongs to this browser.
    """

    def __init__(self, interaction: Interaction | None = None, *, own: bool = False) -> None:
        super().__init__(interaction)
        self.interaction = interaction
        self.own = own


def nonce_used(parameters: Parameters) -> InvalidRequestError:
    """The error for a request whose nonce, or the code challenge in its place, gave a token before."""
    return InvalidRequestError(f"{parameters.name_of_nonce} was used before; every request needs a fresh one")


@contextmanager
def our_fault(event: str = "request_not_evaluated", **facts: str) -> Iterator[None]:
    """Logs errors of keys, which are the service's fault, and raises a server error for the relying party."""
    try:
        yield
    except SignerUnavailableError as error:
        log.exception(event, **facts)
        raise TemporarilyUnavailableError from error
    except CANNOT_SIGN as error:
        log.exception(event, **facts)
        raise ServerError from error


@dataclass(eq=False)
class OpenInteraction:
    """An interaction that is not answered yet, with what is derived from its row; each derived once."""

    row: Interaction
    return_address: ReturnAddress
    registered_uris: Collection[str] | None  # of the kind of the return address; None: not read yet
    is_new: bool = False  # whether `next_step.insert_step_rows` has to insert the row

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters as received; raises `ServerError` if they do not unseal."""
        with our_fault():
            return self.row.as_received()

    @cached_property
    def request(self) -> AuthorizationRequest:
        """The request, validated against the present registration; raises `AuthorizationError`.

        Scopes mean what they meant when the interaction began.
        """
        wire_format = wire_format_of(self.relying_party)
        return wire_format.parse_request(self.parameters, self.relying_party, self.scopes)

    @property
    def scopes(self) -> Scopes:
        """What the scopes meant when the interaction began; raises `ServerError` if a claim is gone since."""
        try:
            return records.from_text(self.row.scopes)
        except ScopeError as error:
            raise ServerError from error

    @cached_property
    def relying_party(self) -> RelyingParty:
        return self.row.relying_party

    @cached_property
    def checked_address(self) -> ReturnAddress:
        """The return address, if it is still registered and the relying party active.

        Raises `UntrustedRequestError`.
        """
        if self.relying_party.state != RelyingParty.State.ACTIVE:
            raise UntrustedRequestError(_("This application may not ask for credentials at the moment."))
        check_return_address(self.return_address, self.relying_party, self.registered_uris)
        return self.return_address


def begin(
    received: ReceivedRequest,
    client: Client,
    *,
    browser: str,
    now: datetime,
) -> OpenInteraction:
    """A new interaction for a valid request, which `next_step.insert_step_rows` inserts; or the present one.

    The same request in the same browser continues its interaction, unless that expired without an answer.
    browser: digest of its cookie. Raises `InteractionGoneError` if the request was answered in this browser,
    and `AuthorizationError` if the request cannot be met for anybody. That goes straight back to the relying
    party, so it must not depend on who is signed in or has been here before.
    """
    party, parameters = client.relying_party, received.parameters
    # Before all checks, whose errors would contradict the answer.
    before = find(client.begun)
    if before is not None and (before.outcome or before.expires_at > now):
        return open_interaction(before, browser=browser, now=now)
    scopes = catalogue.at(client.scopes_stamp)
    request = validated_request(received, client, scopes, requires_pushed=party.requires_pushed_requests)
    if wire_format_of(party).collected and not can_authenticate(party, now=now):
        raise UnauthorizedClientError(
            "this client could not exchange its code: it has no client secret that works, and no public keys"
        )
    row = _new_row(client, parameters, browser=browser, now=now)
    row.scopes = f"[{','.join(scopes[urn].text for urn in dict.fromkeys(request.scopes) if urn in scopes)}]"
    opened = OpenInteraction(row, client.return_address, client.registered_uris, is_new=True)
    opened.parameters, opened.request = parameters, request  # so that they are not derived again from the row
    return opened


def validated_request(
    received: ReceivedRequest, client: Client, scopes: Scopes, *, requires_pushed: bool
) -> AuthorizationRequest:
    """The request, if it could be met for somebody; raises `AuthorizationError`.

    A pushed request is checked by the same rules when it is pushed (RFC 9126 §2.1). requires_pushed: False
    there.
    """
    party = client.relying_party
    received.check(requires_signed=party.requires_signed_requests, requires_pushed=requires_pushed)
    request = wire_format_of(party).parse_request(received.parameters, party, scopes)
    if client.nonce_used:
        raise nonce_used(received.parameters)
    if request.allows_no_page:
        raise InteractionRequiredError
    return request


def count_stranger(opened: OpenInteraction, *, network_address: str | None, now: datetime) -> None:
    """Counts a new interaction of a browser that is not signed in; raises `LimitReachedError`.

    A browser that signed in before with the e-mail address in the request is not refused, so the refusal must
    not reach the relying party without a click.
    """
    try:
        UNAUTHENTICATED.take(network_address, now=now)
    except LimitReachedError:
        hint = opened.request.login_hint
        if not (hint and known_browsers.is_known(opened.row.browser, hint, now=now)):
            raise


def find(interaction_id: uuid.UUID | None) -> Interaction | None:
    """The interaction with its relying party and its consent; None if there is none."""
    if interaction_id is None:
        return None
    return Interaction.objects.select_related("relying_party", "consent").filter(id=interaction_id).first()


def open_interaction(
    row: Interaction | None,
    *,
    browser: str | None,
    registered_uris: Collection[str] | None = None,
    now: datetime,
) -> OpenInteraction:
    """The open interaction of this browser; raises `InteractionGoneError`.

    registered_uris: those of the kind of its return address, if they were read with the row.
    """
    if row is None or row.browser != browser:
        raise InteractionGoneError(row)
    if row.outcome or row.expires_at <= now:
        raise InteractionGoneError(row, own=True)
    row.relying_party.named_in_log()
    return OpenInteraction(row, return_address_of(row), registered_uris)


def expired(row: Interaction, *, now: datetime) -> OpenInteraction | None:
    """An expired interaction, so that `answers.refuse` can close it; None if it is open or answered."""
    if row.outcome or row.expires_at > now:
        return None
    return OpenInteraction(row, return_address_of(row), registered_uris=None)


def answered(interaction_id: uuid.UUID, *, browser: str | None) -> Interaction:
    """This browser's answered interaction, if its answer is posted; raises `InteractionGoneError`."""
    row = find(interaction_id)
    if row is None or row.browser != browser:
        raise InteractionGoneError(row)
    if not row.answer_is_posted:
        raise InteractionGoneError(row, own=True)
    return row


def return_address_of(row: Interaction) -> ReturnAddress:
    """The return address, whose URI was registered when the interaction began."""
    mode = response_mode_of(row.parameters, row.relying_party)
    return ReturnAddress(row.response_uri or row.redirect_uri, row.parameters.get("state"), mode)


def path_of(row: Interaction) -> str:
    """The path of an interaction, to which the browser returns from sign-in, enrolment and consent."""
    return path_with_id("resume", row.id)


def _new_row(client: Client, parameters: Parameters, *, browser: str, now: datetime) -> Interaction:
    """The row of a new interaction, not inserted yet; with the parameters as received."""
    address = client.return_address
    row = Interaction(
        relying_party=client.relying_party,
        redirect_uri="" if address.posted else address.uri,
        response_uri=address.uri if address.posted else "",
        browser=browser,
        request_hash=client.request_hash,
        nonce_digest=client.nonce_digest,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    row.set_parameters(parameters)
    return row
