"""Lists of the admin site, whose filters, search and page number come from the URL and may be wrong."""

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db import DataError, ProgrammingError
from django.http import HttpRequest

# Raised by Django, Python's dates and the databases for NUL, huge numbers and impossible dates.
UNUSABLE = (ValueError, IndexError, OverflowError, DataError, ProgrammingError)


class CarefulChangeList(ChangeList):
    """A list that redirects to itself without filters (`?e=1`) when a value in its URL is unusable.

    Django does this for errors when it builds a filter, but not when the database evaluates it.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(request, *args, **kwargs)
        except UNUSABLE as error:
            if not request.GET:
                raise
            raise IncorrectLookupParameters(error) from error
