"""OpenID Connect: the request, the code, the tokens and UserInfo."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.recorded import people
from tests.recorded.installation import AUTHORIZE, TOKEN, Party
from tests.recorded.recorder import Browser, Recorder

NAME, HOLDER, USERINFO = "Open Library", "olga@example.org", "/openid-connect/userinfo"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # those of RFC 7636, Appendix B
PKCE = {
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
}
GRANT = {"grant_type": "authorization_code", "code_verifier": VERIFIER}


def run(recorder: Recorder) -> None:
    """Wrong requests, then right ones and what becomes of their codes."""
    library = recorder.service.register(
        NAME, wire_format="openid", sub="another", claim=["given_name", "email"]
    )
    with recorder.scenario("wrong requests of a client of OpenID Connect") as browser:
        for changes in (
            {"response_type": "vp_token"},
            {"response_mode": "fragment"},
            {"scope": "profile"},
            {"code_challenge_method": "plain"},
            {"claims": "[]"},
            {"max_age": "soon"},
            {"prompt": "none"},
            {"prompt": "none login"},
        ):
            browser.get(AUTHORIZE, _asked(recorder, **changes))
        browser.submit(AUTHORIZE, _asked(recorder))
        browser.submit(AUTHORIZE, recorder.service.asked("Harbour Bank"))
    with recorder.scenario("a holder whose code is exchanged") as browser:
        people.enrolled(browser, HOLDER)
        code = _code(browser, nonce="n-of-olga-who-shares")
        form = GRANT | {"code": code, "redirect_uri": _asked(recorder)["redirect_uri"]}
        for wrong in ({"code": ""}, {"redirect_uri": "https://other.example/"}, {"code_verifier": "x"}):
            browser.submit(TOKEN, form | wrong, **library.basic)
        browser.submit(TOKEN, form, **recorder.service["Tea House"].basic)
        _tokens(browser, library, form)
    with recorder.scenario("a holder who declines to a client of OpenID Connect") as browser:
        people.signed_in(browser, HOLDER)
        page = browser.follow(browser.get(AUTHORIZE, _asked(recorder, nonce="n-of-olga-who-declines")))
        people.decided(browser, page, "decline")


def _tokens(browser: Browser, library: Party, form: dict[str, Any]) -> None:
    token = json.loads(browser.submit(TOKEN, form, **library.basic).body)["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    browser.get(USERINFO)
    browser.get(USERINFO, **bearer)
    browser.submit(USERINFO, {"access_token": token})
    browser.submit(TOKEN, form, **library.basic)
    browser.get(USERINFO, **bearer)


def _asked(recorder: Recorder, **changes: Any) -> dict[str, Any]:
    right = {"response_type": "code", "scope": "openid profile email", "login_hint": HOLDER, **PKCE}
    return recorder.service.asked(NAME, **(right | changes))


def _code(browser: Browser, **changes: Any) -> str:
    right = {"response_type": "code", "scope": "openid profile email", "login_hint": HOLDER, **PKCE}
    page = browser.follow(browser.get(AUTHORIZE, browser.service.asked(NAME, **(right | changes))))
    reply = people.decided(browser, page, "share")
    return dict(parse_qsl(urlsplit(reply.location).query))["code"]
