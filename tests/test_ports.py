"""Ports for servers of the tests."""

from tests.ports import OURS, free_port


def test_a_port_is_given_only_once_also_while_its_server_has_not_started() -> None:
    given = [free_port() for _ in range(100)]

    assert len(set(given)) == 100
    assert set(given) <= set(OURS)
