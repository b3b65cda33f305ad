"""(f) Signatures per second: with a key in software, and with a key in SoftHSM 2, by the same interface.

Alone, and by the four threads of a worker. How fast a real module is, is its maker's to say.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from unittest.mock import patch
from uuid import uuid4

from keys.jwk import public_key_from_der
from keys.private_keys.signer import Signer, SoftwareSigner
from tests import softhsm
from tools.benchmarks.bursts import FINEST, Contender, alternate
from tools.benchmarks.table import Row

MESSAGE = b"m" * 3_400  # as long as what is signed of a presentation
THREADS = 4


def run(*, bursts: int, size: int) -> list[Row]:
    """Both rates, in one thread and in several, and their ratio."""
    with in_a_module() as module, ThreadPoolExecutor(THREADS) as threads:
        signers: list[tuple[str, Signer]] = [("software", SoftwareSigner.generate()), ("SoftHSM 2", module)]
        contenders = [
            Contender(f"signatures, {where}{how}", burst(signer), process_time, shortest=FINEST)
            for how, burst in (("", _alone), (f", {THREADS} threads", lambda s: _by(threads, s)))
            for where, signer in signers
        ]
        measured = alternate(contenders, bursts=bursts, size=size)
    return [
        Row(
            "f",
            contender.label,
            measured.rate(index),
            "per CPU second",
            measured.ratio(index, index - 1) if index % 2 else None,
        )
        for index, contender in enumerate(contenders)
    ]


@contextmanager
def in_a_module() -> Iterator[Signer]:
    """A signer with a new key in a new token."""
    from keys.private_keys.hardware_module import HardwareModule

    with TemporaryDirectory() as folder:
        token = softhsm.Token(Path(folder))
        with patch.dict(os.environ, token.environment):
            module = HardwareModule(softhsm.SOFTHSM, softhsm.LABEL, pin=lambda: token.pin)
            kid = uuid4()
            yield module.signer(kid, public_key_from_der(module.generate(kid)))


def _alone(signer: Signer) -> Callable[[int], None]:
    def burst(size: int) -> None:
        for _ in range(size):
            signer.sign(MESSAGE)

    return burst


def _by(threads: ThreadPoolExecutor, signer: Signer) -> Callable[[int], None]:
    def burst(size: int) -> None:
        for _signature in threads.map(signer.sign, [MESSAGE] * size):
            pass

    return burst
