"""Plain http is possible only in a sandbox on loopback, and only to this machine."""

import pytest

from infra.outbound.calls import NotReachedError, Outbound
from infra.outbound.targets import TargetError, parse
from tests.receiver import listening

NO_HEADERS: dict[str, str] = {}


def post(outbound: Outbound, uri: str) -> int:
    return outbound.post(uri, b"a=b", content_type="text/plain", headers=NO_HEADERS).status


def test_http_to_this_machine_is_called_where_that_is_allowed() -> None:
    with listening() as receiver:
        assert post(Outbound(loopback=True), receiver.uri) == 200
        assert [posted.body for posted in receiver.posted] == ["a=b"]


def test_http_to_this_machine_is_not_called_otherwise() -> None:
    with listening() as receiver:
        with pytest.raises(NotReachedError):
            post(Outbound(), receiver.uri)
        assert receiver.posted == []


def test_a_name_for_this_machine_that_leads_elsewhere_is_not_called() -> None:
    with listening() as receiver:
        elsewhere = Outbound(loopback=True, resolve=lambda host, port: ["192.0.2.7"])
        with pytest.raises(NotReachedError, match="public"):
            post(elsewhere, receiver.uri.replace("127.0.0.1", "localhost"))
        assert receiver.posted == []


@pytest.mark.parametrize(
    "url",
    [
        "http://bank.example/answers",
        "http://10.0.0.1/answers",
        "http://127.0.0.1.bank.example/answers",
        "http://127.0.0.2/answers",
        "http://0.0.0.0/answers",
        "http://127.0.0.1@bank.example/answers",
        "ftp://127.0.0.1/answers",
    ],
)
def test_http_to_anywhere_else_is_no_target(url: str) -> None:
    with pytest.raises(TargetError):
        parse(url, loopback=True)


def test_https_stays_https_and_public_with_loopback_allowed() -> None:
    with pytest.raises(NotReachedError):
        post(Outbound(loopback=True), "https://127.0.0.1:9/answers")
