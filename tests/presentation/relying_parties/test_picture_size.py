"""Sizes of pictures from their headers, compared with Chromium, which encodes and draws them."""

import base64
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from presentation.models import RelyingParty
from presentation.relying_parties.metadata import logos
from presentation.relying_parties.metadata.logos import size
from tests.presentation.relying_parties.png_files import PNG_BEGINS, chunk, png

TYPES = ("image/png", "image/jpeg", "image/webp")
SIDES = st.integers(1, 2**31 - 1)
DRAW = """async ([type, width, height, quality, clear]) => {
  const canvas = new OffscreenCanvas(width, height);
  const drawing = canvas.getContext('2d');
  if (!clear) { drawing.fillStyle = '#fff'; drawing.fillRect(0, 0, width, height); }
  drawing.fillStyle = 'rgba(200, 0, 100, 0.5)';
  drawing.fillRect(0, 0, width / 2, height / 2);
  const blob = await canvas.convertToBlob({type, quality});
  return [blob.type, btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))];
}"""


def jpeg(width: int, height: int, *, marker: int = 0xC0, before: bytes = b"") -> bytes:
    sides = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return b"\xff\xd8" + before + bytes([0xFF, marker]) + b"\0\x0b\x08" + sides + b"\x01\x01\x11\0\xff\xd9"


def webp(kind: bytes, data: bytes) -> bytes:
    body = b"WEBP" + kind + len(data).to_bytes(4, "little") + data
    return b"RIFF" + len(body).to_bytes(4, "little") + body


# --- Against a browser ------------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("sides", [(1, 1), (300, 7), (5, 2048), (1025, 511)])
def test_the_size_is_that_which_a_browser_drew(page: Any, sides: tuple[int, int]) -> None:
    for kind in TYPES:
        for quality in (0.5, 1):  # WebP of quality 1 is lossless, which is another chunk
            for clear in (True, False):  # a transparent one is an extended file
                said, encoded = page.evaluate(DRAW, [kind, *sides, quality, clear])
                picture = base64.b64decode(encoded)
                assert (said, logos.content_type(picture)) == (kind, kind)
                assert size(picture, kind) == sides, (kind, quality, clear)


# --- Headers ----------------------------------------------------------------------------------------------


@given(SIDES, SIDES)
def test_every_size_of_a_png_is_read(width: int, height: int) -> None:
    header = chunk(b"IHDR", width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x01\0\0\0\0")
    assert size(PNG_BEGINS + header, "image/png") == (width, height)


@given(
    st.integers(1, 65_535),
    st.integers(1, 65_535),
    st.sampled_from(sorted({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})),
    st.lists(st.tuples(st.sampled_from([0xE0, 0xE1, 0xDB, 0xC4, 0xFE]), st.binary(max_size=300))),
    st.integers(0, 3),
)
def test_every_size_of_a_jpeg_is_read_behind_whatever_other_segments(
    width: int, height: int, marker: int, segments: list[tuple[int, bytes]], fill: int
) -> None:
    before = b"".join(
        b"\xff" * (1 + fill) + bytes([kind]) + (len(data) + 2).to_bytes(2, "big") + data
        for kind, data in segments
    )
    assert size(jpeg(width, height, marker=marker, before=before), "image/jpeg") == (width, height)


@given(st.integers(1, 16_383), st.integers(1, 16_383), st.integers(0, 3))
def test_every_size_of_a_webp_is_read(width: int, height: int, scale: int) -> None:
    scaled = [(side | scale << 14).to_bytes(2, "little") for side in (width, height)]
    lossless = (width - 1 | (height - 1) << 14 | scale << 28).to_bytes(4, "little")
    canvas = b"".join((side - 1).to_bytes(3, "little") for side in (width, height))
    for picture in (
        webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + b"".join(scaled)),
        webp(b"VP8L", b"\x2f" + lossless + b"\0" * 5),
        webp(b"VP8X", b"\0\0\0\0" + canvas),
    ):
        assert size(picture, "image/webp") == (width, height)


@given(st.binary(max_size=200), st.sampled_from([PNG_BEGINS, b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8"]))
def test_any_octets_give_a_size_or_none(octets: bytes, begins: bytes) -> None:
    found = size(begins + octets, logos.content_type(begins + octets))
    assert found is None or min(found) > 0


@given(st.data(), st.sampled_from([png(40, 30), jpeg(40, 30), webp(b"VP8X", b"\0" * 10)]))
def test_a_header_that_is_cut_off_has_no_size(data: Any, picture: bytes) -> None:
    begins = picture[: data.draw(st.integers(0, 10))]
    assert size(begins, logos.content_type(begins)) is None


@pytest.mark.parametrize(
    "picture",
    [
        PNG_BEGINS + chunk(b"tEXt", b"\0" * 13) + png(8, 8)[8:],  # IHDR must be first
        png(0, 8),
        jpeg(8, 0),  # the height would follow the picture (DNL), which browsers do not support
        jpeg(8, 8, before=b"\xff\xda\0\x02"),  # a scan without a frame
        jpeg(8, 8, before=b"\xff\xd8"),
        jpeg(8, 8, before=b"\0"),
        b"\xff\xd8" + b"\xff" * 60_000,
        b"\xff\xd8\xff\xe0\0\0",
        webp(b"VP8 ", b"\0" * 10),
        webp(b"VP8L", b"\0" * 10),
        webp(b"VPXX", b"\0" * 10),
    ],
)
def test_a_picture_without_a_readable_size_cannot_be_a_logo(picture: bytes) -> None:
    assert size(picture, logos.content_type(picture)) is None
    assert "PNG, JPEG or WebP" in str(logos.problem_with(picture))


# --- Logos ------------------------------------------------------------------------------------------------


def bomb() -> bytes:
    picture = png(20_000, 20_000)
    assert len(picture) < logos.LARGEST
    return picture


@pytest.mark.parametrize("sides", [(2049, 1), (1, 2049), (20_000, 20_000)])
def test_a_logo_with_too_many_pixels_is_refused(sides: tuple[int, int]) -> None:
    assert "too many pixels" in str(logos.problem_with(png(*sides)))


def test_the_largest_logo_is_accepted() -> None:
    assert logos.problem_with(png(2048, 2048)) is None


@pytest.mark.django_db
def test_a_stored_logo_with_too_many_pixels_is_not_shown(acme_bank: RelyingParty, alice: Any) -> None:
    RelyingParty.objects.filter(pk=acme_bank.pk).update(logo=bomb())
    acme_bank.refresh_from_db()

    assert Client().get(f"/relying-parties/{acme_bank.client_id}/logo").status_code == 404
    with pytest.raises(ValidationError, match="too many pixels"):
        acme_bank.full_clean()


@pytest.mark.django_db
def test_the_consent_page_names_no_logo_that_is_not_shown(signing_key: Any, acme_bank: RelyingParty) -> None:
    from consent.models import Consent
    from tests.sandbox.holder_calls import authorize_url, call

    RelyingParty.objects.filter(pk=acme_bank.pk).update(logo=bomb())
    assert call(authorize_url(acme_bank)).status_code == 200
    assert Consent.objects.get().requester["logo_url"] == ""
    RelyingParty.objects.filter(pk=acme_bank.pk).update(logo=png(64, 64))
    assert call(authorize_url(acme_bank, nonce="another-nonce-123456")).status_code == 200
    assert Consent.objects.latest("asked_at").requester["logo_url"].endswith("/logo")


@pytest.mark.django_db
def test_operators_see_why_a_logo_is_not_shown(client: Client, acme_bank: RelyingParty) -> None:
    from django.contrib.auth.models import User

    client.force_login(User.objects.create_superuser("olga"))
    RelyingParty.objects.filter(pk=acme_bank.pk).update(logo=bomb())

    page = client.get(f"/admin/presentation/relyingparty/{acme_bank.pk}/change/").content.decode()

    assert "not shown to holders: The logo has too many pixels" in page
    assert 'class="relying-party-logo"' not in page
