"""Published documents by every method, metrics, static files, and what is not there."""

from tests.recorded.recorder import FORM, Browser, Recorder

_PUBLISHED = (
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/.well-known/jwt-vc-issuer",
    "/openid-connect/jwks",
    "/credential-types/identity/v1",
    "/trust/root.pem",
    "/trust/root.der",
    "/status-lists",
)
_INSERTED = (
    "/.well-known/oauth-authorization-server/",
    "/.well-known/openid-configuration/",
    *(
        f"/.well-known/{name}/verifiable-credentials/v1/presentation{more}"
        for name in ("oauth-authorization-server", "openid-configuration")
        for more in ("", "/authorize")
    ),
)
_METRICS = "/metrics"
_NOWHERE = (
    "/nowhere",
    "/nowhere/",
    "/.well-known/nothing",
    "/.well-known/",
    "/verifiable-credentials/v1/presentation/authorize/",
    "/wallet/sign-in",
    "/admin",
    "/oauth/v2/token/",
    "/%00",
    "/%ff",
    "/status-lists/x",
    "/relying-parties/somebody/logo",
    "/relying-parties/somebody/begin-again/",
    "/consent/not-an-id/",
    "/consent/00000000-0000-4000-8000-000000000000/",
    "/verifiable-credentials/v1/presentation/interactions/not-an-id/",
    "/playground",
    "/sandbox/",
)


def run(recorder: Recorder) -> None:
    """All of them."""
    for path in _PUBLISHED:
        with recorder.scenario(f"the document {path}") as browser:
            _document(browser, path)
    for path in _INSERTED:
        with recorder.scenario(f"the document {path}") as browser:
            browser.get(path)
    _status_lists(recorder)
    _metrics(recorder)
    _health(recorder)
    _static(recorder)
    _front_page(recorder)
    for path in _NOWHERE:
        with recorder.scenario(f"nothing at {path}") as browser:
            browser.get(path)
    _strange(recorder)
    browser = recorder.browser()
    with browser.quietly():
        recorder.service.name_certificates(browser.get("/openid-connect/jwks").body)


def _document(browser: Browser, path: str) -> None:
    tag = browser.get(path).header("ETag")
    browser.get(path, Accept_Encoding="gzip")
    browser.send("HEAD", path)
    if tag:
        browser.get(path, If_None_Match=tag)
        browser.get(path, If_None_Match=f'"other", W/{tag}')
    browser.send("OPTIONS", path, Origin="https://anybody.example", Access_Control_Request_Method="GET")
    browser.submit(path, {"a": "b"})
    browser.send("DELETE", path)


def _status_lists(recorder: Recorder) -> None:
    with recorder.scenario("status lists that are there and that are not") as browser:
        for number in ("1", "2", "07", "0", "9" * 30):
            browser.get(f"/status-lists/{number}")
        browser.send("HEAD", "/status-lists/1")
        browser.send("POST", "/status-lists/1")


def _metrics(recorder: Recorder) -> None:
    right = {"Authorization": f"Bearer {'metrics' * 6}"}
    with recorder.scenario("metrics") as browser:
        browser.get(_METRICS)
        browser.get(_METRICS, Authorization="Bearer " + "n" * 40)
        browser.get(_METRICS, Authorization="Basic " + "metrics" * 6)
        browser.get(_METRICS, **right)
        browser.get(_METRICS, Accept="application/openmetrics-text; version=1.0.0", **right)
        browser.send("HEAD", _METRICS, **right)
        browser.send("POST", _METRICS, **right)


def _health(recorder: Recorder) -> None:
    with recorder.scenario("probes") as browser:
        for path in ("/health/live", "/health/ready"):
            browser.get(path)
            browser.send("HEAD", path)
            browser.send("POST", path)


def _static(recorder: Recorder) -> None:
    with recorder.scenario("static files") as browser:
        names = (
            "style.css",
            "countdown.js",
            "decision.js",
            "once.js",
            "waiting.js",
            "mark.svg",
            "admin-brand.css",
        )
        for name in (*names, "admin/css/base.css", "nothing.css"):
            browser.get(f"/static/{name}")
        browser.get("/static/style.css", Accept_Encoding="gzip")
        browser.send("HEAD", "/static/style.css")
        browser.send("POST", "/static/style.css")
        browser.get("/static/../config/settings.py")
    if recorder.service.sandbox:
        with recorder.scenario("static files of the playground") as browser:
            names = ("answer", "callback-page", "decode", "encoding", "issuer-signed", "jwe", "page")
            for name in (*names, "request-page", "sd-jwt", "status-list", "x5c"):
                browser.get(f"/static/playground/{name}.js")
            browser.get("/static/playground/playground.css")


def _front_page(recorder: Recorder) -> None:
    with recorder.scenario("the front page") as browser:
        browser.get("/")
        browser.send("HEAD", "/")
        browser.post("/")
        browser.send("OPTIONS", "/")


def _strange(recorder: Recorder) -> None:
    with recorder.scenario("requests that are strange as a whole") as browser:
        browser.send("GET", "/", Host="evil.example")
        browser.send("GET", "/openid-connect/jwks", Host="evil.example")
        browser.send("GET", "/", X_Forwarded_Proto="http")
        browser.send("TRACE", "/")
        browser.send("BREW", "/")
        browser.send("POST", "/wallet/sign-in/", "a=b", FORM)
        browser.send("POST", "/wallet/sign-in/", "a" * 300_000, FORM)
        browser.send("POST", "/wallet/sign-in/", "a", "multipart/form-data; boundary=x")
        browser.send("POST", "/oauth/v2/token", "a", "text/plain; charset*=x'y'z")
