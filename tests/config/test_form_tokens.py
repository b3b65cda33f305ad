"""Form tokens are those of Django: each of the two reads what the other wrote."""

import importlib.util
from types import ModuleType

import pytest
from django.middleware import csrf

from config import middleware


@pytest.fixture
def as_django_has_it() -> ModuleType:
    """The module as Django has it, loaded once more."""
    spec = importlib.util.find_spec(csrf.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_django_uses_our_functions() -> None:
    assert vars(csrf)["_get_new_csrf_string"] is middleware.draw_secret
    assert vars(csrf)["_mask_cipher_secret"] is middleware.mask_secret
    assert vars(csrf)["_unmask_cipher_token"] is middleware.unmask_token


def test_each_reads_the_tokens_of_the_other(as_django_has_it: ModuleType) -> None:
    for secret in (middleware.draw_secret(), as_django_has_it._get_new_csrf_string()):
        assert as_django_has_it._unmask_cipher_token(middleware.mask_secret(secret)) == secret
        assert middleware.unmask_token(as_django_has_it._mask_cipher_secret(secret)) == secret


def test_secrets_and_masks_are_new_each_time_and_made_of_allowed_characters() -> None:
    drawn = {middleware.draw_secret() for _ in range(100)}
    masked = {middleware.mask_secret("s" * csrf.CSRF_SECRET_LENGTH) for _ in range(100)}

    assert len(drawn) == len(masked) == 100
    assert {len(secret) for secret in drawn} == {csrf.CSRF_SECRET_LENGTH}
    assert set("".join(drawn | masked)) <= set(csrf.CSRF_ALLOWED_CHARS)
