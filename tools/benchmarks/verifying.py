"""(g) How many presentations are verified per second, compared with PyPI `sd-jwt` and with a floor.

All verify the same presentation: twelve claims, three disclosed. The issuer's key is at hand, nothing is
asked of a database. The floor is two ES256 verifications of `cryptography`. Ours checks more: the header's
chain, times, type, and the form of everything. `python -m tools.benchmarks.verifying` runs this alone.
"""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta

import django
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from jwcrypto.jwk import JWK
from sd_jwt.verifier import SDJWTVerifier

from keys.private_keys.signer import SoftwareSigner
from tools.benchmarks.bursts import alternate
from tools.benchmarks.minting import AUDIENCE, CLAIMS, FACTS, NONCE, NOW, PRESENTED, X5C, Task, alone
from tools.benchmarks.table import Row, render

KID = "4f2c9f9e-55c1-4a2b-9c50-0a9e3f6ad001"
TARGET = 2.2


@dataclass(frozen=True)
class Known:
    """The issuer's public key."""

    public_key: ec.EllipticCurvePublicKey
    x5c: tuple[str, ...] = X5C
    not_after: datetime = NOW + timedelta(90)


def run(*, bursts: int = 40, size: int = 150) -> list[Row]:
    """Rates of the three, alternating in short bursts, and the ratios."""
    signer = SoftwareSigner.generate()
    presentation = _presentation(signer)
    tasks = [
        _ours(presentation, signer),
        _sd_jwt_package(presentation, signer),
        _floor(presentation),
    ]
    measured = alternate([alone(task) for task in tasks], bursts=bursts, size=size)
    ours, package, floor = range(3)
    unit = "per CPU second"
    return [
        Row("g", "verifying a presentation", measured.rate(ours), unit),
        Row(
            "g",
            "the same with PyPI sd-jwt",
            measured.rate(package),
            unit,
            measured.ratio(ours, package),
            TARGET,
        ),
        Row(
            "g",
            "verifying two signatures",
            measured.rate(floor),
            unit,
            measured.ratio(ours, floor),
            note="the floor",
        ),
    ]


def _presentation(signer: SoftwareSigner) -> str:
    from keys.issuer_key import IssuerKey
    from wallet.credential.credentials import mint
    from wallet.sd_jwt.issuance import all_withheld

    return mint(
        {**FACTS, **all_withheld(CLAIMS)},
        [(name,) for name in PRESENTED],
        issuer_key=IssuerKey(KID, X5C, signer, NOW + timedelta(90)),
        expires_at=NOW + timedelta(hours=24),
        audience=AUDIENCE,
        nonce=NONCE,
        transaction_data=[],
        now=NOW,
    )


def _ours(presentation: str, signer: SoftwareSigner) -> Task:
    from wallet.credential.trust_policy import TrustPolicy

    policy = TrustPolicy(FACTS["iss"], FACTS["vct"], {KID: Known(signer.public_key)}.get)

    def task() -> None:
        passed: list[str] = []
        policy.verify(presentation, audience=AUDIENCE, nonce=NONCE, now=NOW, passed=passed.append)

    return task


def _sd_jwt_package(presentation: str, signer: SoftwareSigner) -> Task:
    issuer_key = JWK.from_pyca(signer.public_key)

    def task() -> object:
        verifier = SDJWTVerifier(presentation, lambda issuer, header: issuer_key, AUDIENCE, NONCE)
        return verifier.get_verified_payload()

    return task


def _floor(presentation: str) -> Task:
    key = ec.generate_private_key(ec.SECP256R1())
    algorithm, public_key = ec.ECDSA(SHA256()), key.public_key()
    jwts = [part.rpartition(".")[0].encode() for part in presentation.split("~") if part.count(".") == 2]
    signed = [(key.sign(message, algorithm), message) for message in jwts]

    def task() -> None:
        for signature, message in signed:
            public_key.verify(signature, message, algorithm)

    return task


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("ENVIRONMENT", "sandbox")
    django.setup()
    print(render(run()))
