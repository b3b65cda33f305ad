"""The admin: signing in, every model's lists and forms, and each operation with its confirmation.

Runs before other groups fill the lists. Operations on signing keys are a group of their own.
"""

from typing import Any

from django.apps import apps

from tests.recorded import people
from tests.recorded.installation import BASIC, EVENTS, OPERATOR, PASSWORD
from tests.recorded.recorder import FORM, Browser, Recorder

ADMIN = "/admin/"
MODELS = (
    ("presentation", "interaction"),
    ("presentation", "webhookevent"),
    ("presentation", "relyingparty"),
    ("presentation", "scope"),
    ("consent", "consent"),
    ("consent", "report"),
    ("wallet", "wallet"),
    ("wallet", "recovery"),
    ("wallet", "walletclosure"),
    ("wallet", "identityverification"),
    ("wallet", "credential"),
    ("wallet", "statusentry"),
    ("wallet", "statusevent"),
    ("keys", "signingkey"),
    ("keys", "statementkey"),
    ("keys", "idtokenkey"),
    ("keys", "authority"),
    ("keys", "keyevent"),
    ("auth", "group"),
    ("auth", "user"),
    ("infra", "auditline"),
    ("infra", "outgoingemail"),
)
NOBODY = "00000000-0000-4000-8000-000000000000"
REASON = {"reason": "Because"}


def run(recorder: Recorder) -> None:
    """Visitors without an account, then operators."""
    _sign_in(recorder)
    _subject(recorder)
    for label, model in MODELS:
        with recorder.scenario(f"the pages of {label} {model}") as browser:
            _pages(people.operator(browser), label, model)
    _strangers(recorder)
    _staff(recorder)
    _relying_parties(recorder)
    _wallets(recorder)
    _users(recorder)
    _support(recorder)


def _sign_in(recorder: Recorder) -> None:
    with recorder.scenario("operators sign in and out") as browser:
        browser.get(ADMIN)
        browser.get(f"{ADMIN}login/")
        browser.post(f"{ADMIN}login/", {"username": OPERATOR, "password": "wrong"})
        browser.post(f"{ADMIN}login/", {"username": "", "password": ""})
        browser.send("POST", f"{ADMIN}login/", "username=x", FORM)
        browser.get(f"{ADMIN}login/?next=//evil.example")
        right = {"username": OPERATOR, "password": PASSWORD}
        browser.follow(browser.post(f"{ADMIN}login/", right | {"next": "//evil.example/"}))
        browser.get(f"{ADMIN}login/")
        for page in (
            "password_change/",
            "password_change/done/",
            "jsi18n/",
            "autocomplete/",
            "nothing/",
            "keys/",
        ):
            browser.get(ADMIN + page)
        for label in ("presentation", "consent", "wallet", "auth", "nothing"):
            browser.get(f"{ADMIN}{label}/")
        browser.post(f"{ADMIN}password_change/", {"old_password": "wrong"})
        browser.get(f"{ADMIN}logout/")
        browser.post(f"{ADMIN}logout/")
        browser.get(ADMIN)


def _subject(recorder: Recorder) -> None:
    """Creates rows to show: a holder, an open attempt, an interaction, a receipt, a user, a group."""
    service = recorder.service
    with recorder.scenario("(somebody to look at)") as browser:
        people.enrolled(browser, "subject@example.org")
        page = people.asked(browser, service.asked("Harbour Bank", login_hint="subject@example.org"))
        with browser.quietly():
            people.decided(browser, page, "share")
        people.asked(browser, service.asked("Harbour Bank", login_hint="subject@example.org", nonce="n" * 20))
        operating = people.operator(recorder.browser())
        with operating.quietly():
            operating.post(f"{ADMIN}auth/group/add/", {"name": "Lookers"})


def newest(recorder: Recorder, label: str, model: str) -> Any:
    """The row that was made last."""
    rows = recorder.service.rows(label, model)
    names = {field.name for field in apps.get_model(label, model)._meta.fields}
    for name in ("created_at", "staged_at", "issued_at", "asked_at", "at"):
        if name in names:
            return rows.order_by(f"-{name}", "-pk").first()
    return rows.last()


def _pages(browser: Browser, label: str, model: str) -> None:
    where = f"{ADMIN}{label}/{model}/"
    for query in ("", "?q=nobody@example.org", "?p=99", "?x__exact=1"):
        browser.get(where + query)
    row = newest(browser.recorder, label, model)
    keys = [str(row.pk) if row else "", NOBODY]
    for key in keys:
        for page in ("change/", "history/", "delete/", ""):
            if key:
                browser.get(f"{where}{key}/{page}")
    browser.get(f"{where}add/")
    browser.post(where, {"action": "delete_selected", "_selected_action": keys[0]})
    browser.post(f"{where}add/", {})
    browser.post(f"{where}{keys[0] or NOBODY}/change/", {})
    browser.post(f"{where}{NOBODY}/delete/", {"post": "yes"})
    browser.send("HEAD", where)


def _strangers(recorder: Recorder) -> None:
    with recorder.scenario("every page of the admin, for a stranger") as browser:
        for label, model in MODELS:
            for page in (
                "",
                "add/",
                f"{NOBODY}/",
                f"{NOBODY}/change/",
                f"{NOBODY}/history/",
                f"{NOBODY}/delete/",
            ):
                browser.get(f"{ADMIN}{label}/{model}/{page}")
        browser.get(f"{ADMIN}wallet/identityverification/{NOBODY}/pictures/{NOBODY}/")
        for page in (
            "second-factor/",
            "second-factor/passkeys/",
            "single-sign-on/",
            "single-sign-on/return/",
        ):
            browser.get(ADMIN + page)
        browser.post(ADMIN + "second-factor/options/", {})
        for page in _operations():
            browser.get(ADMIN + page)
            browser.post(ADMIN + page, REASON)
        people.enrolled(browser, "stranger@example.org")
        browser.get(ADMIN)


def _operations() -> list[str]:
    pages = [f"presentation/relyingparty/{NOBODY}/{name}/" for name in _OF_PARTIES]
    pages += [f"presentation/relyingparty/{NOBODY}/{name}" for name in _PAGES_OF_PARTIES]
    pages += [f"presentation/webhookevent/{NOBODY}/send_again/", "auth/user/1/password/"]
    pages += ["auth/user/1/reset-second-factor/", "support/"]
    pages += [f"infra/outgoingemail/{NOBODY}/do/{name}/" for name in ("send_again", "drop", "nothing")]
    pages += [f"wallet/{model}/{NOBODY}/do/{name}/" for model, names in _OF_WALLETS.items() for name in names]
    for model in ("signingkey", "statementkey", "idtokenkey"):
        pages += [f"keys/{model}/do/{name}/" for name in ("stage", "rotate", "nothing")]
        moves = ("activate", "retire", "withdraw", "nothing")
        pages += [f"keys/{model}/{NOBODY}/do/{name}/" for name in moves]
    return pages


_OF_PARTIES = ("suspend", "reinstate", "secrets", "webhook_secret")
_PAGES_OF_PARTIES = ("preview/", "preview/?language=es", "figures/?days=7")
_OF_WALLETS = {
    "wallet": ("suspend", "reinstate", "nothing"),
    "recovery": ("stop", "nothing"),
    "credential": ("suspend", "reinstate", "revoke"),
    "identityverification": ("approve", "decline"),
    "statusentry": ("suspend", "reinstate", "invalidate", "revoke"),
}


def _staff(recorder: Recorder) -> None:
    """An operator without any permission: every page refuses."""
    service = recorder.service
    apps.get_model("auth", "User").objects.create_user("stan", password=PASSWORD, is_staff=True)
    with recorder.scenario("every page of the admin, for somebody without permissions") as browser:
        with browser.quietly():
            browser.get(f"{ADMIN}login/")
            browser.post(f"{ADMIN}login/", {"username": "stan", "password": PASSWORD})
        browser.get(ADMIN)
        for label, model in MODELS:
            browser.get(f"{ADMIN}{label}/{model}/")
            browser.get(f"{ADMIN}{label}/{model}/add/")
        browser.post(ADMIN + "second-factor/options/", {})
        for page in _operations():
            browser.post(ADMIN + page, REASON)
    for group in service.rows("auth", "Group").order_by("name"):
        with recorder.scenario(f"every list of the admin, for the role {group.name}") as browser:
            user = apps.get_model("auth", "User").objects.create_user(
                f"member-{group.pk}", password=PASSWORD, is_staff=True
            )
            user.groups.add(group)
            with browser.quietly():
                browser.get(f"{ADMIN}login/")
                browser.post(f"{ADMIN}login/", {"username": user.username, "password": PASSWORD})
            browser.get(ADMIN)
            for label, model in MODELS:
                browser.get(f"{ADMIN}{label}/{model}/")


def _relying_parties(recorder: Recorder) -> None:
    service = recorder.service
    where = f"{ADMIN}presentation/relyingparty/"
    good: dict[str, Any] = {
        "name": "Corner Bakery",
        "allowed_scopes": [BASIC],
        "wire_format": "string",
        "redirect_uris-TOTAL_FORMS": "1",
        "redirect_uris-INITIAL_FORMS": "0",
        "redirect_uris-0-uri": "https://bakery.example/callback",
        "response_uris-TOTAL_FORMS": "0",
        "response_uris-INITIAL_FORMS": "0",
        "certified_client_ids-TOTAL_FORMS": "0",
        "certified_client_ids-INITIAL_FORMS": "0",
        "_continue": "1",
    }
    with recorder.scenario("a relying party is registered, changed, and given secrets") as browser:
        people.operator(browser)
        for changes in (
            {"name": ""},
            {"name": "Harbour Bank"},
            {"allowed_scopes": []},
            {"redirect_uris-0-uri": "http://bakery.example/"},
            {"jwks": "{"},
        ):
            browser.post(f"{where}add/", good | changes)
        made = browser.post(f"{where}add/", good)
        own = made.location.removesuffix("change/")
        assert own.startswith(where), made.status
        browser.follow(made)
        uri = service.rows("presentation", "RedirectURI").last()
        inline = {"redirect_uris-INITIAL_FORMS": "1", "redirect_uris-0-id": str(uri.pk)}
        again = good | inline | {"redirect_uris-0-relying_party": str(uri.relying_party_id)}
        hook = {"webhook_url": "https://bakery.example/hook", "webhook_events": list(EVENTS)}
        for changes in ({"webhook_url": "http://bakery.example/"}, hook, {"redirect_uris-0-DELETE": "on"}):
            browser.post(f"{own}change/", again | changes)
        for page in ("secrets/", "webhook_secret/"):
            browser.get(own + page)
            browser.post(own + page, {})
            browser.post(own + page, {"before": "end"})
            browser.post(own + page, {"before": "stay"})
            browser.get(own + page)
        browser.get(f"{own}change/")
        for page in ("reinstate/", "suspend/", "reinstate/"):
            browser.get(own + page)
            browser.post(own + page, {"reason": ""})
            browser.follow(browser.post(own + page, REASON))
        browser.get(f"{own}history/")
        browser.get(f"{own}delete/")
        browser.follow(browser.post(f"{own}delete/", {"post": "yes"}))
        party = service.rows("presentation", "RelyingParty").get(client_id=service["Harbour Bank"].client_id)
        browser.get(f"{where}{party.pk}/delete/")
        browser.post(f"{where}{party.pk}/delete/", {"post": "yes"})
        for page in _PAGES_OF_PARTIES:
            browser.get(f"{where}{party.pk}/{page}")
        browser.get(f"{ADMIN}presentation/webhookevent/{NOBODY}/send_again/")
        if event := newest(recorder, "presentation", "WebhookEvent"):
            again = f"{ADMIN}presentation/webhookevent/{event.pk}/send_again/"
            browser.get(again)
            browser.post(again)


def _wallets(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("(somebody to decide about)") as browser:
        people.enrolled(browser, "decided@example.org")
        page = people.asked(browser, service.asked("Harbour Bank", login_hint="decided@example.org"))
        with browser.quietly():
            people.decided(browser, page, "share")
        for email in ("reviewed@example.org", "reviewed2@example.org"):
            other = recorder.browser()
            with other.quietly():
                page = people.to_identity(other, email)
                provider = other.follow(other.post(f"{page.path}start/"))
                other.follow(other.post(provider.path, {"outcome": "review"}))
                other.get(page.path)
    wallet = service.rows("wallet", "Wallet").get(email="decided@example.org")
    entry = (
        service.rows("wallet", "StatusEntry")
        .order_by("-reference", "-pk")
        .filter(credential=service.rows("wallet", "Credential").get(wallet=wallet))
    )
    subjects = {
        "statusentry": entry.first(),
        "credential": service.rows("wallet", "Credential").get(wallet=wallet),
        "wallet": wallet,
    }
    for model, row in subjects.items():
        with recorder.scenario(f"operations on a {model}") as browser:
            people.operator(browser)
            where = f"{ADMIN}wallet/{model}/{row.pk}/"
            for name in _OF_WALLETS[model]:
                browser.get(f"{where}do/{name}/")
                browser.post(f"{where}do/{name}/", {"reason": ""})
                browser.follow(browser.post(f"{where}do/{name}/", REASON))
            browser.get(f"{where}history/")
    with recorder.scenario("operations on an attempt to verify an identity") as browser:
        people.operator(browser)
        rows = service.rows("wallet", "IdentityVerification").filter(state="review").order_by("created_at")
        approved, declined = list(rows)[-2:]
        where = f"{ADMIN}wallet/identityverification/"
        browser.get(f"{where}{approved.pk}/do/approve/")
        for changes in (
            {"reason": ""},
            {"birth_date": "12/04/1990"},
            {"nationalities": "XX"},
            {"given_name": ""},
        ):
            browser.post(f"{where}{approved.pk}/do/approve/", people.IDENTITY | changes)
        browser.follow(browser.post(f"{where}{approved.pk}/do/approve/", people.IDENTITY))
        browser.get(f"{where}{declined.pk}/do/decline/")
        browser.follow(browser.post(f"{where}{declined.pk}/do/decline/", REASON))
        browser.post(f"{where}{declined.pk}/do/decline/", REASON)


def _users(recorder: Recorder) -> None:
    with recorder.scenario("operators of the admin") as browser:
        people.operator(browser)
        users = f"{ADMIN}auth/user/"
        browser.post(f"{users}add/", {"username": "ulla", "password1": "short", "password2": "short"})
        typed = {
            "usable_password": "true",
            "password1": "long enough, surely",
            "password2": "long enough, surely",
        }
        browser.follow(browser.post(f"{users}add/", {"username": "ulla"} | typed))
        ulla = apps.get_model("auth", "User").objects.get(username="ulla")
        browser.get(f"{users}{ulla.pk}/password/")
        browser.post(f"{users}{ulla.pk}/password/", {"password1": "x", "password2": "y"})
        browser.get(f"{users}{ulla.pk}/change/")
        browser.get(f"{users}{ulla.pk}/reset-second-factor/")
        browser.post(f"{users}{ulla.pk}/reset-second-factor/", {"reason": ""})
        browser.follow(browser.post(f"{users}{ulla.pk}/reset-second-factor/", REASON))
        browser.follow(browser.post(f"{users}{ulla.pk}/delete/", {"post": "yes"}))


def _support(recorder: Recorder) -> None:
    with recorder.scenario("somebody asks for help") as browser:
        people.operator(browser)
        browser.get(f"{ADMIN}support/")
        browser.post(f"{ADMIN}support/", {"term": "", "reason": ""})
        for term in ("nobody@example.org", NOBODY, "decided@example.org"):
            browser.post(f"{ADMIN}support/", {"term": term} | REASON)
