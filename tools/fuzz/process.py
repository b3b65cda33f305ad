"""Runs scenarios in this process on a given database, and prints the results as JSON."""

import argparse
import json
import logging
import os
import random
import sys
import time
from typing import TYPE_CHECKING

import django
from django.core.management import call_command
from structlog.testing import capture_logs

from tools.fuzz.browser import Browser
from tools.fuzz.gateway import Gateway
from tools.fuzz.routes import routes
from tools.fuzz.runner import Account, Runner

if TYPE_CHECKING:
    from tools.fuzz.dataset import Dataset

REPAIRED_EVERY = 40  # scenarios
WARM_UP = 40  # scenarios


def run_scenarios(runner: Runner, seed: str, first: int, step: int, count: int, only: str = "") -> None:
    """Run the scenarios `first`, `first + step` … until `count` requests were sent."""
    from tools.fuzz import scenarios
    from tools.fuzz.mutations import Mutator

    told = time.monotonic()
    for number in range(first, sys.maxsize, step):
        if runner.account.total >= count:
            return
        if (number - first) // step % REPAIRED_EVERY == 0:
            runner.dataset.repair()
        for party in (*runner.dataset.parties, *runner.dataset.shops):
            party.token = ""
        runner.number = number
        rng = random.Random(f"{seed} {number}")
        rate = rng.choice((0.0, 0.05, 0.1, 0.2, 0.3, 0.6))
        mutator = Mutator(rng, rate, runner.dataset.others)
        name = scenarios.choose(rng, only)
        scenarios.SCENARIOS[name](Browser(runner, name, mutator))
        if os.environ.get("FUZZ_PROGRESS") and time.monotonic() - told > 60:
            told = time.monotonic()
            done = f"{runner.account.total} requests, {len(runner.account.failures)} failures"
            print(f"{done}, {time.process_time():.0f} s of a core", file=sys.stderr)


def warm_up(runner: Runner) -> None:
    """Create rows of other people by scenarios without mutation."""
    from tools.fuzz import scenarios
    from tools.fuzz.mutations import Mutator

    for number in range(WARM_UP):
        mutator = Mutator(random.Random(f"dataset {number}"), 0)
        scenarios.SCENARIOS["enrol" if number % 8 == 7 else "present"](Browser(runner, "", mutator))
    runner.dataset.others = runner.dataset.ids()
    runner.account = Account()


def begin(fault: str) -> tuple[Gateway, "Dataset"]:
    """The migrated service with its dataset, and with a fault if `fault` names one."""
    from django.conf import settings

    import config.wsgi

    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # cheap: it is not tried here
    call_command("migrate", verbosity=0, interactive=False)
    from tools.fuzz import dataset, faults

    for name in fault.split(","):
        faults.FAULTS[name]()
    built = dataset.build()
    return Gateway(config.wsgi.application), built


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, kind in (
        ("seed", str),
        ("first", int),
        ("step", int),
        ("count", int),
        ("only", str),
        ("fault", str),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True)
    asked = parser.parse_args()
    django.setup()
    gateway, dataset = begin(asked.fault)
    from tools.fuzz.oracles import Oracles

    runner = Runner(gateway, Oracles(dataset.redirect_uris, dataset.client_of), dataset, Account())
    for logger in (logging.getLogger(), logging.getLogger("django"), logging.getLogger("django.request")):
        logger.handlers = [runner.last_traceback]
    with capture_logs([runner.last_traceback.processor]):
        warm_up(runner)
        account, began = runner.account, time.monotonic()
        run_scenarios(runner, asked.seed, asked.first, asked.step, asked.count, asked.only)
    print(json.dumps({**vars(account), "seconds": time.monotonic() - began, "routes": list(routes())}))


if __name__ == "__main__":
    main()
