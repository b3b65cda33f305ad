"""Text for people: a `Promise` is translated when it is shown. Pure."""

from typing import TYPE_CHECKING

from django.utils.functional import Promise

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    Words = StrOrPromise
else:
    Words = str | Promise  # the package with the type is installed for development only
