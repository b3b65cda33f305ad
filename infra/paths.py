"""The paths of pages with one ID in them. Django's `reverse` looks for the page anew at each use."""

import uuid
from functools import cache

from django.urls import reverse

_SAMPLE = uuid.UUID(int=0)


def path_with_id(name: str, id_: uuid.UUID) -> str:
    """The path of the page of this name, whose only argument is a UUID; raises NoReverseMatch."""
    return _path(name).replace(str(_SAMPLE), str(id_))


@cache
def _path(name: str) -> str:
    return reverse(name, args=[_SAMPLE])
