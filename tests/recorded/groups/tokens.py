"""Access tokens, and the endpoints that take them: verification and outcomes."""

from tests.recorded.clock import clock
from tests.recorded.installation import OUTCOME, TOKEN, VERIFY
from tests.recorded.recorder import FORM, JSON, Recorder

BANK = "Harbour Bank"
GRANT = {"grant_type": "client_credentials"}


def run(recorder: Recorder) -> None:
    """The token endpoint, then what tokens are for."""
    _proofs(recorder)
    _assertions(recorder)
    _scopes(recorder)
    _bodies(recorder)
    _bearers(recorder)
    _verify(recorder)
    _outcome(recorder)


def _proofs(recorder: Recorder) -> None:
    service = recorder.service
    bank = service[BANK]
    with recorder.scenario("tokens by every proof") as browser:
        browser.submit(TOKEN, GRANT, **bank.basic)
        browser.submit(TOKEN, GRANT | {"client_id": bank.client_id, "client_secret": bank.secret})
        browser.submit(TOKEN, GRANT | bank.assertion(service.base_url))
        browser.submit(TOKEN, GRANT | {"client_id": bank.client_id} | bank.assertion(service.base_url))
        browser.submit(TOKEN, GRANT | {"client_id": bank.client_id}, **bank.basic)
    with recorder.scenario("no tokens without proof") as browser:
        browser.submit(TOKEN, GRANT)
        browser.submit(TOKEN, GRANT | {"client_id": bank.client_id})
        browser.submit(TOKEN, GRANT | {"client_id": bank.client_id, "client_secret": "wrong"})
        browser.submit(TOKEN, GRANT | {"client_id": "somebody", "client_secret": "wrong"})
        browser.submit(TOKEN, GRANT | {"client_secret": bank.secret})
        for text in ("", "Basic", "Basic x", "Basic eDp5", "Basic Og==", "Bearer x", "Basic " + "x" * 5000):
            browser.submit(TOKEN, GRANT, Authorization=text)
        browser.submit(TOKEN, GRANT, **service["Closed Store"].basic)
        browser.submit(TOKEN, GRANT, **service["Small Kiosk"].basic)
    with recorder.scenario("no tokens with two proofs") as browser:
        browser.submit(TOKEN, GRANT | bank.assertion(service.base_url), **bank.basic)
        browser.submit(
            TOKEN, GRANT | {"client_id": bank.client_id, "client_secret": bank.secret}, **bank.basic
        )
        browser.submit(TOKEN, GRANT | {"client_id": "somebody"}, **bank.basic)
        browser.submit(TOKEN, GRANT | {"client_id": "somebody"} | bank.assertion(service.base_url))


def _assertions(recorder: Recorder) -> None:
    service = recorder.service
    bank, now = service[BANK], int(clock.seconds())
    issuer = service.base_url
    wrong = {
        "no sub": {"sub": None},
        "another aud": {"aud": "https://other.example"},
        "a list as aud": {"aud": [issuer]},
        "the token endpoint as aud": {"aud": issuer + TOKEN},
        "no aud": {"aud": None},
        "no iss": {"iss": None},
        "another iss": {"iss": "somebody"},
        "a sub that nobody knows": {"sub": "somebody", "iss": "somebody"},
        "a sub that is a number": {"sub": 7},
        "no exp": {"exp": None},
        "an exp in the past": {"exp": now - 300},
        "an exp far away": {"exp": now + 10_000_000},
        "an exp that is true": {"exp": True},
        "an iat in the future": {"iat": now + 1_000_000, "exp": now + 1_000_060},
        "an nbf in the future": {"nbf": now + 1_000_000},
        "no jti": {"jti": None},
        "a jti that is a number": {"jti": 7},
        "an endless jti": {"jti": "x" * 257},
        "a long claim": {"padding": "x" * 8192},
    }
    for title, changes in wrong.items():
        with recorder.scenario(f"an assertion with {title}") as browser:
            browser.submit(TOKEN, GRANT | bank.assertion(issuer, **changes))
    headers = {
        "alg none": {"alg": "none"},
        "alg ES384": {"alg": "ES384"},
        "an unknown kid": {"kid": "two"},
        "the type of a request object": {"typ": "oauth-authz-req+jwt"},
        "the type of an access token": {"typ": "at+jwt"},
        "its own type": {"typ": "client-authentication+jwt"},
        "an extension": {"crit": ["b64"], "b64": False},
    }
    for title, header in headers.items():
        with recorder.scenario(f"an assertion with {title}") as browser:
            browser.submit(TOKEN, GRANT | bank.assertion(issuer, header=header))
    with recorder.scenario("an assertion twice, and another kind of one") as browser:
        form = GRANT | bank.assertion(issuer)
        browser.submit(TOKEN, form)
        browser.submit(TOKEN, form)
        browser.submit(TOKEN, form | {"client_assertion_type": "urn:other"})
        browser.submit(TOKEN, form | {"client_assertion": "x"})
        browser.submit(TOKEN, GRANT | {"client_assertion": form["client_assertion"]})
        changed = form["client_assertion"][:-4] + "AAAA"
        browser.submit(TOKEN, form | {"client_assertion": changed})


def _scopes(recorder: Recorder) -> None:
    proof = recorder.service[BANK].basic
    with recorder.scenario("scopes and grants") as browser:
        for scope in (
            "presentation:verify",
            "presentation:read presentation:verify",
            "presentation:read presentation:read",
            "openid",
            "presentation:verify openid",
            "a  b",
            "presentation:verify ",
        ):
            browser.submit(TOKEN, GRANT | {"scope": scope}, **proof)
        for grant_type in ("authorization_code", "refresh_token", "password", "CLIENT_CREDENTIALS"):
            browser.submit(TOKEN, {"grant_type": grant_type}, **proof)


def _bodies(recorder: Recorder) -> None:
    proof = recorder.service[BANK].basic
    with recorder.scenario("bodies that are no form") as browser:
        for body in (
            "",
            "grant_type=",
            "scope=presentation:verify",
            "grant_type=client_credentials&grant_type=client_credentials",
            "grant_type=client_credentials&scope=a&scope=b",
            "grant_type=client_credentials&scope=%zz",
            "grant_type=client_credentials&scope=%ff",
            "grant_type=client_credentials&scope=%00",
            "&".join(f"p{number}=1" for number in range(51)),
            "a" * 20_000,
        ):
            browser.send("POST", TOKEN, body, FORM, **proof)
        browser.send("POST", TOKEN, '{"grant_type": "client_credentials"}', JSON, **proof)
        browser.send("POST", TOKEN, "grant_type=client_credentials", f"{FORM}; charset=utf-8", **proof)
        browser.send("POST", TOKEN, "grant_type=client_credentials", **proof)
        browser.send("POST", f"{TOKEN}?a=b", "grant_type=client_credentials", FORM, **proof)
        browser.submit(TOKEN, GRANT, Accept="text/html", **proof)
    with recorder.scenario("other methods") as browser:
        for path in (TOKEN, VERIFY, OUTCOME):
            for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE"):
                if (method, path) not in (("GET", OUTCOME), ("HEAD", OUTCOME)):
                    browser.send(method, path)


def _bearers(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("access tokens that are none, or for something else") as browser:
        good = service.token(browser, BANK)["Authorization"]
        pushing = service.token(browser, BANK, "presentation:push")["Authorization"]
        for said in (
            None,
            "",
            "Bearer",
            "Bearer x",
            "Bearer x.y.z",
            "Basic eDp5",
            good[:-4] + "AAAA",
            good + " x",
            pushing,
            good.lower(),
        ):
            headers = {"Authorization": said} if said is not None else {}
            browser.submit_json(VERIFY, {"vp_token": "x", "nonce": "x"}, **headers)
            browser.get(OUTCOME, {"nonce": "n" * 16}, **headers)
        clock.move(minutes=11)
        browser.submit_json(VERIFY, {"vp_token": "x", "nonce": "x"}, Authorization=good)


def _verify(recorder: Recorder) -> None:
    with recorder.scenario("bodies that are nothing to verify") as browser:
        token = recorder.service.token(browser, BANK)
        for body in (
            "",
            "x",
            "[]",
            "{}",
            '{"vp_token": 7, "nonce": "x"}',
            '{"vp_token": "x"}',
            '{"vp_token": "x", "nonce": 7}',
            '{"vp_token": "x", "nonce": "x", "more": 1}',
            '{"vp_token": "x", "vp_token": "x", "nonce": "x"}',
            '{"vp_token": "x", "nonce": "x", "transaction_data": "y"}',
            '{"vp_token": "x", "nonce": "x", "transaction_data": [7]}',
            '{"vp_token": {}, "nonce": "x"}',
            '{"vp_token": {"a": ["x"]}, "nonce": "x"}',
            '{"vp_token": "x", "nonce": "x"}',
            '{"vp_token": "eyJhbGciOiJFUzI1NiJ9.e30.AA~", "nonce": "nnnnnnnnnnnnnnnn"}',
            '{"vp_token": "x", "nonce": "nnnnnnnnnnnnnnnn", "transaction_data": ["e30"]}',
            "[" * 5000,
        ):
            browser.send("POST", VERIFY, body, JSON, **token)
        browser.send("POST", VERIFY, "a=b", FORM, **token)
        browser.send("POST", VERIFY, "x" * 300_000, JSON, **token)


def _outcome(recorder: Recorder) -> None:
    with recorder.scenario("outcomes of requests that nobody made") as browser:
        token = recorder.service.token(browser, BANK)
        for target in (
            "",
            "?nonce=",
            "?nonce=unknown-nonce-0123456",
            "?nonce=a&nonce=b",
            "?nonce=%ff",
            "?nonce=short",
        ):
            browser.send("GET", OUTCOME + target, **token)
        browser.send("HEAD", OUTCOME + "?nonce=unknown-nonce-0123456", **token)
        browser.send("POST", OUTCOME, "nonce=x", FORM, **token)
