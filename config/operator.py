"""The operator of this service: name, privacy notice, help address, and the look of the pages."""

import re
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

from config.variables import text
from infra import email_addresses
from infra.files import FileError, content
from presentation.relying_parties.metadata import logos

MOST = 100  # characters of a name
_WEB_ADDRESS = re.compile(r"https://[!-~]{1,500}")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
LEAST_CONTRAST = 4.5  # of text (WCAG 2.2, 1.4.3)
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_DARK_SURFACE = (0x17, 0x20, 0x1D)  # --surface of style.css in the dark scheme

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Operator:
    """What the footer of every page and the page before an identity check say about the operator.

    help: an e-mail address or a web address. place: where people can come, or empty. alerts: the e-mail
    address that `infra.doctor` writes to, or empty.
    """

    name: str
    privacy_notice: str
    help: str
    place: str = ""
    logo: bytes = b""
    colour: str = ""
    alerts: str = ""

    @property
    def help_address(self) -> str:
        """The address for a link."""
        return self.help if self.help.startswith("https://") else f"mailto:{self.help}"

    @property
    def logo_type(self) -> str:
        """The media type of the logo."""
        return logos.content_type(self.logo)

    @property
    def help_is_email(self) -> bool:
        return not self.help.startswith("https://")


def from_environment(name: str, privacy_notice: str, help_address: str, *, sandbox: bool) -> Operator:
    """The operator as the OPERATOR_ variables say; the required ones are given, empty where they are missing.

    sandbox: its privacy notice may be a page of this service. Raises `ImproperlyConfigured`.
    """
    place = text("OPERATOR_PLACE")
    for variable, value in (("OPERATOR_NAME", name), ("OPERATOR_PLACE", place)):
        if len(value) > MOST or not value.isprintable():
            raise ImproperlyConfigured(f"{variable} must be one line of at most {MOST} characters.")
    if privacy_notice and not (sandbox or _WEB_ADDRESS.fullmatch(privacy_notice)):
        raise ImproperlyConfigured("OPERATOR_PRIVACY_NOTICE must be an https:// address.")
    if help_address and not (
        _WEB_ADDRESS.fullmatch(help_address) or email_addresses.is_accepted(help_address)
    ):
        raise ImproperlyConfigured("OPERATOR_HELP must be an e-mail address in small letters, or https://.")
    alerts = text("OPERATOR_ALERTS")
    if alerts and not email_addresses.is_accepted(alerts):
        raise ImproperlyConfigured("OPERATOR_ALERTS must be an e-mail address in small letters.")
    return Operator(name, privacy_notice, help_address, place, _logo(), _colour(), alerts)


def style(colour: str) -> str:
    """CSS that gives buttons and other accents the operator's colour, in the light and the dark scheme.

    In the dark the colour is lightened until it can be read there.
    """
    light = _parsed(colour)
    dark = light
    while contrast(dark, _DARK_SURFACE) < 1.5 * LEAST_CONTRAST:
        dark = _mixed(dark, _WHITE, 0.1)
    return (
        f":root {{ --accent: {_written(light)}; --accent-strong: {_written(_mixed(light, _BLACK, 0.25))}; "
        "--on-accent: #ffffff; }\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ --accent: {_written(dark)}; "
        f"--accent-strong: {_written(_mixed(dark, _WHITE, 0.3))}; --on-accent: #0e1412; }} }}\n"
    )


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2, definition of contrast ratio)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _parsed(colour: str) -> Colour:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _written(colour: Colour) -> str:
    return f"#{bytes(colour).hex()}"


def _colour() -> str:
    colour = text("OPERATOR_COLOUR")
    if not colour:
        return ""
    if not _COLOUR.fullmatch(colour):
        raise ImproperlyConfigured("OPERATOR_COLOUR must be a colour such as #0b6250.")
    ratio = contrast(_parsed(colour), _WHITE)
    if ratio < LEAST_CONTRAST:
        raise ImproperlyConfigured(
            f"OPERATOR_COLOUR is too light: its contrast with white is {ratio:.1f}, and text "
            f"needs {LEAST_CONTRAST} or more."
        )
    return colour


def _logo() -> bytes:
    path = text("OPERATOR_LOGO_FILE")
    if not path:
        return b""
    try:
        picture = content(path, most=logos.LARGEST)
    except FileError as error:
        raise ImproperlyConfigured(f"OPERATOR_LOGO_FILE: {error}") from None
    if logos.problem_with(picture) is not None:
        raise ImproperlyConfigured(
            "OPERATOR_LOGO_FILE must be a PNG, JPEG or WebP picture of at most 64 kB and 2048 pixels a side."
        )
    return picture
