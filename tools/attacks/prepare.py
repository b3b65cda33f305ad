"""Registers the relying parties of the attacks in the database of a running service. Prints them as JSON."""

import json
import os
import sys

import django

REDIRECT_URI = "https://attacker.example/callback"


def prepare(inside: int) -> dict[str, object]:
    """`inside`: the port of a server on this machine, which relying parties try to have called."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from presentation.dcql.queries import BASIC
    from presentation.models import RedirectURI, RelyingParty, ResponseURI
    from presentation.relying_parties.authentication import client_secrets
    from tools.benchmarks.holders import sign_in
    from wallet.models import Credential, IdentityVerification

    now = timezone.now()
    here = f"https://127.0.0.1:{inside}/"
    kinds = {
        "other": {"allowed_claims": ["given_name"]},
        "recognises": {"may_recognise": True, "allowed_claims": ["given_name"]},
        "too": {"may_recognise": True},
        "server": {"grants": ["presentation:verify"]},
        "shop": {"wire_format": "openid", "allowed_claims": ["given_name"]},
        "library": {"wire_format": "openid", "allowed_claims": ["given_name"]},
        "inside": {"jwks_uri": here, "request_uri_prefix": here, "grants": ["presentation:verify"]},
    }
    parties = {}
    for name, values in kinds.items():
        party = RelyingParty.objects.create(name=f"The {name}", allowed_scopes=[BASIC], **values)
        RedirectURI.objects.create(relying_party=party, uri=REDIRECT_URI)
        parties[name] = party
    for address in (here, f"https://localhost:{inside}/", f"https://[::1]:{inside}/"):
        ResponseURI.objects.create(relying_party=parties["inside"], uri=address)
    User.objects.create_superuser("operator", password="a-long-enough-password")
    refused = sign_in("refused@example.org", now)
    Credential.objects.filter(wallet__email=refused[0]).delete()
    IdentityVerification.objects.filter(wallet__email=refused[0]).update(state="declined")
    return {
        "refused": refused,
        "parties": {name: party.client_id for name, party in parties.items()},
        "secret": client_secrets.rotate(parties["server"], now=now).text,
        "openid_secrets": {
            name: client_secrets.rotate(parties[name], now=now).text for name in ("shop", "library")
        },
        "redirect_uri": REDIRECT_URI,
    }


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    json.dump(prepare(int(sys.argv[1])), sys.stdout)
