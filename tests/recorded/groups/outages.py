"""While the database is away: pages and endpoints answer 503, published documents are served."""

from threading import Thread
from typing import Any

from django.db import connection

from tests.recorded.installation import AUTHORIZE, OUTCOME, PAR, TOKEN, VERIFY
from tests.recorded.recorder import Browser, Recorder


def run(recorder: Recorder) -> None:
    """Each request runs in a new thread without a database connection, as in a new process."""
    service = recorder.service
    bank = service["Harbour Bank"]
    with recorder.scenario("without a database") as browser:
        token = service.token(browser, "Harbour Bank")
        settings = connection.settings_dict
        before = {name: settings[name] for name in ("HOST", "NAME", "OPTIONS")}
        nowhere: dict[str, Any] = {"HOST": "/nowhere/at/all"}
        nowhere["OPTIONS"] = {k: v for k, v in before["OPTIONS"].items() if k != "host"}
        settings.update(nowhere if connection.vendor == "postgresql" else {"NAME": "/nowhere/at/all"})
        try:
            _apart(browser, "get", AUTHORIZE, service.asked("Harbour Bank"))
            _apart(browser, "get", "/wallet/sign-in/")
            _apart(browser, "post", "/wallet/sign-in/", {"email": "away@example.org"})
            _apart(browser, "get", "/wallet/history/")
            _apart(browser, "get", "/admin/login/")
            _apart(browser, "submit", TOKEN, {"grant_type": "client_credentials"}, **bank.basic)
            _apart(browser, "submit", PAR, service.asked("Harbour Bank"), **bank.basic)
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
