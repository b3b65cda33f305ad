"""Errors that are sent to the relying party, and errors that must not be."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation import errors

FAMILY = [
    (errors.InvalidRequestError("x"), "invalid_request"),
    (errors.UnsupportedResponseTypeError("x"), "unsupported_response_type"),
    (errors.InvalidScopeError("x"), "invalid_scope"),
    (errors.UnauthorizedClientError("x"), "unauthorized_client"),
    (errors.InvalidRequestObjectError("x"), "invalid_request_object"),
    (errors.InvalidRequestUriError("x"), "invalid_request_uri"),
    (errors.InvalidRequestUriMethodError("x"), "invalid_request_uri_method"),
    (errors.InvalidTransactionDataError("x"), "invalid_transaction_data"),
    (errors.VpFormatsNotSupportedError("x"), "vp_formats_not_supported"),
    (errors.AccessDeniedError(), "access_denied"),
    (errors.InteractionRequiredError(), "interaction_required"),
    (errors.UnmetAuthenticationRequirementsError(), "unmet_authentication_requirements"),
    (errors.ServerError(), "server_error"),
    (errors.TemporarilyUnavailableError(), "temporarily_unavailable"),
]


@pytest.mark.parametrize(("error", "code"), FAMILY, ids=[code for _, code in FAMILY])
def test_each_class_has_its_code(error: errors.AuthorizationError, code: str) -> None:
    assert error.as_parameters() == {"error": code, "error_description": error.description}


def test_one_class_per_code() -> None:
    classes = errors.AuthorizationError.__subclasses__()

    assert {cls.error for cls in classes} == {code for _, code in FAMILY}
    assert len(classes) == len(FAMILY)


@given(st.text())
def test_a_description_has_only_the_characters_of_rfc_6749(text: str) -> None:
    description = errors.InvalidRequestError(text).description

    assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]*", description)
    assert len(description) <= 300


def test_a_description_that_may_be_sent_is_left_as_it_is() -> None:
    text = "transaction_data value 2: payload.items[0].quantity must be an integer"

    assert errors.InvalidTransactionDataError(text).description == text


def test_being_denied_cannot_say_why() -> None:
    with pytest.raises(TypeError):
        errors.AccessDeniedError("holds no credential")  # type: ignore[call-arg]


def test_an_untrusted_request_error_is_not_an_authorization_error() -> None:
    assert not issubclass(errors.UntrustedRequestError, errors.AuthorizationError)
