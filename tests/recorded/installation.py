"""The service under test with relying parties and operators. Only this file uses names of the project.

These are: settings, management commands, labels and names of models (`apps.get_model`), and addresses.
Nothing is imported from the project but the WSGI application, as the settings name it.
"""

import json
import re
import secrets
import tempfile
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import quote

from cryptography import x509
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import mail
from django.core.management import call_command
from django.urls import Resolver404, get_resolver, resolve
from django.utils.module_loading import import_string

from tests.forgery import Key, new_key, sign_jwt
from tests.keys import certificates
from tests.presentation.payloads import FULL
from tests.recorded import masks, random_values
from tests.recorded.clock import clock
from tests.recorded.party_server import PartyServer
from tools.fuzz.gateway import Gateway, Reply, Wire

PRESENTATION = "/verifiable-credentials/v1/presentation/"
AUTHORIZE, PAR = f"{PRESENTATION}authorize", f"{PRESENTATION}par"
VERIFY, OUTCOME, TOKEN = f"{PRESENTATION}verify", f"{PRESENTATION}outcome", "/oauth/v2/token"
BASIC = "urn:service:params:scope:verifiable-credentials:basic"
AS_ALWAYS = {
    "response_type": "vp_token",
    "scope": BASIC,
    "login_hint": "alice@example.org",
    "nonce": "n-0S6_WzA2Mj-0123456",
    "state": "af0ifjsldkj",
}
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
CLAIMS = ("given_name", "family_name", "birth_date", "age_equal_or_over.18", "nationalities")
GRANTS = ("presentation:verify", "presentation:push", "presentation:read")
EVENTS = ("presentation.completed", "presentation.denied", "credential.revoked")
OPERATOR, PASSWORD = "olga", "the password of the operator"
CODE = re.compile(r"(?<!\d)(\d{6})(?!\d)")
_HOLDER = re.compile(r"[a-z0-9-]+@example\.org")
_PARAMETER = re.compile(r"<[^>]*>|\(\?P<[^>]*>[^)]*\)")


@dataclass
class Party:
    """A relying party with the secrets of its server."""

    name: str
    client_id: str
    key: Key
    secret: str
    response_uri: str

    @property
    def basic(self) -> dict[str, str]:
        """The Authorization header with the client's secret."""
        pair = f"{quote(self.client_id, safe='')}:{quote(self.secret, safe='')}"
        return {"Authorization": "Basic " + b64encode(pair.encode()).decode()}

    def assertion(self, audience: str, *, header: Any = None, **changes: Any) -> dict[str, str]:
        """The form fields of a client assertion; claims that are None are omitted."""
        now = int(clock.seconds())
        claims = {"iss": self.client_id, "sub": self.client_id, "aud": audience, "iat": now, "exp": now + 60}
        claims |= {"jti": secrets.token_urlsafe(16)} | changes
        claims = {name: value for name, value in claims.items() if value is not None}
        token = sign_jwt({"alg": "ES256", "kid": "one"} | (header or {}), claims, self.key)
        return {"client_assertion_type": ASSERTION, "client_assertion": token}

    def request_object(
        self, audience: str, asked: dict[str, Any], *, header: Any = None, **changes: Any
    ) -> str:
        """The request as the claims of a signed token; claims that are None are omitted."""
        now = int(clock.seconds())
        claims = {"iss": self.client_id, "aud": audience, "iat": now, "exp": now + 60, **asked} | changes
        claims = {name: value for name, value in claims.items() if value is not None}
        head = {"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": "one"} | (header or {})
        return sign_jwt({name: value for name, value in head.items() if value is not None}, claims, self.key)


class Installation:
    """The service under test with its relying parties and operators."""

    def __init__(self) -> None:
        self.sandbox = settings.ENVIRONMENT_BANNER == "Sandbox"
        self.base_url = settings.BASE_URL
        self.host = self.base_url.partition("//")[2]
        self.https = self.base_url.startswith("https:")
        self.csrf_cookie = settings.CSRF_COOKIE_NAME
        self.holder_cookie = settings.HOLDER_COOKIE_NAME
        bank = {"client_id": "‹client ID of Harbour Bank›"}
        bank["redirect_uri"] = "https://harbour-bank.example/callback"
        self.as_always = bank | AS_ALWAYS
        self.number_of_group = 0
        self.party_server = PartyServer()
        self.parties: dict[str, Party] = {}
        masks.places[self.base_url] = masks.places[quote(self.base_url, safe="")] = "‹base›"
        masks.places[self.host] = "‹host›"
        masks.places[self.party_server.origin] = "‹relying party’s server›"
        masks.places[self.party_server.origin.partition("//")[2]] = "‹host of the relying party’s server›"
        self._stranger_key = new_key()
        # A fast hasher, because these tests do not cover password hashing.
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        if not self.sandbox:
            settings.MAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
            settings.EMAILS_SENT_AT_ONCE = True  # in place of the process that sends them
            mail.outbox = []
        self._prepare()
        self.gateway = Gateway(import_string(settings.WSGI_APPLICATION))

    def __getitem__(self, name: str) -> Party:
        return self.parties[name]

    # --- Preparation ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        if self.sandbox:
            call_command("sandbox", prepare_only=True, stdout=StringIO(), stderr=StringIO())
            for party in self.rows("presentation", "RelyingParty"):
                random_values.name(party.client_id, f"‹client ID of {party.name}›")
        else:
            call_command("collectstatic", interactive=False, verbosity=0)
            self._first_key()
            get_user_model().objects.create_superuser("operator")  # as in the sandbox
            # The codes of an app change every 30 seconds; tests/operators/test_second_factor.py proves them.
            settings.OPERATOR_SECOND_FACTOR = False
        get_user_model().objects.create_superuser(OPERATOR, password=PASSWORD)
        everything = {"claim": list(CLAIMS), "transaction_data_type": list(FULL), "grant": list(GRANTS)}
        uris = ["http://127.0.0.1:5000/callback", "com.example.bank:/back"]
        self.register("Harbour Bank", *uris, purpose="To open an account", response=True, **everything)
        self.register("Tea House", wire_format="openid4vp-1.0", response=True, **everything)
        self.register("Small Kiosk", transaction_data_type=[""])
        self.register("Signing Agency", requires_signed_requests=True, **everything)
        self.register("Pushing Agency", requires_pushed_requests=True, **everything)
        self.register("Closed Store", **everything)
        self._suspend("Closed Store")

    def _first_key(self) -> None:
        """Staged, certified by an authority of our own as operators have it done, and active."""
        call_command("stage_signing_key", stdout=StringIO())
        printed = StringIO()
        call_command("signing_key_csr", stdout=printed)
        asked = x509.load_pem_x509_csr(printed.getvalue().encode())
        times = {"begins": clock.now() - timedelta(hours=1), "ends": clock.now() + timedelta(days=400)}
        top = certificates.root(**times)
        middle = certificates.issuing(top, **times)
        leaf = certificates.leaf(middle, key=asked, **times)
        kid = str(self.rows("keys", "SigningKey").get().pk)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(certificates.pem(leaf, middle, top))
            file.flush()
            call_command("certify_signing_key", kid, chain=[file.name], stdout=StringIO())
        call_command("rotate_signing_keys", stdout=StringIO())

    def register(self, name: str, *uris: str, response: bool = False, **options: Any) -> Party:
        """A relying party by the command that scripts use."""
        key, host = new_key(), name.lower().replace(" ", "-")
        jwk = random_values.jwk(key)
        signing = random_values.in_order({"kid": "one", "alg": "ES256", "use": "sig", **jwk})
        encryption = random_values.in_order({"kid": "enc", "alg": "ECDH-ES", "use": "enc", **jwk})
        response_uri = (
            f"{self.party_server.origin}/{host}/answers"
            if self.sandbox
            else f"https://{host}.example/answers"
        )
        options |= {"response_uri": [response_uri]} if response else {}
        if response and self.sandbox:
            options["request_uri_prefix"] = f"{self.party_server.origin}/{host}/requests/"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"keys": [signing, encryption]}, file)
            file.flush()
            redirect_uris = [
                f"https://{host}.example/callback",
                f"https://{host}.example/other?lang=en",
                *uris,
            ]
            printed = StringIO()
            options = {"redirect_uri": redirect_uris, "scope": [BASIC], "jwks": file.name} | options
            call_command("register_relying_party", *_words({"name": name, **options}), stdout=printed)
        client_id = json.loads(printed.getvalue())["client_id"]
        numbers = key.private_numbers().private_value.to_bytes(32, "big")
        private = {"kid": "enc", **jwk, "d": _b64url(numbers)}
        masks.decryption_keys.append(private)
        random_values.name(client_id, f"‹client ID of {name}›")
        party = Party(name, client_id, key, self._secret(client_id), response_uri)
        self.parties[name] = party
        return party

    def _secret(self, client_id: str) -> str:
        printed = StringIO()
        call_command("rotate_client_secret", client_id, stdout=printed)
        return str(json.loads(printed.getvalue())["client_secret"])

    def _suspend(self, name: str) -> None:
        rows = self.rows("presentation", "RelyingParty").filter(name=name)
        rows.update(state="suspended", suspension_reason="complaints")

    # --- What scenarios need --------------------------------------------------------------------------------

    def rows(self, label: str, model: str) -> Any:
        """All rows of a model, in a fixed order."""
        return apps.get_model(label, model)._default_manager.order_by("pk")

    def asked(self, party: Party | str, **changes: Any) -> dict[str, Any]:
        """A good authorization request, with parameters changed, added, or (None) left out."""
        party = self[party] if isinstance(party, str) else party
        uri = f"https://{party.name.lower().replace(' ', '-')}.example/callback"
        parameters = {"client_id": party.client_id, "redirect_uri": uri, **AS_ALWAYS} | changes
        if _HOLDER.fullmatch(changes.get("login_hint") or "") and "nonce" not in changes:
            parameters["nonce"] = f"n-of-{changes['login_hint']}"  # nobody uses up the nonce of another
        return {name: value for name, value in parameters.items() if value is not None}

    def posted(self, party: str, **changes: Any) -> dict[str, Any]:
        """The same, to be answered by direct_post."""
        where = {
            "redirect_uri": None,
            "response_mode": "direct_post",
            "response_uri": self[party].response_uri,
        }
        return self.asked(party, **(where | changes))

    def token(self, browser: Any, party: str, scope: str = "") -> dict[str, str]:
        """The header with an access token of a relying party."""
        with browser.quietly():
            form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
            reply = browser.submit(TOKEN, form, **self[party].basic)
        return {"Authorization": "Bearer " + json.loads(reply.body)["access_token"]}

    def name_certificates(self, key_set: bytes) -> None:
        """From now on the record has names for these certificates, in the place of their content."""
        for number, key in enumerate(json.loads(key_set)["keys"]):
            for place, text in enumerate(key["x5c"]):
                name = f"‹certificate {place + 1} of key {number + 1} in the key set›"
                masks.certificates.setdefault(b64decode(text), name)  # keys share authorities

    def usual_headers(self) -> dict[str, str]:
        """What most pages have in common, taken from the front page."""
        from tests.recorded.exchanges import USUAL
        from tests.recorded.recorder import Recorder

        browser = Recorder(self, usual={}, reached=Counter()).browser()
        with browser.quietly():
            headers = dict(browser.get("/").headers)
        return {name: headers[name] for name in USUAL if name in headers}

    def metrics(self) -> str:
        """What a monitoring system reads now."""
        from tests.recorded.recorder import Recorder

        browser = Recorder(self, usual={}, reached=Counter()).browser()
        with browser.quietly():
            return browser.get("/metrics", Authorization=f"Bearer {'metrics' * 6}").text

    def messages(self) -> list[Any]:
        """The e-mails since the last time; the sandbox shows its own on a page instead."""
        sent = list(getattr(mail, "outbox", []))
        if sent:
            self.last_email = sent[-1].body
            mail.outbox.clear()
        return sent

    def code(self, page: Reply) -> str:
        """The sign-in code: the sandbox's page shows it, production sends it."""
        text = page.text if self.sandbox else self.last_email
        found = CODE.search(text)
        assert found, (page.status, page.path)
        return found[1]

    def link(self, browser: Any) -> str:
        """The path of the newest sign-in link: the sandbox keeps it in the mailbox, production sends it."""
        text = self.last_email if not self.sandbox else ""
        if self.sandbox:
            with browser.quietly():
                text = browser.get("/sandbox/mailbox/").text
        return re.findall(r"/wallet/link/[\w-]+/", text)[0]

    def wrong_code(self, code: str) -> str:
        """Another than this one."""
        wrong = f"{(int(code) + 1) % 1_000_000:06}"
        random_values.name(wrong, "‹wrong code›")
        return wrong

    def route(self, wire: Wire, reply: Reply) -> str:
        """The pattern of the URLconf that a request belongs to, without names, and what came of it."""
        path = reply.path or wire.target.partition("?")[0]
        ending = f"{wire.method} {'refused' if reply.refused else reply.status}"
        if path.startswith("/static/"):
            return f"/static/ {ending}"
        with suppress(Resolver404):
            return f"/{nameless(resolve(path).route)} {ending}"
        return f"(nowhere) {ending}"


def routes() -> list[str]:
    """Every pattern of the URLconf, without the names in it."""

    def walk(patterns: Any, before: str) -> Any:
        for pattern in patterns:
            route = before + str(pattern.pattern)
            if hasattr(pattern, "url_patterns"):
                yield from walk(pattern.url_patterns, route)
            else:
                yield nameless(route)

    return sorted(set(walk(get_resolver().url_patterns, "/")))


def nameless(route: str) -> str:
    """A pattern without the names of its parameters, which belong to the code."""
    return _PARAMETER.sub("<>", route).replace("^", "").replace("$", "")


def _words(options: dict[str, Any]) -> list[str]:
    """Options as a shell has them; of a list, each."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list) else [value]:
            words.append(option if each is True else f"{option}={each}")
    return words


def _b64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()
