"""While the database is away: pages and machines are told so, and published documents go on."""

from threading import Thread
from typing import Any

from django.db import connection

from tests.recorded.stage import Browser, Stage
from tests.recorded.world import AUTHORIZE, OUTCOME, PAR, TOKEN, VERIFY


def play(stage: Stage) -> None:
    """Each request from a thread without a connection, as one of a process that begins now."""
    world = stage.world
    bank = world["Harbour Bank"]
    with stage.story("without a database") as browser:
        token = world.token(browser, "Harbour Bank")
        settings = connection.settings_dict
        before = {name: settings[name] for name in ("HOST", "NAME", "OPTIONS")}
        nowhere: dict[str, Any] = {"HOST": "/nowhere/at/all"}
        nowhere["OPTIONS"] = {k: v for k, v in before["OPTIONS"].items() if k != "host"}
        settings.update(nowhere if connection.vendor == "postgresql" else {"NAME": "/nowhere/at/all"})
        try:
            _apart(browser, "get", AUTHORIZE, world.asked("Harbour Bank"))
            _apart(browser, "get", "/wallet/sign-in/")
            _apart(browser, "post", "/wallet/sign-in/", {"email": "away@example.org"})
            _apart(browser, "get", "/wallet/history/")
            _apart(browser, "get", "/admin/login/")
            _apart(browser, "submit", TOKEN, {"grant_type": "client_credentials"}, **bank.basic)
            _apart(browser, "submit", PAR, world.asked("Harbour Bank"), **bank.basic)
            _apart(browser, "submit_json", VERIFY, {"vp_token": "x", "nonce": "n" * 16}, **token)
            _apart(browser, "get", OUTCOME, {"nonce": "n" * 16}, **token)
            _apart(browser, "get", "/relying-parties/x/logo")
            for path in ("/.well-known/openid-configuration", "/openid-connect/jwks", "/nowhere"):
                _apart(browser, "get", path)
        finally:
            settings.update(before)


def _apart(browser: Browser, method: str, *words: Any, **headers: str) -> None:
    def work() -> None:
        try:
            getattr(browser, method)(*words, **headers)
        finally:
            connection.close()

    thread = Thread(target=work)
    thread.start()
    thread.join()
