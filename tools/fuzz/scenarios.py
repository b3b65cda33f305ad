"""The scenarios by name. Each sends valid requests, which the browser mutates."""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.fuzz import forms, kept_proofs, machines, openid_connect, pages, people, verifiers

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

Scenario = Callable[["Browser"], None]
SCENARIOS: dict[str, Scenario] = {
    "present": people.present,
    "enrol": people.enrol,
    "sign in": people.sign_in,
    "sign in by link": people.by_link,
    "somebody else": people.somebody_else,
    "token": machines.token,
    "push": machines.push,
    "verify": machines.verify,
    "outcome": machines.outcome,
    "sign in at a client": openid_connect.sign_in,
    "guess at a client": openid_connect.guess,
    "receipts": kept_proofs.receipts,
    "evidence": kept_proofs.evidence,
    "client libraries": verifiers.verify,
    "holder": machines.simulate_holder,
    "posted to the playground": machines.playground,
    "documents": machines.documents,
    "wander": pages.wander,
    "operate": pages.operate,
    "search": pages.search,
    "develop": pages.develop,
    "wallet": forms.account,
    "lost mailbox": forms.lost_mailbox,
    "passkeys": forms.passkeys,
    "identity": forms.identity,
    "operations": forms.operations,
    "any address": pages.any_address,
}
_SHARES = {
    "present": 16,
    "enrol": 4,
    "sign in": 4,
    "verify": 5,
    "operate": 6,
    "any address": 6,
    "push": 4,
    "sign in at a client": 8,
}


def choose(rng: random.Random, only: str = "") -> str:
    """The name of the next scenario, at random."""
    names = [name for name in SCENARIOS if not only or name in only.split(",")]
    return rng.choices(names, [_SHARES.get(name, 3) for name in names])[0]
