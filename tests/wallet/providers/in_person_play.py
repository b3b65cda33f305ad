"""The check in person: a page of this host, and an operator who decides later."""

from typing import Any

from django.urls import reverse

from tests.wallet.providers.plays import Call, Play
from wallet.models import IdentityVerification


class InPersonPlay(Play):
    name = "in_person"
    settings = {"place": "12 Main Street", "hours": "Monday to Friday, 9:00 to 17:00"}
    kinds = frozenset({"review"})
    remote = False
    headings = {"review": "Visit us with your document"}

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        assert self.browser.get(address).status_code == 200
        assert self.browser.post(address).status_code == 303

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        assert self.browser.get(address).status_code == 200

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(reverse("wallet_identity_return", args=[attempt.id]))
