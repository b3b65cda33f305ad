"""Rows that operators read in the admin and nothing else."""

from typing import Any

from django.http import HttpRequest


class ReadOnly:
    """Nothing can be added, typed in or deleted; stands before the admin class it is for."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
