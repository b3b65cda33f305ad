"""The whole path of a new holder from a redirect task to a credential."""

from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.wallet.conftest import code_in
from wallet.credential import credentials
from wallet.models import RedirectTask, Wallet


def test_a_new_person_signs_in_is_verified_and_goes_on(client: Client, redirect_task: RedirectTask):
    sign_in = reverse("wallet_sign_in", args=[redirect_task.id])
    assert client.get(sign_in).status_code == 200
    response = client.post(sign_in)
    assert (response.status_code, response.url) == (303, reverse("wallet_code", args=[redirect_task.id]))
    assert client.get(response.url).status_code == 200
    response = client.post(response.url, {"code": code_in(mail.outbox[0].body)})
    assert (response.status_code, response.url) == (303, "/done/")
    hub = reverse("wallet_identity", args=[redirect_task.id])
    assert client.get(hub).status_code == 200
    provider = client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    assert provider.status_code == 303
    assert client.get(provider.url).status_code == 200
    response = client.post(provider.url, {"outcome": "adult"}, follow=False)
    assert response.status_code == 303
    response = client.get(response.url)
    assert (response.status_code, response.url) == (303, hub)
    response = client.get(hub)
    assert (response.status_code, response.url) == (303, "/done/")
    wallet = Wallet.objects.select_related("credential").get(email=redirect_task.email)
    assert credentials.valid_credential(wallet, now=timezone.now())
