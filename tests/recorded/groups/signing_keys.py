"""Operations on signing keys in the admin; last, because they change what everything is signed with."""

from config.health import readiness
from keys import issuer_key
from tests.recorded import people
from tests.recorded.clock import clock
from tests.recorded.groups.operating import ADMIN, REASON
from tests.recorded.installation import AUTHORIZE
from tests.recorded.recorder import Recorder


def run(recorder: Recorder) -> None:
    """Every operation, and what is answered without a key."""
    service = recorder.service
    where = f"{ADMIN}keys/signingkey/"
    with recorder.scenario("operations on signing keys") as browser:
        people.operator(browser)
        for name in ("stage", "rotate", "nothing"):
            browser.get(f"{where}do/{name}/")
            browser.post(f"{where}do/{name}/", {"reason": "x" * 201})
            browser.follow(browser.post(f"{where}do/{name}/", REASON))
        browser.get(where)
        for row in list(service.rows("keys", "SigningKey").order_by("staged_at")):
            for name in ("certify", "activate", "retire", "withdraw", "nothing"):
                browser.get(f"{where}{row.pk}/do/{name}/")
            browser.post(f"{where}{row.pk}/do/certify/", {"chain": "x"})
            browser.post(f"{where}{row.pk}/do/activate/", {})
            browser.get(f"{where}{row.pk}/change/")
        active = service.rows("keys", "SigningKey").get(state="active")
        browser.post(f"{where}{active.pk}/do/withdraw/", {"reason": ""})
        browser.follow(browser.post(f"{where}{active.pk}/do/withdraw/", REASON))
        browser.get(where)
        browser.get(f"{ADMIN}keys/keyevent/")
        browser.get(f"{ADMIN}wallet/statusevent/")
    with recorder.scenario("without a signing key") as browser:
        service.rows("keys", "SigningKey").filter(state="active").update(
            state="retired", retired_at=clock.now()
        )
        for remembered in (issuer_key, readiness):  # for a second, and this may take less
            remembered.forget()
        browser.get(AUTHORIZE, service.asked("Harbour Bank", login_hint="keyless@example.org"))
        browser.get("/metrics", Authorization=f"Bearer {'metrics' * 6}")
