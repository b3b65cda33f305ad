"""The admin pages of signing keys, and operators who may open them."""

from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from keys.models import SigningKey

LIST = "/admin/keys/signingkey/"


def operator(name: str, *permissions: str) -> Client:
    """A signed-in operator with only these permissions on keys."""
    user = User.objects.create_user(name, is_staff=True)
    group = Group.objects.create(name=f"{name}'s group")
    group.permissions.set(Permission.objects.filter(content_type__app_label="keys", codename__in=permissions))
    user.groups.add(group)
    client = Client()
    client.force_login(user)
    return client


def page(key: SigningKey, step: str = "") -> str:
    """The address of the key's page, or of the page that confirms a step."""
    return f"{LIST}{key.pk}/do/{step}/" if step else f"{LIST}{key.pk}/change/"
