"""Fills a database for drills: two signing keys, a relying party, signed-in holders. Prints them as JSON.

The second key was staged two days ago, so that `rotate_signing_keys` activates it at once.
"""

import base64
import json
import os
import sys
from datetime import timedelta
from typing import Any

import django


def prepare(holders: int) -> dict[str, Any]:
    """Migrates, makes the keys, registers and signs in. Returns what browsers and relying party need."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding
    from django.core.management import call_command
    from django.utils import timezone

    from keys.models import Authority
    from keys.rotation import due_steps, transitions
    from tools.benchmarks.holders import REDIRECT_URI, register, sign_in

    now = timezone.now()
    call_command("migrate", verbosity=0, interactive=False)
    due_steps.rotate(now=now - timedelta(days=100))
    transitions.stage(now=now - timedelta(hours=49))
    root = x509.load_pem_x509_certificate(Authority.objects.get().root_pem.encode())
    return {
        "client_id": register().client_id,
        "redirect_uri": REDIRECT_URI,
        "root": base64.b64encode(root.public_bytes(Encoding.DER)).decode(),
        "holders": [sign_in(f"holder{number}@example.org", now) for number in range(holders)],
    }


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    json.dump(prepare(int(sys.argv[1])), sys.stdout)
