"""Lists of the operators' site: filters, search and page come from the address, which anybody may edit."""

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db import DataError, ProgrammingError
from django.http import HttpRequest

# What Django, Python's dates and the databases raise for NUL, huge numbers and dates that do not exist.
UNUSABLE = (ValueError, IndexError, OverflowError, DataError, ProgrammingError)


class CarefulChangeList(ChangeList):
    """A list that leads to itself without filters (`?e=1`) when a value in its address is unusable.

    Django does this for errors while a filter is built, but not while the database evaluates it.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(request, *args, **kwargs)
        except UNUSABLE as error:
            if not request.GET:
                raise
            raise IncorrectLookupParameters(error) from error
