"""What depends on the signing keys, in numbers, so that operators see whom a withdrawal hits.

Each app above that has such things has a module `key_usage`, with COUNT_CREDENTIALS or COUNT_RELYING_PARTIES.
Imports only go down, so this app finds them there.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from typing import Any
from uuid import UUID

from django.apps import apps
from django.utils.module_loading import module_has_submodule

CountCredentials = Callable[[UUID, datetime], int]  # takes the ID of the key, and now
CountRelyingParties = Callable[[], int]


def count_credentials(kid: UUID, now: datetime) -> int:
    """How many unexpired credentials this key signed."""
    counts: Iterator[CountCredentials] = _of_all_apps("COUNT_CREDENTIALS")
    return sum(count(kid, now) for count in counts)


def count_relying_parties() -> int:
    """How many active relying parties need a key that signs."""
    counts: Iterator[CountRelyingParties] = _of_all_apps("COUNT_RELYING_PARTIES")
    return sum(count() for count in counts)


def _of_all_apps(name: str) -> Iterator[Any]:
    """The functions of this name in the modules `key_usage`."""
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "key_usage"))
    modules = (import_module(f"{app.name}.key_usage") for app in having)
    return (getattr(module, name) for module in modules if hasattr(module, name))
