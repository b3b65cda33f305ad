"""Access tokens at endpoints for machines (RFC 6750), as Django REST framework asks for them."""

from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from presentation.clients import access_tokens
from presentation.machine_errors import InsufficientScopeError, InvalidTokenError, MissingTokenError


class BearerAuthentication(BaseAuthentication):
    """`request.user` is the `Access` of the token in the header; there it must be, and nowhere else."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """Raises MissingTokenError or InvalidTokenError."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise MissingTokenError("An access token is needed (Authorization: Bearer).")
        try:
            return access_tokens.verify(token.strip(), now=timezone.now()), None
        except access_tokens.TokenRefusedError as error:
            raise InvalidTokenError(str(error)) from error


class HasGrant(BasePermission):
    """The access token is good for what the view names as its `grant`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises InsufficientScopeError."""
        access: Any = request.user
        if view.grant not in access.grants:
            raise InsufficientScopeError(view.grant)
        return True
