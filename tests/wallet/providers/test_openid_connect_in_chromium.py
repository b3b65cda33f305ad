"""The way to an OpenID provider and back in Chromium, which decides by itself which cookies it sends."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as configured
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from tests.wallet.browser_redirect_tasks import SECRET, make_redirect_task
from tests.wallet.providers.openid_providers import OpenIDProvider, settings_for
from wallet.models import IdentityVerification, RedirectTask, Wallet
from wallet.sign_in import sessions

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIDProvider]:
    provider = OpenIDProvider()
    yield provider
    provider.close()


@pytest.fixture
def at_the_start(
    running: OpenIDProvider, page: Any, nora: Wallet, service: Any, settings: Any
) -> tuple[Any, RedirectTask]:
    """Nora is signed in, and looks at the page where a check begins."""
    running.play()
    settings.LOOPBACK_CALLS = True
    settings.IDENTITY_PROVIDERS = {"bank": settings_for(running, label="Sign in with Example Bank")}
    signed_out = reverse("wallet_signed_out")  # any page of ours
    redirect_task = make_redirect_task(
        Client(), now=timezone.now(), return_to=f"{signed_out}?done", leave_to=f"{signed_out}?left"
    )
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, nora, now=timezone.now())
    cookies = {
        configured.HOLDER_COOKIE_NAME: response.cookies[configured.HOLDER_COOKIE_NAME].value,
        configured.BROWSER_COOKIE_NAME: SECRET,
    }
    page.context.add_cookies(
        [
            {"name": name, "value": value, "url": service.url, "sameSite": "Lax"}
            for name, value in cookies.items()
        ]
    )
    page.goto(service.url + reverse("wallet_identity", args=[redirect_task.id]))
    return page, redirect_task


def go_to_the_provider(page: Any) -> None:
    page.locator("form[action$='/identity/start/'] button").first.click()
    page.locator("a[href$='/identity/continue/']").click()


def test_the_back_button_at_the_provider_leads_to_a_link_that_still_works(
    at_the_start: tuple[Any, RedirectTask], running: OpenIDProvider
) -> None:
    page, redirect_task = at_the_start
    running.play("never")
    go_to_the_provider(page)
    page.wait_for_url(f"{running.issuer}/**")
    running.play()
    page.go_back()
    page.wait_for_url(f"**{reverse('wallet_identity', args=[redirect_task.id])}")
    page.locator("a[href$='/identity/continue/']").click()
    page.wait_for_url("**/*?done")
    assert IdentityVerification.objects.get().state == "approved"
