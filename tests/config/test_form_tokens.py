"""Form tokens are those of Django: each of the two reads what the other wrote."""

import importlib.util
from types import ModuleType

import pytest
from django.middleware import csrf

from config import form_tokens


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
    assert vars(csrf)["_get_new_csrf_string"] is form_tokens.draw
    assert vars(csrf)["_mask_cipher_secret"] is form_tokens.mask
    assert vars(csrf)["_unmask_cipher_token"] is form_tokens.unmask


def test_each_reads_the_tokens_of_the_other(as_django_has_it: ModuleType) -> None:
    for secret in (form_tokens.draw(), as_django_has_it._get_new_csrf_string()):
        assert as_django_has_it._unmask_cipher_token(form_tokens.mask(secret)) == secret
        assert form_tokens.unmask(as_django_has_it._mask_cipher_secret(secret)) == secret


def test_secrets_and_masks_are_new_each_time_and_made_of_allowed_characters() -> None:
    drawn = {form_tokens.draw() for _ in range(100)}
    masked = {form_tokens.mask("s" * csrf.CSRF_SECRET_LENGTH) for _ in range(100)}

    assert len(drawn) == len(masked) == 100
    assert {len(secret) for secret in drawn} == {csrf.CSRF_SECRET_LENGTH}
    assert set("".join(drawn | masked)) <= set(csrf.CSRF_ALLOWED_CHARS)
