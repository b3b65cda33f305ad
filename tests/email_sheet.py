"""All e-mails to holders on one sheet, in Chromium: for docs/screenshots, and to look at after a change."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

from django.conf import settings
from django.test import override_settings
from django.utils import timezone, translation
from PIL import Image
from playwright.sync_api import Browser

from infra.mail.queue import EmailContent
from wallet.emails import holder_emails
from wallet.emails.texts import LINKS, NOTICES
from wallet.models import RedirectTask, Wallet

AT = datetime(2027, 2, 1, 9, 30, tzinfo=UTC)
PAGE = """<!doctype html><meta charset="utf-8"><style>
:root {{ color-scheme: light dark; }}
body {{ margin: 16px; font: 13px system-ui, sans-serif; }}
main {{ columns: {columns}; column-gap: 16px; }}
figure {{ break-inside: avoid; margin: 0 0 16px; }}
figure {{ border: 1px solid #9aa5a1; border-radius: 6px; overflow: hidden; }}
figcaption {{ padding: 6px 16px; font-weight: 600; border-bottom: 1px solid #9aa5a1; }}
iframe {{ display: block; width: 100%; border: 0; }}
</style><main>{figures}</main>"""
FIGURE = '<figure><figcaption>{subject}</figcaption><iframe srcdoc="{page}"></iframe></figure>'
HEIGHTS = """() => { for (const frame of document.querySelectorAll("iframe"))
    frame.style.height = `${frame.contentDocument.documentElement.scrollHeight}px`; }"""


def picture(browser: Browser, path: Path, language: str, logo: bytes, **context: Any) -> None:
    """Saves a picture of all e-mails in this language, of an operator with this logo."""
    every = written(language, logo)
    data = f"data:image/png;base64,{base64.b64encode(logo).decode()}"
    figures = "".join(
        FIGURE.format(subject=escape(each.subject), page=escape(each.html.replace("cid:operator-logo", data)))
        for each in every
    )
    opened = browser.new_context(**context)
    page = opened.new_page()
    page.set_content(PAGE.format(columns=max(1, page.viewport_size["width"] // 400), figures=figures))
    page.wait_for_load_state("networkidle")
    page.evaluate(HEIGHTS)
    page.screenshot(path=path, full_page=True)
    opened.close()
    Image.open(path).quantize(64).save(path, optimize=True)  # a third of the size


def written(language: str, logo: bytes) -> list[EmailContent]:
    """Every kind of e-mail, of an operator with this logo and a colour of its own."""
    operator = replace(settings.OPERATOR, logo=logo, colour="#7a1f5c")
    zone = timezone.override(ZoneInfo("Europe/Madrid"))
    with override_settings(OPERATOR=operator), translation.override(language), zone, _collected() as found:
        _write_all()
    return found


@contextmanager
def _collected() -> Iterator[list[EmailContent]]:
    """The e-mails that are written in the block; they are not sent, and none needs a database."""
    found: list[EmailContent] = []
    with patch.object(holder_emails.outbox, "put", lambda content, **_how: found.append(content)):
        yield found


def _write_all() -> None:
    soon = timedelta(minutes=10)
    nora = Wallet(email="nora@example.org")
    holder_emails.send_code(RedirectTask(email=nora.email, on_behalf_of="Acme Bank"), "482915", lifetime=soon)
    holder_emails.send_link(
        nora.email, f"{settings.BASE_URL}/wallet/link/kX3v9QmT2bLr7WcZ0pYs1A/", lifetime=soon
    )
    holder_emails.send_address_code(nora.email, "730264", lifetime=soon)
    holder_emails.send_shared(
        nora,
        receipt="0b1f0a52-6d1e-4d5e-8d3a-2f4b7d9c1e60",
        requester="Acme Bank",
        domain="bank.example",
        at=timezone.localtime(AT),
        claims=["Given name", "Family name"],
        transactions=["Approve a bank transfer"],
    )
    facts: dict[str, Any] = {"browser": "Firefox on Linux", "when": AT, "until": AT, "day": date(2027, 2, 1)}
    facts |= {"address": f"{settings.BASE_URL}/wallet/security/", "name": "My phone"}
    for notice in dict.fromkeys(NOTICES):
        holder_emails.send_notice(nora.email, notice, link=_link(notice), **facts, requester="Acme Bank")


def _link(notice: str) -> str:
    return f"{settings.BASE_URL}/somewhere/" if notice in LINKS else ""
