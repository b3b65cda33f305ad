"""The check from afar: a form with pictures on this host, and an operator who decides later."""

from typing import Any

from django.urls import reverse

from tests.wallet.pictures import file
from tests.wallet.providers.plays import Call, Play
from tests.wallet.typed_identities import TYPED_BY_NORA
from wallet.models import IdentityVerification


class FromAfarPlay(Play):
    name = "from_afar"
    settings = {"verified_by": "Example Ltd"}
    kinds = frozenset({"review"})
    headings = {"review": "We have your pictures"}
    remote = False

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        assert self.browser.get(address).status_code == 200
        typed = TYPED_BY_NORA | {"front": file(), "face": file()}
        assert self.browser.post(address, typed).status_code == 303

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        assert self.browser.get(address).status_code == 200

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(reverse("wallet_identity_return", args=[attempt.id]))
