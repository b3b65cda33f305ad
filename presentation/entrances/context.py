"""What the stages of one HTTP request have found out so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from consent.views.question import Choice
from presentation.models import AuthorizationCode, RelyingParty
from presentation.parameters import Parameters
from presentation.requests.client import Client, ReceivedRequest
from presentation.requests.fast_path.reading import InteractionRows, RequestRows
from presentation.requests.interactions import OpenInteraction
from presentation.requests.next_step import NextStep
from wallet.models import HolderSession


@dataclass(kw_only=True, repr=False)
class Context:
    """A request of a browser on its way through the stages.

    What has no value at first is set by the stage that the comment names. Read before that it raises
    AttributeError, because the stages are in a wrong order. There is no `repr`, which would show secrets.

    is_personal: whether the response depends on who is signed in in this browser.
    """

    request: HttpRequest
    now: datetime
    session: HolderSession | None = field(init=False)  # find_session
    is_personal: bool = False  # find_session
    opened: OpenInteraction = field(init=False)  # begin_interaction, open_interaction
    following: NextStep = field(init=False)  # find_next_step
    confirms_by_code: bool = False  # read_choice: the holder signs in again, and uses no passkey


@dataclass(kw_only=True, repr=False)
class AuthorizeContext(Context):
    """An authorization request. continues: it was begun in this browser before."""

    browser_secret: str = field(init=False)  # read_parameters
    browser: str = field(init=False)  # read_parameters; the digest of the secret
    parameters: Parameters = field(init=False)  # read_parameters
    received: ReceivedRequest = field(init=False)  # receive_request
    rows: RequestRows = field(init=False)  # receive_request
    client: Client = field(init=False)  # identify_client
    client_id: str = ""  # identify_client
    continues: bool = False  # begin_interaction


@dataclass(kw_only=True, repr=False)
class ResumeContext(Context):
    """A request at the address of an interaction; by POST with the form of its consent page."""

    interaction_id: UUID
    rows: InteractionRows = field(init=False)  # read_rows
    choice: Choice | None = None  # read_choice


@dataclass(kw_only=True, repr=False)
class MachineContext:
    """A form that a relying party posts. authorization: the header of that name, or empty."""

    form: Mapping[str, str]
    authorization: str
    network_address: str | None
    now: datetime
    party: RelyingParty = field(init=False)  # authenticate_client


@dataclass(kw_only=True, repr=False)
class PushContext(MachineContext):
    """A request that is pushed."""

    handle: str = field(init=False)  # read_pushed_request
    received: ReceivedRequest = field(init=False)  # read_pushed_request
    client: Client = field(init=False)  # check_request


@dataclass(kw_only=True, repr=False)
class ExchangeContext(MachineContext):
    """A code that is exchanged. answer: what is sealed behind the code."""

    code: AuthorizationCode = field(init=False)  # find_code
    answer: dict[str, Any] = field(init=False)  # find_code
    access_token: str = field(init=False)  # sign_id_token
    id_token: str = field(init=False)  # sign_id_token
