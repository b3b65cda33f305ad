"""The contract between this service and an identity provider. docs/identity-providers.md explains it.

A provider is one class, which `type` in IDENTITY_PROVIDERS_FILE names. It never touches the rows of an
attempt: it gets a `Check`, says what it found, and `wallet.identity` decides what that means.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from infra.words import Words
from wallet.credential.details import MEMBERS
from wallet.credential.evidence import Assurance
from wallet.providers.findings import Finding
from wallet.providers.options import Options

MAX_REFERENCE = 200  # characters


class ProviderError(Exception):
    """The provider cannot be reached or does not make sense; trying again may help."""


class MessageRefusedError(Exception):
    """A message is forged, stale, doubled, or of an unknown attempt. Nothing changes; `status` is sent."""

    def __init__(self, why: str, *, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Check:
    """What a provider knows of one attempt.

    reference: what `start` returned; "" before. memory: what this provider keeps between its calls, as JSON;
    sealed at rest, and gone when the attempt is decided. submissions: how often the person has submitted
    something. submitted: whether they have since they last began. return_url, messages_url: absolute
    addresses; the browser comes back to the first without parameters. Below the second are "return/", for
    browsers that bring parameters, and "callback/…", for the provider's machines.
    """

    id: UUID
    redirect_task_id: UUID | None
    email: str
    reference: str
    memory: Mapping[str, Any] = field(repr=False)
    submissions: int
    submitted: bool
    began_at: datetime
    return_url: str
    messages_url: str


@dataclass(frozen=True)
class Started:
    """Where the browser goes: a path on this host, or an https address elsewhere.

    reference: the provider's own name for this check, at most 200 characters; "" if it has none. No two
    checks have the same. memory: replaces what the provider kept before. Raises `ProviderError` when they
    are not that: then what the provider's server answered makes no sense.
    """

    address: str = field(repr=False)
    reference: str = ""
    memory: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        here = self.address.startswith("/") and not self.address.startswith("//")
        if not here and not re.match("https?://[^/]", self.address):
            raise ProviderError("The provider gave no address for the browser.")
        if len(self.reference) > MAX_REFERENCE or not self.reference.isprintable():
            raise ProviderError("The provider gave no usable reference.")


@dataclass(frozen=True)
class Message:
    """What arrived at an address of this provider: a call of its machines, or a browser that comes back.

    path: what follows "callback/". query: single values; a repeated name is refused before.
    """

    from_browser: bool
    method: str
    path: str
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Reply:
    """What a provider's machine gets as an answer; a browser gets the page of the attempt instead."""

    status: int = 200
    content_type: str = "application/json"
    body: bytes = b"{}"


@dataclass(frozen=True)
class Received:
    """What a message means.

    references: the checks that it concerns; each is asked for its `result` at once. memory: replaces what the
    provider kept for the first of them, unless somebody else has changed it in the meantime.
    """

    references: tuple[str, ...] = ()
    memory: Mapping[str, Any] | None = field(default=None, repr=False)
    reply: Reply = Reply()


Find = Callable[[str], Check | None]  # the check with this reference, while it waits for a result


class Provider:
    """What every provider does; `__init__` reads its settings and raises `OptionError` for bad ones.

    label, needs: one line each for the person who chooses. takes: how long the check takes, in words.
    assurances: the best that this provider can honestly claim, one per trust framework.
    method: a key of `evidence.METHODS`, for what operators decide on after this provider.
    by_operators: whether operators of this service make the check, so that `assurances` are theirs.
    keeps_data: whether the provider's own machines keep data of a check until `forget` has it erased.
    verifies_details: whether it may be set to verify groups of details (`wallet.credential.details`).
    details: those that it is set to verify; others are not kept.
    """

    label: Words
    needs: Words
    takes: Words
    assurances: tuple[Assurance, ...] = ()
    method: ClassVar[str] = "in_person"
    by_operators: ClassVar[bool] = False
    keeps_data: ClassVar[bool] = False
    verifies_details: ClassVar[bool] = False
    details: frozenset[str] = frozenset()

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        if self.verifies_details:
            self.details = frozenset(options.some_of("details", MEMBERS))

    def start(self, check: Check, *, now: datetime) -> Started:
        """Prepare the check, or go on with it: called whenever the person begins or follows the link.

        May give the same reference as before. Raises `ProviderError`.
        """
        raise NotImplementedError

    def result(self, check: Check, *, now: datetime) -> Finding:
        """What came out so far; may be asked any number of times, also before anything was submitted.

        Anything but `Pending()` counts as a submission of the person. Raises `ProviderError`.
        """
        raise NotImplementedError

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """What a callback, or the browser's return with parameters, means. Makes no calls itself.

        Raises `MessageRefusedError`.
        """
        raise MessageRefusedError("This provider takes no messages.", status=404)

    def forget(self, check: Check, *, now: datetime) -> bool:
        """Have erased what the provider's machines keep of a check that is over; True when that is done.

        Called after the result is committed, and only if `keeps_data`; may be called again after True. False
        means that it is too early. Raises `ProviderError`.
        """
        return True
