"""What is told of the service, each story with good requests that are spoilt on the way."""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.fuzz import machines, pages, people

if TYPE_CHECKING:
    from tests.fuzz.player import Browser

Story = Callable[["Browser"], None]
STORIES: dict[str, Story] = {
    "present": people.present,
    "enrol": people.enrol,
    "sign in": people.sign_in,
    "sign in by link": people.by_link,
    "somebody else": people.somebody_else,
    "token": machines.token,
    "push": machines.push,
    "verify": machines.verify,
    "outcome": machines.outcome,
    "holder": machines.play_holder,
    "posted to the playground": machines.playground,
    "documents": machines.documents,
    "wander": pages.wander,
    "operate": pages.operate,
    "search": pages.search,
    "develop": pages.develop,
    "any address": pages.any_address,
}
_SHARES = {"present": 16, "enrol": 4, "sign in": 4, "verify": 5, "operate": 6, "any address": 6, "push": 4}


def choose(chance: random.Random, only: str = "") -> str:
    """Which story comes next."""
    names = [name for name in STORIES if not only or name == only]
    return chance.choices(names, [_SHARES.get(name, 3) for name in names])[0]
