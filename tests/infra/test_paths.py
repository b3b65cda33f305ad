"""The paths of pages with one ID are those that Django gives."""

import uuid

import pytest
from django.urls import NoReverseMatch, reverse

from infra.paths import path_with_id


@pytest.mark.parametrize("name", ["resume", "consent_review", "wallet_sign_in"])
def test_a_path_is_what_django_gives(name: str) -> None:
    for id_ in (uuid.uuid4(), uuid.UUID(int=0)):
        assert path_with_id(name, id_) == reverse(name, args=[id_])


def test_an_unknown_page_has_no_path() -> None:
    with pytest.raises(NoReverseMatch):
        path_with_id("no_such_page", uuid.uuid4())
