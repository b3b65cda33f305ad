"""Every public address answers as recorded. `python -m tests.recorded --write` replaces the record."""

import re

import pytest

from tests.personal_data import leaves
from tests.presentation.payloads import FULL
from tests.recorded import runs
from tests.recorded.installation import AS_ALWAYS, PASSWORD

pytestmark = pytest.mark.postgresql  # production runs on nothing else
HINT = (
    "\n\nIf this change is meant, record it with `python -m tests.recorded --write` and read the diff; "
    "`--whole FOLDER` writes the HTML of pages, to see what stands behind an outline or a hash."
)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # one in 65,536 contains “d-4711”
# Places in status lists, and the values of metrics: one may have the digits of a code.
NUMBERS = {"log": re.compile(r"(?<= id=)\d+/\d+\b"), "metrics": re.compile(" [0-9.e+-]+$", re.MULTILINE)}
PRIVATE = {
    *(AS_ALWAYS["nonce"], AS_ALWAYS["state"], "n-of-", PASSWORD, "Alice", "1990-04-12", "Passport seen"),
    *(
        leaf
        for payload in FULL.values()
        for leaf in leaves(payload)
        if len(leaf) > 5 and leaf != "Corner Shop"
    ),
}


@pytest.fixture(scope="module", params=runs.ENVIRONMENTS)
def environment(request: pytest.FixtureRequest) -> str:
    """Of the module, so that in a parallel run one process takes all tests and runs each table once."""
    return str(request.param)


@pytest.fixture(scope="module")
def run(environment: str) -> runs.Run:
    return runs.run(environment)


def test_every_address_answers_as_recorded(environment: str, run: runs.Run) -> None:
    found = runs.differences(runs.recorded(environment), run.texts)

    assert not found, found[:20_000] + HINT


def test_every_address_of_the_urlconf_is_in_the_table(run: runs.Run) -> None:
    assert len(run.routes) > 50
    assert not runs.missed(run.routes, run.reached)


def test_the_whole_table_leaves_nothing_personal_and_no_secret_in_log_and_metrics(run: runs.Run) -> None:
    """Every address is visited: new holders, identity checks, payments, machines, webhooks, operators."""
    for event in ("holder_signed_in", "identity_verification_moved", "pushed", "email_sent"):
        assert run.log.count(event) > 10
    assert run.log.count("request_id") > 2000
    assert len(run.secrets) > 5000

    for place, text in (("log", run.log), ("metrics", run.metrics)):
        named = NUMBERS[place].sub("", text)
        words = set(re.findall(r"[\w.-]+", named)) | set(re.findall(r"[A-Za-z0-9_-]+", named))
        assert not words.intersection(run.secrets), place
        assert not re.findall(r"[\w.+-]+@[\w-]+\.\w+", text), place
        said = ID.sub("", text)
        assert not [private for private in PRIVATE if private in said], place
