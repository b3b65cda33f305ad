"""The query string, read strictly and exactly."""

from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.errors import UntrustedRequestError
from presentation.parameters import LIMITS, LONGEST_QUERY, OF_OPENID_CONNECT, Parameters, space_delimited

readable = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=80
)


def with_type(name: str) -> str:
    """The beginning of a query in which the parameter of this name is known."""
    return "response_type=code&" if name in OF_OPENID_CONNECT else ""


@pytest.mark.parametrize(
    "response_type", ["", "response_type=vp_token&", "response_type=code&response_type=code&"]
)
def test_parameters_of_openid_connect_are_unknown_in_other_requests(response_type: str) -> None:
    for name in OF_OPENID_CONNECT:
        parameters = Parameters.from_query(f"{response_type}{name}=a&{name}=b")
        assert name not in {**parameters.values, **parameters.problems}


@given(st.dictionaries(st.sampled_from(sorted(LIMITS)), readable))
def test_what_was_encoded_is_what_is_read(values: dict[str, str]) -> None:
    values |= {"response_type": "code"} if OF_OPENID_CONNECT & values.keys() else {}
    expected = {name: value for name, value in values.items() if len(value) <= LIMITS[name]}

    assert Parameters.from_query(urlencode(values)).values == expected
    assert Parameters.from_query(urlencode(values, quote_via=quote)).values == expected


@given(st.text())
def test_any_text_is_read_or_refused_and_never_breaks(query: str) -> None:
    try:
        parameters = Parameters.from_query(query)
    except UntrustedRequestError:
        assert len(query) > LONGEST_QUERY
        return
    assert set(parameters.values) <= set(LIMITS)
    assert not set(parameters.values) & set(parameters.problems)
    assert all("\x00" not in value for value in parameters.values.values())


@given(st.binary(min_size=1, max_size=40))
def test_state_is_read_exactly_or_not_at_all(octets: bytes) -> None:
    parameters = Parameters.from_query("state=" + quote_plus(octets))

    state = parameters.values.get("state")
    if state is None:
        assert parameters.problems.keys() == {"state"}
    else:
        assert state.encode() == octets


def test_a_plus_is_a_space_and_an_escaped_plus_is_a_plus() -> None:
    assert Parameters.from_query("state=a+b%2Bc%20d").values.get("state") == "a b+c d"


def test_a_parameter_without_a_value_counts_as_left_out() -> None:
    parameters = Parameters.from_query("state=&nonce&scope=x")

    assert parameters.values == {"scope": "x"}
    assert parameters.first_problem() is None


def test_unknown_parameters_are_ignored_even_when_they_cannot_be_read() -> None:
    parameters = Parameters.from_query("other=1&other=2&%zz=3&odd=%ff&state=s")

    assert parameters.values == {"state": "s"}
    assert parameters.first_problem() is None


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_repeated_name_is_remembered_and_its_value_is_not_used(name: str) -> None:
    for query in (f"{name}=a&{name}=b", f"{name}=a&x=y&{name}=a", f"{name}=&{name}=a", f"{name}&{name}=a"):
        parameters = Parameters.from_query(with_type(name) + query)
        assert parameters.problems.keys() == {name}
        assert parameters.values.get(name) is None
        assert parameters.problems[name] == f"{name} must not be sent more than once"


def test_a_name_that_is_spelt_with_escapes_is_the_same_name() -> None:
    assert Parameters.from_query("state=a&st%61te=b").problems.keys() == {"state"}


@pytest.mark.parametrize(
    "value",
    [
        "%",
        "%4",
        "%4g",
        "%zz",
        "100%",
        "%ff",
        "%c3%28",
        "%ed%a0%80",
        "%f8%88%80%80%80",
        "a%00b",
        "é",
        "a b",
        "a\tb",
        "a\nb",
    ],
)
def test_a_value_that_cannot_be_read_unambiguously_is_remembered(value: str) -> None:
    parameters = Parameters.from_query(f"state={value}")

    assert parameters.problems.keys() == {"state"}
    assert parameters.values.get("state") is None
    assert "percent-encoded UTF-8" in parameters.problems["state"]


@pytest.mark.parametrize(("name", "limit"), [(n, m) for n, m in LIMITS.items() if m < LONGEST_QUERY])
def test_each_parameter_has_its_limit(name: str, limit: int) -> None:
    at_limit = Parameters.from_query(f"{with_type(name)}{name}={'a' * limit}")
    over = Parameters.from_query(f"{with_type(name)}{name}={'a' * (limit + 1)}")

    assert at_limit.values.get(name) == "a" * limit
    assert over.values.get(name) is None
    assert over.problems[name] == f"{name} must not be longer than {limit} characters"


def test_limits_count_characters_and_not_escapes() -> None:
    assert Parameters.from_query("nonce=" + "%61" * 512).values.get("nonce") == "a" * 512


def test_a_query_longer_than_a_request_line_may_be_is_refused() -> None:
    Parameters.from_query("x" * LONGEST_QUERY)
    with pytest.raises(UntrustedRequestError):
        Parameters.from_query("x" * (LONGEST_QUERY + 1))


def test_parameters_can_be_kept_as_json_and_made_again() -> None:
    parameters = Parameters.from_query("state=s&nonce=n")

    assert Parameters(dict(parameters.values)) == parameters


@given(st.lists(st.text(st.sampled_from("ab \t\u00a0"), max_size=3), max_size=6))
def test_a_list_with_spaces_between_has_its_values_once_and_in_order(parts: list[str]) -> None:
    values = space_delimited(" ".join(parts))

    assert all(value and " " not in value for value in values)
    assert values == list(dict.fromkeys(values)) == space_delimited(" ".join(values))
    assert {*values} == {value for part in parts for value in part.split(" ")} - {""}
