"""The relying party and its return address, which must both be proven before anything is redirected.

The address is a registered URI, compared as an exact string but for the port of a loopback address (RFC 9700
§2.1, §4.1.3). The browser carries the answer there, or this service posts it (OpenID4VP 1.0 §8.2).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import quote, urlencode, urlsplit
from uuid import UUID

from django.utils.translation import gettext as _

from presentation.errors import AuthorizationError, InvalidRequestError, UntrustedRequestError
from presentation.models import RedirectURI, RelyingParty, ResponseURI
from presentation.parameters import (
    CODE,
    DIRECT_POST,
    FORM_POST,
    FRAGMENT,
    POSTED,
    QUERY,
    RESPONSE_MODES,
    VP_TOKEN,
    Parameters,
    spaces_explained,
)
from presentation.relying_parties.metadata.answer_names import OF_ANSWERS
from presentation.requests.authorization_request import by_web, nonce_digest, parameters_hash
from presentation.requests.fast_path.reading import RequestRows, read_request_rows
from presentation.requests.wire_formats.registered import wire_format_of

# What response types consist of, supported or not (OAuth 2.0 Multiple Response Types §3, §5).
_RESPONSE_TYPES = frozenset({CODE, VP_TOKEN, "token", "id_token"})

# Native applications listen on a port that they cannot know in advance (RFC 8252 §7.3). For these two literal
# hosts, and for no others, the port may differ from the registered one.
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]))(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)", re.DOTALL)


@dataclass(frozen=True, repr=False)  # no repr: it would show the answer in logs
class CarriedAnswer:
    """Where the browser goes with an answer: in the address, or in the fields of a form that is posted there.

    Also a page of the relying party, to which it goes without one.
    """

    address: str
    fields: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ReturnAddress:
    """Where an answer goes. For a new request it is made by `registered`, which checks the registration.

    state: the value in the request, unchanged, or None if there was none.
    """

    uri: str
    state: str | None = None
    response_mode: str = FRAGMENT

    @classmethod
    def registered(
        cls,
        uri: str,
        registered_uris: Iterable[str],
        *,
        state: str | None = None,
        response_mode: str = FRAGMENT,
    ) -> "ReturnAddress":
        """The address `uri`; raises UntrustedRequestError if it is not one of the registered URIs.

        registered_uris: the response URIs for an answer that is posted, otherwise the redirect URIs.
        """
        posted = response_mode in POSTED
        if not (uri in registered_uris if posted else is_registered(uri, registered_uris)):
            kind = "response" if posted else "redirect"
            raise UntrustedRequestError(
                _("The application that sent you here wants its answer at an address it has not registered."),
                f"{kind}_uri must equal a registered {kind} URI, character for character"
                + spaces_explained(uri),
            )
        return cls(uri, state, response_mode)

    @cached_property
    def posted(self) -> bool:
        """Whether this service posts the answer there; otherwise the browser carries it."""
        return self.response_mode in POSTED

    @property
    def destination(self) -> str:
        """The address in short, for the holder: the host, or the private-use scheme of an app."""
        parts = urlsplit(self.uri)
        return parts.hostname or "" if parts.scheme in ("https", "http") else parts.scheme

    @property
    def by_form(self) -> bool:
        """Whether the browser carries the answer in a form; an error for an app's scheme goes another way."""
        return self.response_mode == FORM_POST and by_web(self.uri)

    def carried(self, answer: Mapping[str, str]) -> CarriedAnswer:
        """The answer on its way through the browser (OAuth 2.0 Form Post Response Mode, or `with_answer`)."""
        if self.by_form:
            return CarriedAnswer(self.uri, parameters_of(answer, self.state))
        return CarriedAnswer(self.with_answer(answer))

    def with_answer(self, answer: Mapping[str, str]) -> str:
        """`<registered uri>#<answer>[&state=…]`; the URI's own query stays as it is.

        The fragment is form-encoded once (OAuth 2.0 Multiple Response Types §2, OpenID4VP 1.0 §8.1). A space
        is %20 and not +, because not every client decodes + in a fragment. In the query in OpenID Connect,
        with an empty fragment in place of that of the address that the browser requested (RFC 9700 §4.1.3).
        """
        encoded = urlencode(parameters_of(answer, self.state), quote_via=quote, safe="")
        if self.response_mode in (QUERY, FORM_POST):
            return f"{self.uri}{'&' if '?' in self.uri else '?'}{encoded}#"
        return f"{self.uri}#{encoded}"


def parameters_of(answer: Mapping[str, str], state: str | None) -> dict[str, str]:
    """The parameters of an answer, with the `state` of its request unless that had none.

    Raises ValueError for a name that may stand in the query of a registered address.
    """
    fields = dict(answer) if state is None else {**answer, "state": state}
    if not OF_ANSWERS.issuperset(fields):
        raise ValueError(
            f"No registered address keeps these names free: {sorted(fields.keys() - OF_ANSWERS)}"
        )
    return fields


@dataclass(frozen=True)
class ReceivedRequest:
    """The parameters of a request, and how they arrived: in the address, signed, or pushed.

    relying_party: set if it was read already, to check a signature or to authenticate the client.
    problem: an error of the request object, to be returned once the return address is proven.
    """

    parameters: Parameters
    relying_party: RelyingParty | None = None
    signed: bool = False
    pushed: bool = False
    problem: AuthorizationError | None = None

    def check(self, *, requires_signed: bool, requires_pushed: bool) -> None:
        """Raises `AuthorizationError` if the request had to arrive in another way (RFC 9101 §10.5)."""
        if self.problem:
            raise self.problem
        if requires_pushed and not self.pushed:
            raise InvalidRequestError("requests of this client must be pushed")
        if requires_signed and not self.signed:
            raise InvalidRequestError("requests of this client must be signed")


@dataclass(frozen=True)
class Client:
    """An active relying party, its proven return address, and whether the request was seen before."""

    relying_party: RelyingParty
    return_address: ReturnAddress
    registered_uris: Collection[str]  # of the kind of the return address
    nonce_digest: str
    request_hash: str
    nonce_used: bool  # with this relying party, for a token
    begun: UUID | None  # the newest interaction of this browser with this very request
    scopes_stamp: int | None  # tells whether the scopes in memory are those of the database


def read_for(
    received: ReceivedRequest,
    client_id: str,
    *,
    browser: str = "",
    session_digest: str = "",
    now: datetime,
) -> RequestRows:
    """All rows that a request of this client needs; the digests are those of `read_request_rows`."""
    parameters = received.parameters
    return read_request_rows(
        client_id,
        nonce_digest=nonce_digest(parameters.nonce),
        request_hash=parameters_hash(parameters),
        browser=browser,
        session_digest=session_digest,
        now=now,
    )


def identify(received: ReceivedRequest, rows: RequestRows) -> Client:
    """The active relying party of `client_id` and the return address, checked against its registered URIs.

    rows: read for this request. Raises `UntrustedRequestError` (RFC 6749 §4.2.2.1: inform the holder, never
    redirect).
    """
    parameters, party = received.parameters, rows.relying_party
    usable(parameters, "client_id")
    posting_mode = _posting_mode(parameters)
    posted = posting_mode is not None
    where = "response_uri" if posted else "redirect_uri"
    uri = usable(parameters, where)
    registered = rows.response_uris if posted else rows.redirect_uris
    if party is None or not registered or party.state != RelyingParty.State.ACTIVE:
        raise not_active(
            f"client_id must name an active relying party with a {where.replace('_uri', ' URI')}"
        )
    response_mode = posting_mode or carrying_mode(parameters.values, party)
    state = parameters.values.get("state")
    return Client(
        party,
        ReturnAddress.registered(uri, registered, state=state, response_mode=response_mode),
        registered,
        rows.nonce_digest,
        rows.request_hash,
        rows.nonce_used,
        rows.begun,
        rows.scopes_stamp,
    )


def active_party(client_id: str) -> RelyingParty:
    """The active relying party with this client ID; raises `UntrustedRequestError`."""
    party = RelyingParty.objects.filter(client_id=client_id, state=RelyingParty.State.ACTIVE).first()
    if party is None:
        raise not_active("client_id must name an active relying party")
    return party


def registered_uris(party: RelyingParty, *, posted: bool = False) -> list[str]:
    """The redirect URIs that are registered now; posted: the response URIs."""
    model = ResponseURI if posted else RedirectURI
    return list(model.objects.filter(relying_party=party).values_list("uri", flat=True))


def check_return_address(
    address: ReturnAddress, party: RelyingParty, registered: Collection[str] | None = None
) -> None:
    """Raises `UntrustedRequestError` if the address is no longer registered for this relying party.

    registered: the URIs of that kind, if they are known already.
    """
    if registered is None:
        registered = registered_uris(party, posted=address.posted)
    ReturnAddress.registered(address.uri, registered, response_mode=address.response_mode)


def is_registered(uri: str, registered_uris: Iterable[str]) -> bool:
    """Whether `uri` is registered, or differs from a registered loopback URI only in the port."""
    return any(uri == candidate or _same_but_for_port(uri, candidate) for candidate in registered_uris)


def usable(parameters: Parameters, name: str) -> str:
    """The value of a parameter that is needed before redirecting; raises `UntrustedRequestError`."""
    value = parameters.values.get(name)
    if not value:
        raise mistaken(parameters.problems.get(name) or f"{name} is missing")
    return value


def not_active(hint: str) -> UntrustedRequestError:
    """The error for a relying party that is unknown or suspended; the holder is not told which."""
    return UntrustedRequestError(
        _("The application that sent you here is not registered here, or cannot be used at the moment."), hint
    )


def mistaken(hint: str) -> UntrustedRequestError:
    """The error for a mistake that cannot be sent to the relying party, because no address is proven yet."""
    return UntrustedRequestError(_("The application that sent you here made a mistake in its request."), hint)


def response_mode_of(values: Mapping[str, str], party: RelyingParty) -> str:
    """The response mode of a valid request."""
    requested = values.get("response_mode", "")
    return requested if requested in POSTED else carrying_mode(values, party)


def carrying_mode(values: Mapping[str, str], party: RelyingParty) -> str:
    """How the browser carries the answer to a request, valid or not (Multiple Response Types §2.1, §5).

    The request decides, so that even an error stands where this client reads; the registration does where the
    request says nothing that is known.
    """
    requested, types = values.get("response_mode"), set(values.get("response_type", "").split(" "))
    if requested == FORM_POST:
        return FORM_POST
    if types == {CODE}:
        return FRAGMENT if requested == FRAGMENT else QUERY
    return FRAGMENT if types <= _RESPONSE_TYPES else wire_format_of(party).redirect_mode


def _posting_mode(parameters: Parameters) -> str | None:
    """The response mode in which this service posts the answer; None if the browser carries it.

    If the mode contradicts the address in the request, a mode that fits the address:
    `authorization_request` refuses such a request in any case. This only decides how the error is returned.
    """
    sent = parameters.values
    mode = sent.get("response_mode") or FRAGMENT
    if mode in POSTED:
        return None if "redirect_uri" in sent and "response_uri" not in sent else mode
    if "response_uri" in sent and "redirect_uri" not in sent:
        wrong = mode not in RESPONSE_MODES or "response_mode" in parameters.problems
        return DIRECT_POST if wrong else None
    return None


def _same_but_for_port(uri: str, registered: str) -> bool:
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(uri)
    if ours is None or theirs is None or int(theirs[2] or 80) > 65535:
        return False
    return (ours[1], ours[3]) == (theirs[1], theirs[3])
