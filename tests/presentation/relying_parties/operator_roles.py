"""The roles of operators, and operators that have one."""

from importlib import import_module
from types import SimpleNamespace

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

release = import_module("presentation.migrations.0001_release_0_2")
RELYING_PARTIES = "Relying parties"
IDENTITY_REVIEW = "Identity review"
KEYS = "Keys"
AUDIT = "Audit (read only)"


def make_roles() -> None:
    """Creates the roles as the migration does."""
    release.make_roles(apps, SimpleNamespace(connection=connection))


def operator(role: str) -> Client:
    """A browser in which an operator with this role is signed in."""
    user = User.objects.create_user(role, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client
