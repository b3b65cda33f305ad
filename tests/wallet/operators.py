"""Operators of wallets, and their actions in the admin."""

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse


def operator(name, *codenames):
    """A signed-in operator with these permissions and no others."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="wallet", codename__in=codenames)
    )
    client = Client()
    client.force_login(user)
    return client


def address(row, page="change", *args):
    return reverse(f"admin:wallet_{row._meta.model_name}_{page}", args=[row.pk, *args])


def operate(client, row, name, **typed):
    return client.post(address(row, "do", name), {"reason": "Because"} | typed)
