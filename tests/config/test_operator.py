"""Whose service this is: on every page, in e-mails, and in the colours of the pages."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.operator import LEAST_CONTRAST, contrast, style
from tests.presentation.relying_parties.png_files import PNG

WHITE, SURFACE, ON_DARK = (255, 255, 255), (0x17, 0x20, 0x1D), (0x0E, 0x14, 0x12)


@pytest.fixture
def operator(settings):
    settings.OPERATOR = replace(
        settings.OPERATOR,
        name="Example Trust & Sons",
        privacy_notice="https://operator.example/privacy",
        help="help@operator.example",
        place="1 High Street, Exampleton",
    )
    return settings.OPERATOR


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/", "/wallet/sign-in/", "/nowhere/"])
def test_every_page_says_whose_service_this_is(operator, client, address):
    page = client.get(address).content.decode()
    assert "A service of <strong>Example Trust &amp; Sons</strong> · 1 High Street, Exampleton" in page
    assert '<a href="https://operator.example/privacy" rel="noreferrer">Privacy notice</a>' in page
    assert '<a href="mailto:help@operator.example" rel="noreferrer">Help: help@operator.example</a>' in page


@pytest.mark.django_db
def test_help_may_be_a_page(operator, settings, client):
    settings.OPERATOR = replace(operator, help="https://operator.example/help")
    assert (
        '<a href="https://operator.example/help" rel="noreferrer">Help</a>'
        in client.get("/").content.decode()
    )


@pytest.mark.django_db
def test_logo_and_colour_are_there_only_if_they_are_set(operator, settings, client):
    assert client.get("/operator/logo").status_code == client.get("/operator/style.css").status_code == 404
    assert "/operator/" not in client.get("/").content.decode()

    settings.OPERATOR = replace(operator, logo=PNG, colour="#7a1f5c")

    logo, sheet, page = (client.get(address) for address in ("/operator/logo", "/operator/style.css", "/"))
    assert (logo.content, logo["Content-Type"], logo["Cache-Control"]) == (
        PNG,
        "image/png",
        "public, max-age=3600",
    )
    assert sheet["Content-Type"] == "text/css; charset=utf-8"
    assert "--accent: #7a1f5c;" in sheet.content.decode()
    assert 'src="/operator/logo" alt="Example Trust &amp; Sons"' in page.content.decode()
    assert '<link rel="stylesheet" href="/operator/style.css">' in page.content.decode()


@given(st.tuples(*[st.integers(0, 255)] * 3).filter(lambda colour: contrast(colour, WHITE) >= LEAST_CONTRAST))
def test_every_accepted_colour_can_be_read_in_both_schemes(colour):
    sheet = style(f"#{bytes(colour).hex()}")
    accents = [
        tuple(bytes.fromhex(found)) for found in re.findall("--accent(?:-strong)?: #([0-9a-f]{6})", sheet)
    ]
    light, light_strong, dark, dark_strong = accents
    assert min(contrast(light, WHITE), contrast(light_strong, WHITE)) >= LEAST_CONTRAST
    for accent in (dark, dark_strong):
        assert contrast(accent, SURFACE) >= LEAST_CONTRAST
        assert contrast(accent, ON_DARK) >= LEAST_CONTRAST


def test_contrast_is_that_of_wcag():
    assert contrast((0, 0, 0), WHITE) == pytest.approx(21)
    assert contrast((0x76, 0x76, 0x76), WHITE) == pytest.approx(4.54, abs=0.01)
