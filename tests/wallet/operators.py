"""Operators of wallets, and their actions in the admin."""

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from wallet.identity import review


def operator(name, *codenames):
    """A signed-in operator with these permissions and no others."""
    user, _new = User.objects.update_or_create(username=name, defaults={"is_staff": True})
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="wallet", codename__in=codenames)
    )
    client = Client()
    client.force_login(user)
    return client


def reviewer(name="olga"):
    """The operator of this name, without permissions: for use cases that are called directly."""
    return User.objects.get_or_create(username=name)[0]


def claimed(verification, name="olga"):
    """The attempt, claimed by this operator."""
    review.claim(verification, operator=reviewer(name), now=timezone.now())
    return verification


def address(row, page="change", *args):
    return reverse(f"admin:wallet_{row._meta.model_name}_{page}", args=[row.pk, *args])


def operate(client, row, name, **typed):
    return client.post(address(row, "do", name), {"reason": "Because"} | typed)
