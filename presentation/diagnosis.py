"""The doctor's checks of what relying parties need, and of the jobs."""

import json
import secrets
from base64 import b64decode
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from django.conf import settings

from infra import runs
from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.doctor import Examination
from infra.outbound.calls import Outbound
from infra.outbound.targets import is_unicast
from keys.issuer_key import IssuerKey, active_issuer_key
from keys.jwk import public_key_of
from keys.key_set import PublishedKey
from keys.statements import vouched_for
from presentation.issuer import JWKS_PATH
from presentation.jobs import DUE
from presentation.metrics import overdue_webhooks
from presentation.models import RedirectURI, RelyingParty, ResponseURI
from presentation.relying_parties.authentication.client_secrets import seconds_left
from presentation.relying_parties.metadata import answer_names
from wallet.credential.credentials import credential_type, mint
from wallet.credential.trust_policy import TrustPolicy
from wallet.sd_jwt.issuance import all_withheld

NOBODY: dict[str, Any] = {"given_name": "Nobody", "age_equal_or_over": {"18": True}}
DAY = timedelta(days=1).total_seconds()
MINUTE = timedelta(minutes=1)
JOB_TAKES = timedelta(minutes=5)  # in which a job that runs in time may end
# Where this machine resolves the host, that may have a private address.
outbound = Outbound(allowed=is_unicast, loopback=settings.LOOPBACK_CALLS)


def presentation(now: datetime) -> tuple[State, str]:
    """Mints a presentation for nobody, and verifies it with the key set that relying parties fetch.

    It is for the issuer itself, valid for a minute and never leaves this process; nothing is stored.
    """
    key, nonce = active_issuer_key(now=now, fresh=True), secrets.token_urlsafe()
    issuer, vct = settings.BASE_URL, credential_type()
    minted = mint(
        {"iss": issuer, "vct": vct, **all_withheld(NOBODY)},
        [("given_name",), ("age_equal_or_over", "18")],
        issuer_key=key,
        expires_at=now + timedelta(seconds=60),
        audience=issuer,
        nonce=nonce,
        transaction_data=(),
        now=now,
        rounding=1,
    )
    published = _published_keys()
    policy = TrustPolicy(issuer, vct, _by_id(published, key).get)
    policy.verify(minted, audience=issuer, nonce=nonce, now=now, passed=lambda check: None)
    _refuse_chain_of_another(published[key.kid], now)
    return State.OK, "One was signed, and verified with the published keys."


def _published_keys() -> dict[str, dict[str, Any]]:
    """The keys of the published set as JSON Web Keys, by their ids."""
    keys = json.loads(outbound.get(settings.BASE_URL + JWKS_PATH, accept="application/json").body)["keys"]
    return {jwk["kid"]: jwk for jwk in keys}


def _by_id(published: dict[str, dict[str, Any]], key: IssuerKey) -> dict[str, PublishedKey]:
    return {
        kid: PublishedKey(kid, public_key_of(jwk), tuple(jwk["x5c"][:-1]), key.not_after)
        for kid, jwk in published.items()
    }


def _refuse_chain_of_another(jwk: dict[str, Any], now: datetime) -> None:
    """Raises StatementError if the certificates do not lead to their root or name another host than BASE_URL.

    Relying parties that trust the root refuse such a presentation, as after a change of BASE_URL.
    """
    *chain, root = jwk["x5c"]
    anchor = x509.load_der_x509_certificate(b64decode(root))
    vouched_for({"x5c": chain}, settings.BASE_URL, roots=[anchor], at=now)


def client_secrets(now: datetime) -> tuple[State, str]:
    alarm = ALARMS["client_secrets"]
    states = {client_id: alarm.state(seconds / DAY) for client_id, seconds in seconds_left(now).items()}
    ending = [client_id for client_id, state in states.items() if state]
    if not ending:
        return State.OK, "No last secret of a relying party ends soon."
    return max(states.values()), f"The last secret ends soon, or has ended: {', '.join(ending)}."


def addresses(now: datetime) -> tuple[State, str]:
    """Addresses that were registered before their query was checked, and would not be today."""
    rows = (model.objects.filter(uri__contains="?") for model in (RedirectURI, ResponseURI))
    taken = {
        row.relying_party.client_id
        for of_model in rows
        for row in of_model.select_related("relying_party")
        if answer_names.in_query(row.uri)
    }
    beginnings = RelyingParty.objects.filter(initiate_login_uri__contains="?")
    taken |= {
        party.client_id
        for party in beginnings
        if answer_names.in_query(party.initiate_login_uri, answer_names.OF_BEGINNINGS)
    }
    if not taken:
        return State.OK, "No registered address has a parameter of the answer in its query."
    return State.SOON, f"An address has a parameter of the answer in its query: {', '.join(sorted(taken))}."


def webhooks(now: datetime) -> tuple[State, str]:
    minutes = overdue_webhooks(now) / MINUTE
    return ALARMS["webhooks"].state(minutes), f"The oldest webhook is overdue by {minutes:.0f} minutes."


def jobs(now: datetime) -> tuple[State, str]:
    """Each job by its own period. The doctor is left out, because it runs now.

    That a record with faults is not signed is told by the check of the record.
    """
    alarm, ages, failures = ALARMS["jobs"], runs.ages(now=now), runs.failures()
    if failures[runs.AUDIT_RECORD]:
        failures["sign_audit_record"] = 0
    states = {
        job.name: max(
            alarm.state((ages[job.name] - JOB_TAKES) / job.every),
            State.SOON if failures[job.name] else State.OK,
        )
        for job in DUE
        if job.name != "doctor" and job.name in ages
    }
    wrong = sorted(name for name, state in states.items() if state)
    if not wrong:
        return State.OK, "None is late, and none has failed."
    meaning = "; ".join(f"{name}: {runs.COMMANDS[name]}" for name in wrong)
    return max(states.values()), f"Late, or failed when they last ran: {meaning}."


CHECKS: dict[str, Examination] = {
    "presentation": presentation,
    "client_secrets": client_secrets,
    "addresses": addresses,
    "webhooks": webhooks,
    "jobs": jobs,
}
