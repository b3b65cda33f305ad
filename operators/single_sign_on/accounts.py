"""The account of an operator who signs in with the provider, with the roles that their groups have here."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from infra.audit.recording import record
from operators.single_sign_on.provider import NotSignedInError, Settings

MOST_GROUPS = 1000
LONGEST_NAME = 150


def account_of(claims: Mapping[str, Any], settings: Settings) -> User:
    """The account, made at the first sign-in, with exactly the roles of today's groups.

    It belongs to `iss` and `sub`; e-mail addresses and names prove nothing, because they may be given to
    somebody else. claims: of a checked ID token. Raises NotSignedInError if no group has a role here, after
    which an account that was there reaches the admin no more; and for an account that is inactive, or has a
    password and so no longer belongs to the provider.
    """
    name = user_name(str(claims["iss"]), str(claims["sub"]))
    roles = list(Group.objects.filter(name__in=_roles(claims, settings)).order_by("name"))
    with transaction.atomic():
        account = User.objects.select_for_update().filter(username=name).first()
        if account and (not account.is_active or account.has_usable_password()):
            words = _("Your account here is closed. Ask a superuser.")
            raise NotSignedInError("account_closed", words)
        if account or roles:
            user = account or _made(name)
            _give(user, roles, claims)
    if not roles:
        words = _("Your groups at %(name)s give you no role here. Ask the people who manage them.")
        raise NotSignedInError("no_role", words)
    return user


def user_name(issuer: str, subject: str) -> str:
    """The user name of the account: a digest, because subjects may be longer than user names."""
    digest = hashlib.sha256(f"{issuer}\n{subject}".encode()).hexdigest()
    return f"sso-{digest[:32]}"


def _roles(claims: Mapping[str, Any], settings: Settings) -> set[str]:
    groups = claims.get(settings.groups_claim)
    listed = groups[:MOST_GROUPS] if isinstance(groups, list) else [groups]
    return {
        role for group in listed if isinstance(group, str) for role in settings.roles.get(group, frozenset())
    }


def _made(name: str) -> User:
    """Makes the account; if another browser signs in at the same time, returns the one that it made."""
    user = User(username=name)
    user.set_unusable_password()
    return User.objects.get_or_create(username=name, defaults={"password": user.password})[0]


def _give(user: User, roles: list[Group], claims: Mapping[str, Any]) -> None:
    """Sets the roles, and the names that other operators see. A change of roles is in the audit record."""
    before = set(user.groups.all())
    user.first_name, user.last_name = (_text(claims, name) for name in ("given_name", "family_name"))
    if not (user.first_name or user.last_name):
        user.first_name = _text(claims, "name") or _text(claims, "preferred_username")
    user.is_staff = bool(roles)
    user.save(update_fields=["first_name", "last_name", "is_staff"])
    if before != set(roles):
        user.groups.set(roles)
        record(user, "roles_given", user, ", ".join(role.name for role in roles) or "none")


def _text(claims: Mapping[str, Any], name: str) -> str:
    said = claims.get(name)
    return "".join(c for c in said if c.isprintable())[:LONGEST_NAME] if isinstance(said, str) else ""
