"""A person reads the pages in their language, and changes it on the way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.code_page import enter_code
from tests.journeys.conftest import Application, Holder
from tests.people import NORA
from tests.relying_party import RelyingParty
from wallet.models import Wallet

pytestmark = pytest.mark.browser


def reads(page: Any, language: str) -> None:
    expect(page.locator("html")).to_have_attribute("lang", language)


def signs_in(person: Holder) -> None:
    person.clicks("Recibir un código").sees("Introduzca el código")
    enter_code(person.page)


def test_the_language_is_changed_on_the_way_and_stays_to_the_end(
    holder: Callable[..., Holder], bank: RelyingParty, application: Application
) -> None:
    person = holder(NORA).arrives().sees("Confirm your e-mail address")
    reads(person.page, "en-gb")
    person.clicks("Español").sees("Confirme su dirección de correo electrónico")
    expect(person.page.locator("main")).to_contain_text("Acme Bank")
    person.clicks("Recibir un código").sees("Introduzca el código")
    person.page.locator("input[name=code]").fill("12345")
    person.clicks("Continuar").sees("Introduzca el código")
    expect(person.page.get_by_role("alert")).to_contain_text("El código tiene seis cifras")
    reads(person.page, "es")
    enter_code(person.page)
    person.sees("Confirme su identidad").clicks("Aceptar y empezar")
    person.sees("¿Qué resultado debe dar la comprobación?")
    person.page.locator("input[name=outcome][value=adult]").check()
    person.clicks("Enviar").sees("¿Compartir estos datos con Acme Bank?")
    expect(person.page.locator("dl.claims")).to_contain_text("18 años o más")
    expect(person.page.locator("dl.claims")).to_contain_text("Sí")
    reads(person.page, "es")
    assert Wallet.objects.get(email=NORA).language == "es"

    person.clicks("English").sees("Share these details with Acme Bank?")
    reads(person.page, "en-gb")
    assert Wallet.objects.get(email=NORA).language == "en-gb"
    assert bank.verify(person.clicks("Share these").comes_back())


def test_a_request_with_ui_locales_begins_in_spanish_and_its_errors_are_spanish(
    holder: Callable[..., Holder], alice: Wallet
) -> None:
    person = holder().arrives(ui_locales="fr es")
    person.sees("Confirme su dirección de correo electrónico")
    signs_in(person)
    person.sees("¿Compartir estos datos con Acme Bank?")
    question = person.page.url
    person.page.context.clear_cookies(name=settings.BROWSER_COOKIE_NAME)
    person.clicks("Compartir estos datos").sees("Esta solicitud ha")
    reads(person.page, "es")
    person.page.goto(f"{question}nothing/")
    person.sees("No hay nada en esta dirección")
