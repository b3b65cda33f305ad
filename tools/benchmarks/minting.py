"""(a) How many presentations are minted per second, compared with PyPI `sd-jwt` and with a floor.

Each does: fresh holder key, issue twelve claims, present three, key binding; the issuer key is
at hand. The floor is the minimum of any implementation: one P-256 key generation and two ES256
signatures (r‖s, RFC 7518 §3.4) of `cryptography` over messages as long as the token's.
`python -m tools.benchmarks.minting` runs this alone.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import process_time

import django
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from jwcrypto.jwk import JWK
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer, SDObj

from keys.private_keys.signer import SoftwareSigner
from tools.benchmarks.bursts import FINEST, Contender, alternate
from tools.benchmarks.table import Row, render

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
AUDIENCE, NONCE = "acme-bank", "n-0S6_WzA2MjAzNDU2Nzg5MA"
FACTS = {"iss": "https://wallet.example", "vct": "https://wallet.example/credential-types/identity/v1"}
X5C = ("MIIB" + "A" * 700, "MIIC" + "B" * 700)  # of the length of the sandbox's certificates
CLAIMS = {
    "given_name": "Zoë Amélie",
    "family_name": "Fernández-O’Connor",
    "birth_date": "1990-02-28",
    "birth_place": "Galway",
    "nationality": "IE",
    "street_address": "12 Quay Street",
    "locality": "Galway",
    "postal_code": "H91 XY12",
    "country": "IE",
    "email": "zoe@example.org",
    "phone_number": "+353 91 123 456",
    "over_18": True,
}
PRESENTED = ["given_name", "family_name", "over_18"]
FLOOR_TARGET = 0.6
HEADER_AND_PAYLOAD, KEY_BINDING = 3_400, 320  # characters that are signed

Task = Callable[[], object]


def run(*, bursts: int = 40, size: int = 150) -> list[Row]:
    """Rates of the three, alternating in short bursts, and the ratios."""
    tasks = [_ours(), _sd_jwt_package(), _floor()]
    measured = alternate([alone(task) for task in tasks], bursts=bursts, size=size)
    ours, package, floor = range(3)
    unit = "per CPU second"
    return [
        Row("a", "minting a presentation", measured.rate(ours), unit),
        Row(
            "a",
            "the same with PyPI sd-jwt",
            measured.rate(package),
            unit,
            measured.ratio(ours, package),
        ),
        Row(
            "a",
            "one key and two signatures",
            measured.rate(floor),
            unit,
            measured.ratio(ours, floor),
            FLOOR_TARGET,
            note="the floor",
        ),
    ]


def alone(task: Task) -> Contender:
    """A task of this process, repeated."""

    def burst(size: int) -> None:
        for _ in range(size):
            task()

    return Contender("", burst, process_time, shortest=FINEST)


def _ours() -> Task:
    from keys.issuer_key import IssuerKey
    from wallet.credential.credentials import mint
    from wallet.sd_jwt.issuance import all_withheld

    key = IssuerKey(
        "4f2c9f9e-55c1-4a2b-9c50-0a9e3f6ad001", X5C, SoftwareSigner.generate(), NOW + timedelta(90)
    )
    claims, paths = {**FACTS, **all_withheld(CLAIMS)}, [(name,) for name in PRESENTED]
    return lambda: mint(
        claims,
        paths,
        issuer_key=key,
        expires_at=NOW + timedelta(hours=24),
        audience=AUDIENCE,
        nonce=NONCE,
        transaction_data=[],
        now=NOW,
    )


def _sd_jwt_package() -> Task:
    issuer_key = JWK.generate(kty="EC", crv="P-256")
    header = {"typ": "dc+sd-jwt", "kid": "4f2c9f9e-55c1-4a2b-9c50-0a9e3f6ad001", "x5c": list(X5C)}
    times = {"iat": int(NOW.timestamp()), "exp": int(NOW.timestamp()) + 86_400}
    claims = {**FACTS, **times, **{SDObj(name): value for name, value in CLAIMS.items()}}
    wanted = dict.fromkeys(PRESENTED, True)

    def task() -> str:
        holder_key = JWK.generate(kty="EC", crv="P-256")
        issued = SDJWTIssuer(claims, issuer_key, holder_key, extra_header_parameters=header)
        holder = SDJWTHolder(issued.sd_jwt_issuance)
        holder.create_presentation(wanted, NONCE, AUDIENCE, holder_key)
        return holder.sd_jwt_presentation

    return task


def _floor() -> Task:
    issuer_key = ec.generate_private_key(ec.SECP256R1())
    algorithm, jwt, key_binding = ec.ECDSA(SHA256()), b"m" * HEADER_AND_PAYLOAD, b"m" * KEY_BINDING

    def sign(key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, algorithm))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def task() -> None:
        holder_key = ec.generate_private_key(ec.SECP256R1())
        sign(issuer_key, jwt)
        sign(holder_key, key_binding)

    return task


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("ENVIRONMENT", "sandbox")
    django.setup()
    print(render(run()))
