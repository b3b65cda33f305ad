"""`manage.py list_signing_keys`: lists the signing keys."""

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.timezone import now

from infra.moments import moment
from keys.models import KINDS, Key, SigningKey
from keys.rotation import usage
from keys.rotation.states import State


class Command(BaseCommand):
    help = (
        "List the signing keys that are not withdrawn, the newest first: id, state, when the first of its "
        "certificates ends, how many unexpired credentials it signed. Changes nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        keys = [key for kind in KINDS for key in kind.objects.exclude(state=State.WITHDRAWN)]
        for key in keys:
            self.stdout.write(_line(key, now()))
        if not keys:
            self.stdout.write("There are no signing keys. rotate_signing_keys makes one.")


def _line(key: Key, at: datetime) -> str:
    chain = key.certified_chain
    signed = f"unexpired credentials: {usage.count_credentials(key.pk, at)}"
    facts = [
        f"{key}  {key.state:<9}",
        f"certificates end {moment(chain.not_after)}" if chain else "not certified yet",
        signed if isinstance(key, SigningKey) else f"for {key.signs}",
    ]
    if key.store == SigningKey.Store.PKCS11:
        facts.append("destroyed in the hardware module" if key.destroyed_at else "in the hardware module")
    return "  ".join(facts)
