"""`make screenshots`: takes the pictures of docs/screenshots from a new sandbox in Chromium."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.code_page import enter_code
from tests.ports import free_port
from tests.programs import chromium

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "screenshots"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1200, "height": 860}
KEPT = {"consent", "dark-consent", "receipts", "wide-answer", "admin-relying-party"}


def await_answer(url: str) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the sandbox did not start")


def visit(browser: Browser, base: str, email: str, **context: Any) -> None:
    """One person's path from the playground to the receipt, with a picture of each page."""
    prefix = context.pop("prefix")
    opened = browser.new_context(locale="en-GB", **context)
    page = opened.new_page()
    page.goto(f"{base}/playground/")
    keep(page, f"{prefix}playground")
    page.fill("input[type=email]", email)
    page.select_option("select", label="Approve a bank transfer")
    page.locator("#go").click()
    page.get_by_role("button", name="Send me a code").click()
    keep(page, f"{prefix}code")
    enter_code(page)
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/consent/**")
    keep(page, f"{prefix}consent")
    page.locator("button[value=share]").click()
    page.get_by_text("checks passed").wait_for()
    keep(page, f"{prefix}answer")
    page.goto(f"{base}/wallet/history/")
    keep(page, f"{prefix}receipts")
    opened.close()


def operate(browser: Browser, base: str, password: str) -> None:
    """What an operator sees first of a relying party and of the signing keys."""
    opened = browser.new_context(locale="en-GB", viewport=DESKTOP)
    page = opened.new_page()
    page.goto(f"{base}/admin/")
    page.fill("input[name=username]", "operator")
    page.fill("input[name=password]", password)
    page.locator("input[type=submit]").click()
    page.goto(f"{base}/admin/presentation/relyingparty/")
    page.get_by_role("link", name="Acme Bank").click()
    page.get_by_role("heading", name="Acme Bank").wait_for()
    keep(page, "admin-relying-party")
    opened.close()


def emails(browser: Browser) -> None:
    """Every e-mail to holders, on one sheet."""
    import django

    os.environ |= {"ENVIRONMENT": "sandbox", "DJANGO_SETTINGS_MODULE": "config.settings"}
    django.setup()
    from tests import email_sheet

    logo = (ROOT / "sandbox" / "logos" / "corner-shop.png").read_bytes()
    sheet = {"viewport": {"width": 2000, "height": 900}}
    email_sheet.picture(browser, PICTURES / "emails.png", "en-gb", logo, **sheet)


def keep(page: Page, name: str) -> None:
    if name in KEPT:
        page.screenshot(path=PICTURES / f"{name}.png")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as state, (Path(state) / "log").open("w+") as log:
        environment = os.environ | {"ENVIRONMENT": "sandbox", "STATE_DIRECTORY": state, "PORT": str(port)}
        command = [sys.executable, "manage.py", "sandbox"]
        sandbox = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            base = f"http://localhost:{port}"
            await_answer(f"{base}/playground/")
            password = (Path(state) / "log").read_text().split("password ")[1].split(" ")[0]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium())
                visit(browser, base, "alice@example.org", prefix="", viewport=PHONE)
                visit(browser, base, "nora@example.org", prefix="dark-", viewport=PHONE, color_scheme="dark")
                visit(browser, base, "bob@example.org", prefix="wide-", viewport=DESKTOP)
                operate(browser, base, password)
                emails(browser)
                browser.close()
        finally:
            sandbox.terminate()
            sandbox.wait(20)


if __name__ == "__main__":
    main()
