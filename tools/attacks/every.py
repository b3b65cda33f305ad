"""The attacks. Each sends requests that would break a promise, and says of each whether it was refused."""

import base64
import hashlib
import inspect
import json
import re
import secrets
import select
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg

from tests.relying_party import (
    AUTHORIZE_PATH,
    RejectedError,
    RelyingParty,
    read_jwt,
    status_reference,
    take_apart,
)
from tools.attacks.site import Question, Reply, Site, Visitor
from tools.benchmarks.sites import ROOT

Tries = Iterator[tuple[str, bool]]  # what was tried, and whether it was refused
IDENTITY = "urn:service:params:scope:verifiable-credentials:identity"
FORM = "application/x-www-form-urlencoded"
PRESENTATION = AUTHORIZE_PATH.rpartition("/")[0]
DOCUMENTS = """/.well-known/openid-configuration /.well-known/jwt-vc-issuer /openid-connect/jwks
/trust/root.pem /credential-types/identity/v1 /statements/jwks /status-lists"""
NEARLY_REGISTERED = """{0}/ {0}?x=1 {0}#x {0}%2e {0}%0d%0aLocation:%20//evil.example {0}/../callback
//{1}/callback https://{1}:443/callback https://{1}.evil.example/callback http://{1}/callback
https://evil.example@{1}/callback https://{1}\\@evil.example/callback https://evil.example/
javascript:alert(1) http://127.0.0.1:1/callback"""
PARAMETERS = "nonce state scope client_id redirect_uri request login_hint request_uri"
FIELDS = "nonce client_id claims dcql_query transaction_data request_hash"
CODE_FLOW = {"response_type": "code", "scope": "openid profile"}
OF_EVERY_ANSWER = "iss iat exp acr amr auth_time given_name family_name token_type expires_in scope"
NOBODY = "00000000-0000-0000-0000-000000000000"
EXCHANGE = """
UPDATE wallet_credential c SET sealed_identity = o.sealed_identity
FROM wallet_credential o, wallet_wallet w, wallet_wallet v
WHERE w.id = c.wallet_id AND v.id = o.wallet_id AND w.email <> v.email AND w.email = ANY(%(both)s)
  AND v.email = ANY(%(both)s)"""


def unregistered_addresses(site: Site) -> Tries:
    """Asks for an answer at an address that differs from the registered one."""
    party, (email, visitor) = site.party(), site.holder(0)
    known = party.redirect_uri
    wrong = NEARLY_REGISTERED.format(known, known.split("/")[2]).split()
    changes: list[dict[str, Any]] = [{"client_id": "x"}, {"redirect_uri": [known, "https://evil.example/"]}]
    for address in [
        *wrong,
        known.upper(),
        known[:-1],
        f" {known}",
        f"{known}\r\nLocation: //evil.example",
        "",
    ]:
        changes += [{"redirect_uri": address}, {"redirect_uri": address, "scope": "unknown"}]
        changes += [{"redirect_uri": None, "response_mode": "direct_post", "response_uri": address}]
        changes += [{"request_uri": address}] if address else []
    for change in changes:
        reply = visitor.get(site.address(party, email, **change))
        yield str(change), reply.status == 400 and not reply.location


def answered_again(site: Site) -> Tries:
    """Sends one decision eight times at once, and then the same request and its nonce again."""
    asked = site.question(0)
    copies = [replace(asked, visitor=site.visitor(asked.visitor.cookies)) for _ in range(8)]
    with ThreadPoolExecutor(len(copies)) as threads:
        given = sum(reply.gives for reply in threads.map(Question.decide, copies))
    yield from ((f"decision {number} at once", number > given) for number in range(2, 9))
    yield "one of the decisions has to be answered", given == 1
    yield "the decision again", not asked.decide().gives
    for email, visitor in (site.holder(0), site.holder(1)):
        reply = visitor.get(site.address(asked.party, email, nonce=asked.party.sent["nonce"]))
        yield "its nonce again", "error=" in reply.location and not reply.gives


def changed_after_the_page(site: Site) -> Tries:
    """Changes the request after its page was shown; the answer has to be what the page showed."""
    changes = {"scope": IDENTITY, "redirect_uri": "https://evil.example/", "state": "another"}
    changes |= dict.fromkeys(FIELDS.split(), "x" * 32)
    for number, (name, value) in enumerate(changes.items()):
        asked = site.question(1)
        yield f"{name} beside the decision", _as_shown(site, asked, asked.decide(**{name: value}))
        if number < 3:
            asked, sent = (again := site.question(1)), again.party.sent
            asked.visitor.get(asked.party.authorize_url(**sent | {name: value}).removeprefix(site.origin))
            asked.party.sent = sent
            yield f"the same nonce with another {name} in another tab", _as_shown(site, asked, asked.decide())


def _as_shown(site: Site, asked: Question, reply: Reply) -> bool:
    """Whether an independent relying party finds exactly what it asked for, or there is no answer."""
    asked.party.fetch = lambda url: site.visitor().get(url.removeprefix(site.origin)).text.encode()
    try:
        return not reply.gives or bool(asked.party.verify(asked.party.read(reply.location)))
    except RejectedError:
        return False


def unselected_claims(site: Site) -> Tries:
    """Has claims disclosed that the holder did not select, or that the relying party may not ask for."""
    for names in (["birth_date"], ["given_name", "family_name"], ["given_name"] * 2, [""], ["x" * 5000]):
        reply = site.question(2).decide(optional=names)
        yield f"optional={names}"[:60], reply.status == 400 and not reply.gives
    reply = site.question(2).decide("decline", optional=["given_name"])
    yield "declined, with a claim switched on", "access_denied" in reply.location and not reply.gives
    email, visitor = site.holder(2)
    for claim in ("birth_date", "address", "pairwise_subject", "email", ""):
        change = _query(site, claim) if claim else {"scope": IDENTITY}
        reply = visitor.get(site.address(site.party("other"), email, **change))
        yield f"{change}, which is not allowed", "error=" in reply.location and not reply.gives
    nothing = site.question(2, site.party("other"), **_query(site)).decide()
    yield "a query for no claim", nothing.gives and _disclosed(nothing) == "[]"


def _query(site: Site, *claims: str, **more: Any) -> dict[str, Any]:
    """The changes that make a request ask for these claims."""
    kind = {"vct_values": [f"{site.origin}/credential-types/identity/v1"]}
    query = {"id": "q", "format": "dc+sd-jwt", "meta": kind}
    query |= {"claims": [{"path": [claim], **more} for claim in claims]} if claims else {}
    return {"scope": None, "dcql_query": json.dumps({"credentials": [query]})}


def _disclosed(reply: Reply) -> str:
    """The names and values in the disclosures of an answer, without their salts."""
    found = re.search(r"vp_token=([^&]+)", reply.location)
    parts = found[1].replace("%7E", "~").split("~")[1:-1] if found else []
    return str([json.loads(base64.urlsafe_b64decode(part + "=="))[1:] for part in parts])


def another_browser(site: Site) -> Tries:
    """Opens and answers the request of one browser in others."""
    asked = site.question(3)
    half = {name: value for name, value in asked.visitor.cookies.items() if "browser" not in name}
    others = {"no cookies": site.visitor(), "another holder": site.holder(4)[1], "half": site.visitor(half)}
    for who, visitor in others.items():
        for path in (asked.own_address, asked.action, f"{asked.action}leave/", f"{asked.action}delivery/"):
            reply = visitor.get(path)
            shown = "error=" in reply.location or (who != "half" and 'id="decision"' in reply.text)
            yield f"{path} with {who}", not reply.gives and not shown
        reply = replace(asked, visitor=visitor).decide()
        yield f"the decision with {who}", reply.status >= 400 and not reply.gives
    form = {"decision": "share", "page": asked.own_address}
    silent = asked.visitor.ask("POST", asked.action, urlencode(form), Content_Type=FORM)
    yield "a form of which the browser says nothing", silent.status == 403
    for said in ("cross-site", "same-site", "none", "same-origin, same-origin", ""):
        reply = asked.visitor.post(asked.action, form, Sec_Fetch_Site=said)  # with our own origin
        yield f"a form that is {said}", reply.status == 403
    for origin in ("https://evil.example", "null", site.origin.rpartition(":")[0]):
        reply = asked.visitor.ask("POST", asked.action, urlencode(form), Content_Type=FORM, Origin=origin)
        yield f"a form of {origin}", reply.status == 403
    yield "its own browser has to be answered", asked.decide().gives


def secrets_in_logs(site: Site) -> Tries:
    """Sends secret values wherever a request has room, and looks for them in error pages and logs."""
    secret = "S3cret" + site.party().client_id
    visitor = site.visitor({"__Host-holder": secret, "other": secret})
    said = {"Authorization": f"Bearer {secret}", "Referer": f"https://x/{secret}", "User_Agent": secret}
    paths = ("/nowhere?", "/wallet/link/", "/wallet/?")
    replies = {path: visitor.get(path + secret, **said) for path in paths}
    for name in PARAMETERS.split():
        replies[name] = visitor.get(site.address(site.party(), "x@x.example", **{name: secret}))
    for path in ("/oauth/v2/token", f"{PRESENTATION}/par", "/wallet/sign-in/"):
        for body in (f"client_secret={secret}&code={secret}", f'{{"{secret}', secret * 2000):
            replies[f"{path} {body[:9]}"] = visitor.ask("POST", path, body, Content_Type=FORM, **said)
    for where, reply in replies.items():  # the form that changes the language has the address of its own page
        text = re.sub('<input type="hidden" name="next"[^>]*>', "", reply.text)
        yield f"a page repeats a secret in {where}", secret not in text
    time.sleep(1)
    files = [path for path in site.where.place.folder.rglob("*") if "log" in path.name and path.is_file()]
    written = [line for path in files for line in path.read_text(errors="replace").splitlines()]
    yield "the logs have to name requests", any("GET /wallet/" in line for line in written)
    for mark in {secret, site.facts["secret"], *site.marks} - {"x@x.example"}:
        found = next((line.replace(mark, "(secret)") for line in written if mark in line), "")
        yield re.sub('.*"event":("[^"]*").*', r"a log says \1", found), not found


def database_away(site: Site) -> Tries:
    """Kills the database; then asks for the published documents with whatever might pass by a cache."""
    cluster, (email, holder), paths = site.where.place.cluster, site.holder(0), DOCUMENTS.split()
    with ThreadPoolExecutor(8) as threads:  # until each process has served each document
        list(threads.map(lambda path: site.visitor().get(path), paths * 40))
    cluster.kill()
    try:
        yield "a page has to notice it", holder.get(site.address(site.party(), email)).status == 503
        for number, path in enumerate(paths * 4):
            reply = site.visitor().get(f"{path}?x={number}", Cache_Control="no-cache", Pragma="no-cache")
            yield f"{path} while the database is away", reply.status == 200
    finally:
        cluster.start()
    while holder.get(site.address(site.party(), email)).status >= 500:
        time.sleep(0.2)


def sandbox_addresses(site: Site) -> Tries:
    """Looks for the sandbox in production at every one of its addresses."""
    text = (ROOT / "sandbox" / "urls.py").read_text().replace("{OWN}", "sandbox/relying-parties")
    for path in re.findall(r'path\(\s*f?"([^"]+)"', text):
        path = re.sub("<[^>]+>", "x", path.replace("<uuid:verification_id>", NOBODY))
        yield f"GET /{path}", site.visitor().get(f"/{path}").status == 404
        yield f"POST /{path}", site.visitor().post(f"/{path}", {"email": "a@b.example"}).status in (403, 404)


def forged_hosts(site: Site) -> Tries:
    """Makes documents, redirects and tokens name another issuer."""
    host = site.origin.removeprefix("https://").partition(":")[0]
    names = ("evil.example", f"{host}.evil.example", f"{host}@evil.example", f"{host}:1", "[::1]")
    forged = [{"Host": name} for name in names] + [{"X_Forwarded_Host": "evil.example"}]
    forged += [{"X_Forwarded_Proto": "http"}, {"Forwarded": "host=evil.example", "X_Original_URL": "/evil"}]
    email, holder = site.holder(5)
    for headers in forged:
        for path in [*DOCUMENTS.split(), "/wallet/"]:
            reply = site.visitor().get(path, **headers)
            named = re.findall(r'"issuer": ?"([^"]*)"', reply.text)
            yield f"{path} with {headers}", "evil" not in f"{reply}" and set(named) <= {site.origin}
        reply = holder.get(site.address(site.party(), email, scope="unknown"), **headers)
        right = reply.status == 400 or f"iss={quote(site.origin, safe='')}" in reply.location
        yield f"a redirect with {headers}", right and "evil" not in reply.location


def no_agreement(site: Site) -> Tries:
    """Has claims disclosed without the holder's yes on a page that showed them."""
    asked, declined, (email, visitor) = site.question(6), site.question(6), site.holder(6)
    for path in (asked.action, asked.own_address, f"{asked.action}leave"):
        for method in ("GET", "HEAD"):
            yield f"{method} {path}", not asked.visitor.ask(method, f"{path}?decision=share").gives
    for decision in ("", "yes", "granted", "SHARE", "share\0", "code"):
        yield f"decision={decision!r}", not site.question(6).decide(decision).gives
    for prompt in ("none", "consent none", "login"):
        yield f"prompt={prompt}", not visitor.get(site.address(site.party(), email, prompt=prompt)).gives
    prefetched = visitor.get(site.address(site.party(), email), Sec_Purpose="prefetch;prerender")
    yield "a page that is only prefetched", prefetched.status == 503
    declined.decide("decline")
    yield "yes after no", not declined.decide().gives
    yield "a frame", "frame-ancestors 'none'" in asked.page.headers["content-security-policy"]


def compared_tokens(site: Site) -> Tries:
    """Compares what three relying parties received of one holder, and what one received twice."""
    tokens = [_unique(site.question(7, site.party(name))) for name in ("", "", "other", "recognises")]
    for number, one in enumerate(tokens):
        for other in tokens[:number]:
            yield from ((f"the same {kind} in two tokens", not one[kind] & other[kind]) for kind in one)


def compared_clients(site: Site) -> Tries:
    """Compares ID tokens, UserInfo and answers that two clients of OpenID Connect received of one holder."""
    essential = json.dumps({"id_token": {"auth_time": {"essential": True}, "vp_token": None}})
    for asks in ({}, {"max_age": "20000"}, {"claims": essential}):
        answers = [_collected(site, name, **asks) for name in ("shop", "shop", "library")]
        for number, one in enumerate(answers):
            told = one["ID token"].get("auth_time")
            yield f"the time of the sign-in with {asks}", told % 3600 == 0 if asks else told is None
            for other in answers[:number]:
                for where in one:
                    same = _leaves(one[where]) & _leaves(other[where])
                    yield f"the same {sorted(same)} in two {where}", not same
                tokens = [_parts(answer["answer"]["vp_token"]) for answer in (one, other)]
                yield from ((f"the same {kind}", not tokens[0][kind] & tokens[1][kind]) for kind in tokens[0])
    email, visitor = site.holder(7)
    challenge = {"code_challenge": "x" * 43, "code_challenge_method": "S256", "max_age": "1"}
    short = site.address(site.party("shop"), email, **CODE_FLOW, **challenge)
    page = visitor.get(short)
    yield "a time to the second without a new sign-in", "/wallet/errands/" in page.location


def _collected(site: Site, name: str, **asks: str) -> dict[str, Any]:
    """What a client of OpenID Connect gets: in the ID token, from UserInfo, and beside them."""
    party, verifier = site.party(name), secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asks |= {"code_challenge": challenge, "code_challenge_method": "S256", "state": secrets.token_urlsafe(12)}
    back = site.question(7, party, **CODE_FLOW, **asks).decide()
    answer = dict(parse_qsl(urlsplit(back.location).query))
    form = {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": party.redirect_uri}
    form |= {"code_verifier": verifier, "client_id": party.client_id}
    form |= {"client_secret": site.facts["openid_secrets"][name]}
    tokens = json.loads(site.visitor().post("/oauth/v2/token", form).text)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    told = json.loads(site.visitor().get("/openid-connect/userinfo", **bearer).text)
    id_token = dict(read_jwt(tokens["id_token"]).payload)
    return {"ID token": id_token, "UserInfo": told, "answer": {**tokens, **answer}}


def _leaves(answer: dict[str, Any]) -> set[str]:
    """Its values but those of every holder, those that say when it was collected, and what was shared."""
    other = answer.keys() - {"aud", *OF_EVERY_ANSWER.split()}
    return {str(answer[name]) for name in other}


def silent_requests(site: Site) -> Tries:
    """Sends requests that nobody sees, and looks for a difference between those who are signed in or not."""
    email, holder = site.holder(7)
    half = {name: value for name, value in holder.cookies.items() if "browser" in name}
    silent = {"code_challenge": "x" * 43, "code_challenge_method": "S256", "prompt": "none"}
    for asks in ({}, {"max_age": "0"}, {"max_age": "60"}, {"max_age": "43200"}):
        for hint in (email, "nobody@example.org"):
            path = site.address(site.party("shop"), hint, **CODE_FLOW, **silent, **asks)
            visitors = (site.visitor(), site.visitor(half), site.visitor(holder.cookies))
            replies = [visitor.get(path) for visitor in visitors]
            seen = {
                f"{one.status} {one.location} {one.headers.get('set-cookie')} {one.text}" for one in replies
            }
            yield f"another answer with {asks} and {hint}", len(seen) == 1
            yield "another error", "error=interaction_required" in replies[0].location


def _unique(asked: Question) -> dict[str, set[Any]]:
    """What must differ in any two tokens."""
    return _parts(asked.party.read(asked.decide().location).presentation or "")


def _parts(presentation: str) -> dict[str, set[Any]]:
    jwt, disclosures, binding, _ = take_apart(presentation)
    key, salts = jwt.payload["cnf"]["jwk"], {disclosure.content[0] for disclosure in disclosures}
    found = {"signature": {jwt.signature, binding.signature}, "salt": salts}
    found |= {"holder key": {key["x"], key["y"]}, "place in a status list": {status_reference(jwt.payload)}}
    found |= {"digest": set(jwt.payload["_sd"])}
    return found | {"identifier": {jwt.payload[name] for name in ("jti", "sub") if name in jwt.payload}}


def recognition(site: Site) -> Tries:
    """Gets the number of a holder without permission, without asking, or that of another requester."""
    email, visitor = site.holder(8)
    for claims in (["pairwise_subject"], ["given_name", "pairwise_subject"]):
        reply = visitor.get(site.address(site.party("other"), email, **_query(site, *claims)))
        yield f"{claims} without permission", "error=" in reply.location and not reply.gives
    numbers = []
    for name in ("recognises", "too"):
        plain = site.question(8, site.party(name)).decide()
        yield "sent without being asked for", plain.gives and "pairwise" not in _disclosed(plain)
        asked = site.question(8, site.party(name), **_query(site, "pairwise_subject"))
        yield "not named by the page", "recognis" in asked.page.text
        numbers.append(_disclosed(asked.decide(sector=site.facts["parties"]["recognises"])))
    yield "the number of another requester", numbers[0] != numbers[1] and "pairwise" in numbers[0]


def sign_in(site: Site) -> Tries:
    """Signs in without the mailbox, keeps the holder out, and asks whether a wallet exists."""
    email, home, stranger = site.holder(9)[0], site.visitor(), site.visitor()
    yield "the holder has to get in by the code", _by_code(site, home, email)
    before, plain = len(site.mail.server.envelopes), []
    for address in ("nobody@example.org", email):
        page = stranger.submit("/wallet/sign-in/", email=address).location
        code = _code(site, address, before)  # the page also says whether the e-mail was sent
        time.sleep(0.5)
        plain.append(re.sub(r"[0-9a-f-]{36}|\w{64}|\d+", "", stranger.get(page).text.replace(address, "")))
    yield "the page tells whether there is a wallet", plain[0] == plain[1]
    for guess in range(1, 6):
        wrong = f"{(int(code) + guess) % 10**6:06}"
        yield "a guessed code", stranger.submit(page, code=wrong).status == 422
    stranger.submit(page, code=code)
    yield "the right code after five guesses", "__Host-holder" not in stranger.cookies
    for _ in range(8):
        site.visitor().submit("/wallet/sign-in/", email=email)
    time.sleep(3)  # until their e-mails have arrived
    again = site.visitor({name: value for name, value in home.cookies.items() if "browser" in name})
    yield "the holder has to get in after strangers asked for many codes", _by_code(site, again, email)
    yield "a link that was made up", site.visitor().submit(f"/wallet/link/{'a' * 22}/").status >= 400
    for name in ("__Host-holder", "sessionid"):
        reply = site.visitor({name: "a" * 43}).get("/wallet/security/")
        yield f"a made-up {name}", "sign-in" in reply.location
    forged = '{"id":"AAAA","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}'
    stranger.submit("/wallet/passkeys/sign-in/", passkey=forged, credential=forged)
    yield "a forged passkey", "__Host-holder" not in stranger.cookies


def _by_code(site: Site, visitor: Visitor, email: str) -> bool:
    """Signs in by a code from the mailbox; whether that succeeded."""
    before = len(site.mail.server.envelopes)
    page = visitor.submit("/wallet/sign-in/", email=email).location
    visitor.submit(page, code=_code(site, email, before))
    return visitor.get("/wallet/security/").status == 200


def _code(site: Site, email: str, before: int) -> str:
    """The code in an e-mail that is new; `before`: how many e-mails there were. Empty after a while."""
    for _ in range(150):
        for number, sent in enumerate(site.mail.server.envelopes[before:], before):
            body = site.mail.server.newest(number).get_body(("plain",)) if email in sent.rcpt_tos else None
            if body and (found := re.search(r"\b\d{6}\b", body.get_content())):
                return found[0]
        time.sleep(0.1)
    return ""


def reasons_for_no(site: Site) -> Tries:
    """Looks for a difference between the ways not to share."""
    party, asked = site.party("other"), site.question(10, site.party("other"))
    declined = _but_state(site.question(10, party).decide("decline"))
    gave_up = asked.visitor.get(f"{asked.action}leave/")
    yield "gave up", _but_state(gave_up) == declined and "access_denied" in gave_up.location
    mismatch = _query(site, "given_name", values=["X"])
    yield "has no value that matches", _but_state(_left(site, party, 10, **mismatch)) == declined
    yield "could not be verified", _but_state(_left(site, party, -1)) == declined


def _but_state(reply: Reply) -> tuple[int, str]:
    return reply.status, re.sub("state=[^&]*", "", reply.location)


def _left(site: Site, party: RelyingParty, number: int, **changes: Any) -> Reply:
    """The answer after a holder who cannot be asked has left."""
    email, visitor = site.holder(number)
    reply = visitor.get(site.address(party, email, **changes))
    while reply.location.startswith("/"):
        reply = visitor.get(reply.location)
    link = re.search(r'(?:href|action)="([^"]*/leave/)"', reply.text)
    return visitor.get(link[1]) if link else reply


def database_read(site: Site) -> Tries:
    """Reads the whole database without its keys, and exchanges sealed values between rows."""
    site.question(11).decide()
    (email, visitor), both = site.holder(11), [site.holder(9)[0], site.holder(11)[0]]
    with psycopg.connect(site.where.url, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [connection.execute(f'SELECT t::text FROM "{name}" t').fetchall() for (name,) in tables]
        text = str(rows)
        yield "the database has to have rows", email in text
        for value in ("Fernández", "Zoë Amélie", "1990-02-28", "PRIVATE KEY", site.facts["secret"]):
            yield f"{value[:12]} in the database", value not in text and value.encode().hex() not in text
        exchanged = connection.execute(EXCHANGE, {"both": both}).rowcount
    reply = visitor.get(site.address(site.party(), email))
    yield "the identity of another row", exchanged == 2 and "Zoë" not in reply.text and not reply.gives


def inside_addresses(site: Site) -> Tries:
    """Makes the service call this machine: for keys, signed requests and answers of a relying party."""
    party, port, (email, visitor) = site.party("inside"), site.inside.getsockname()[1], site.holder(0)
    now, who = int(time.time()), {"iss": party.client_id, "sub": party.client_id, "aud": site.origin}
    parts = ({"alg": "ES256", "kid": "k", "typ": "JWT"}, who | {"jti": "j" * 30, "iat": now, "exp": now + 60})
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    form = {"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
    form |= {"grant_type": "client_credentials", "client_assertion": ".".join([*texts, "A" * 86])}
    yield "jwks_uri", visitor.post("/oauth/v2/token", form).status == 401 and not _called(site)
    for name in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "169.254.169.254"):
        visitor.get(site.address(party, email, request_uri=f"https://{name}:{port}/request"))
        yield f"request_uri at {name}", not _called(site)
    for name in ("127.0.0.1", "localhost", "[::1]"):
        sent = {"response_mode": "direct_post", "response_uri": f"https://{name}:{port}/"}
        site.question(0, party, redirect_uri=None, **sent).decide()
        yield f"response_uri at {name}", not _called(site)


def _called(site: Site) -> bool:
    """Whether anything has connected to the server on this machine, within a moment."""
    called = bool(select.select([site.inside], [], [], 0.3)[0])
    if called:
        site.inside.accept()[0].close()
    return called


def malformed(site: Site) -> Tries:
    """Sends malformed input to every parser that a stranger reaches."""
    visitor, known = site.holder(1)[1], site.party().client_id
    junk = ["%00", "%ff%fe", "%ED%A0%80", "%F0%9F%92%A9" * 50, "a" * 7000, "[" * 3000, '{"a":' * 500]
    for name in PARAMETERS.split() + FIELDS.split():
        for value in junk:
            reply = visitor.get(f"{AUTHORIZE_PATH}?client_id={known}&{name}={value}")
            yield f"{name}={value[:12]}", reply.status < 500
    paths = ["/oauth/v2/token", "/receipt-check/", "/wallet/sign-in/", "/admin/login/", "/language/"]
    bodies = (b"\0\xff=%zz&&==&a", b'{"a":1,"a":', b"--x\r\nContent-Disposition: x\r\n\r\n", b"x" * 300_000)
    for path in [*paths, *(f"{PRESENTATION}/{name}" for name in ("par", "verify", "outcome"))]:
        for kind in ("application/json", "multipart/form-data; boundary=x", "a/b; charset=utf-7", "\xff"):
            for body in bodies:
                reply = visitor.ask("POST", path, body, Content_Type=kind, Authorization="Basic ====")
                yield f"{path} as {kind[:20]}", reply.status < 500
    for method in ("PUT", "DELETE", "TRACE", "OPTIONS", "X" * 20, "PATCH"):
        yield method, visitor.ask(method, "/wallet/").status != 500


ATTACKS = {
    name: found
    for name, found in inspect.getmembers(sys.modules[__name__], inspect.isgeneratorfunction)
    if not name.startswith("_")
}
