"""The fuzzer finds faults and says what it reached. `.ci/run` runs it on the service as it is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.fuzz.gateway import Gateway, Reply, Wire
from tools.fuzz.oracles import Oracles

ROOT = Path(__file__).resolve().parents[2]
AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"


def fuzz(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.fuzz", "--processes", "1", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.postgresql
def test_faults_of_the_service_are_found_and_one_can_be_repeated_by_its_number() -> None:
    words = ("--fault", "unguarded-ascii,any-redirect", "--only", "verify,present", "--seed", "q")
    done = fuzz(*words, "--count", "200")  # this seed finds them in its first scenarios
    assert done.returncode == 1
    found = re.search(r"status 500.*\n  again: .*--scenario (\d+)", done.stdout)
    assert found, done.stdout[-5000:]
    assert re.search(r"a redirect to an address.*\n  again: ", done.stdout), done.stdout[-5000:]

    again = fuzz(*words, "--scenario", found[1]).stdout
    assert ("status 500" in again, "a redirect to an address" in again) == (True, False)


@pytest.mark.postgresql
def test_what_checks_the_proofs_that_people_keep_may_not_fail_in_another_way() -> None:
    faults = "careless-receipts,careless-library"
    done = fuzz("--fault", faults, "--only", "receipts,client libraries", "--seed", "q", "--count", "60")
    assert done.returncode == 1
    assert "FAILURE" in done.stdout
    assert re.search(r"status 500 at /receipt-check/: KeyError", done.stdout), done.stdout[-5000:]
    assert re.search(r"LookupError escaped at \(Python library: finish\)", done.stdout), done.stdout[-5000:]


def nobody(environ: object, start_response: object) -> list[bytes]:
    raise RuntimeError


def test_an_exception_that_leaves_the_application_is_reported() -> None:
    reply = Gateway(nobody).send(Wire("GET", "/"))

    assert list(Oracles(lambda _: (), lambda _: "").wrong(reply)) == ["RuntimeError escaped"]


def test_the_oracles_find_each_violation() -> None:
    good = (("Content-Security-Policy", "x"), ("X-Content-Type-Options", "nosniff"))
    uri = "https://bank.example/callback"
    oracles = Oracles(lambda clients: [uri] if "bank" in clients else [], lambda _: "bank")

    def wrong(status: int, path: str, body: bytes = b"", query: str = "", **headers: str) -> list[str]:
        said = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return list(oracles.wrong(Reply(status, (*good, *said), body, path, query, "GET")))

    assert wrong(200, "/") == []
    assert wrong(500, "/") == ["status 500"]
    assert wrong(503, "/") == ["status 503"]
    assert wrong(503, "/", Retry_After="5") == ["status 503"]
    assert wrong(200, "/wallet/history/", b"x") == ["no no-store"]
    assert wrong(200, AUTHORIZE, b"x", Content_Location="/consent/1/") == ["no no-store"]
    assert wrong(400, "/oauth/v2/token", b"<p>") == ["no JSON with status 400"]
    assert wrong(400, "/oauth/v2/token", b"{", Content_Type="application/json") == ["JSON that is none"]
    home = {"Location": f"{uri}#vp_token=x", "Cache_Control": "no-store"}
    elsewhere = {"Location": "https://evil.example/", "Cache_Control": "no-store"}
    assert wrong(303, AUTHORIZE, query="client_id=bank", **home) == []
    assert len(wrong(303, AUTHORIZE, query="client_id=shop", **home)) == 1
    assert len(wrong(303, AUTHORIZE, query="client_id=bank", **elsewhere)) == 1
    oracles.asking = ["bank"]
    for place, breaches in (
        (f"{uri}#error=x", 0),
        (f"{uri}?error=x&state=y#", 0),
        ("https://evil.example/callback?error=x#", 1),
        ("https://evil.example/#error=x", 1),
        ("//bank.example", 1),
    ):
        body = json.dumps({"redirect_to": place}).encode()
        typed = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        assert len(wrong(200, "/sandbox/holder", body, **typed)) == breaches, place
    for address in ("//evil.example", "/\\evil.example", "\t//evil.example", "https:\\\\evil.example", "x:y"):
        assert len(wrong(302, "/admin/login/", Location=address)) == 1, address
    for address in ("/", "x", "?a", "http://localhost:8000/x", "./a:b"):
        assert wrong(302, "/admin/login/", Location=address) == [], address
    assert [list(oracles.wrong(Reply(200, (), b"", "/", "", "GET")))] == [
        ["no Content-Security-Policy", "no X-Content-Type-Options"]
    ]


@pytest.mark.parametrize(
    ("place", "breaches"),
    [
        ("http://127.0.0.1:500/callback", 0),
        ("http://127.0.0.1/callback", 0),
        ("http://[::1]:65000/callback", 0),
        ("http://127.0.0.1:500/elsewhere", 1),
        ("http://127.0.0.1:500@evil.example/callback", 1),
        ("http://localhost:500/callback", 1),
        ("https://bank.example:500/callback", 1),
    ],
)
def test_only_the_port_of_a_loopback_address_is_free(place: str, breaches: int) -> None:
    registered = ["http://127.0.0.1:5000/callback", "http://[::1]/callback", "https://bank.example/callback"]
    registered.append("http://localhost:5000/callback")
    oracles = Oracles(lambda clients: registered, lambda _: "bank")
    headers = (
        ("Content-Security-Policy", "x"),
        ("X-Content-Type-Options", "nosniff"),
        ("Location", f"{place}#a=b"),
    )
    reply = Reply(303, (*headers, ("Cache-Control", "no-store")), b"", AUTHORIZE, "client_id=bank", "GET")

    assert len(list(oracles.wrong(reply))) == breaches
