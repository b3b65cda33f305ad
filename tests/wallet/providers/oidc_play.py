"""The other side of the OpenID Connect provider, as the contract suite drives it: a real OpenID provider."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.wallet.providers.openid_providers import OpenIDProvider, settings_for
from tests.wallet.providers.plays import Call, Play
from wallet.models import IdentityVerification


class OpenIDConnectPlay(Play):
    """The provider's process runs while `running` is entered."""

    name = "bank"
    kinds = frozenset({"verified", "review", "not_here", "failed"})
    polled = False  # nothing is known before the browser brings the code
    modes = {"verified": "good", "review": "good", "not_here": "denied", "failed": "broken"}

    provider: OpenIDProvider

    def __init__(self) -> None:
        self._left_to: dict[Any, str] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        self.provider = OpenIDProvider()
        self.settings = settings_for(self.provider)
        try:
            yield
        finally:
            self.provider.close()

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        person = {"birthdate": "0000-02-01"} if kind == "review" else {}  # without a year
        self.provider.play(self.modes[kind], person=person | facts)
        left_to = self.provider.visit(address)
        assert left_to is not None
        self._left_to[attempt.id] = left_to
        # From now on only what machines ask matters, and they get the truth.
        self.provider.play("good", person=person | facts)

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        self.provider.play("never")
        assert self.provider.visit(address) is None
        self.provider.play()

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        parts = urlsplit(self._left_to[attempt.id])
        return Call(f"{parts.path}?{parts.query}")

    @contextmanager
    def down(self) -> Iterator[None]:
        with self.provider.down():
            yield

    @contextmanager
    def slow(self) -> Iterator[None]:
        with self.provider.slow():
            yield

    @contextmanager
    def lying(self) -> Iterator[None]:
        """ID tokens are signed with a key that is not the provider's."""
        self.provider.play("wrong-key")
        try:
            yield
        finally:
            self.provider.play()
