"""Optional claims in real Chromium: off and on, by keyboard, without JavaScript, on a small dark screen."""

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest

from presentation.models import RelyingParty as Registered
from presentation.models import Scope
from tests.journeys.conftest import Holder
from tests.page_looks import check, picture
from tests.relying_party import Answer, RelyingParty

pytestmark = pytest.mark.browser

URN = "urn:example:scope:person"
REQUIRED, OPTIONAL = (("given_name",),), (("birth_date",), ("nationalities",))


@pytest.fixture
def curious(bank: RelyingParty) -> RelyingParty:
    """Acme Bank asks for a given name and, optionally, for the date of birth and nationality."""
    Scope(
        urn=URN,
        title="Person",
        required_claims=["given_name"],
        optional_claims=["birth_date", "nationalities"],
    ).save()
    Registered.objects.update(allowed_scopes=[URN])
    return bank


def arrives(holder: Any, page: Any) -> Holder:
    person = holder(page=page).is_signed_in().arrives(scope=URN)
    return person.sees("Share these")


def verified(answer: Answer, bank: RelyingParty, *granted: str) -> dict[str, Any]:
    """The claims; fails unless they are the required one and those granted, in values and in disclosures."""
    bank.claims = (*REQUIRED, *((name,) for name in granted))
    claims = bank.verify(answer)
    sent = [json.loads(urlsafe_b64decode(part + "==")) for part in str(answer.presentation).split("~")[1:-1]]
    assert {name for _salt, name, _value in sent} == {"given_name", *granted}
    assert "1990-04-01" in json.dumps(sent) or "birth_date" not in granted
    assert "1990-04-01" not in json.dumps(sent) or "birth_date" in granted
    return claims


def test_only_those_that_are_switched_on_are_in_the_token(
    holder: Any, page: Any, curious: RelyingParty, alice: Any
) -> None:
    person = arrives(holder, page)
    page.get_by_label("Nationality").check()
    page.get_by_label("Date of birth").check()
    page.get_by_label("Nationality").uncheck()

    person.clicks("Share these")

    claims = verified(person.comes_back(), curious, "birth_date")
    assert claims == {"given_name": "Alice", "birth_date": "1990-04-01"}


def test_they_are_switched_on_and_shared_by_keyboard_alone(
    holder: Any, page: Any, curious: RelyingParty, alice: Any
) -> None:
    person = arrives(holder, page)
    page.wait_for_timeout(700)  # the buttons ignore whoever answers before the page was visible
    focused = "document.activeElement"
    for key in ("Space", "Enter"):
        wanted = "value == 'nationalities'" if key == "Space" else "value == 'share'"
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate(f"{focused}.{wanted}"):
                break
        page.keyboard.press(key)

    verified(person.comes_back(), curious, "nationalities")


def test_they_work_without_javascript(holder: Any, browser: Any, curious: RelyingParty, alice: Any) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    person = arrives(holder, page)
    page.get_by_label("Date of birth").check()

    person.clicks("Share these")

    verified(person.comes_back(), curious, "birth_date")
    page.context.close()


def test_the_page_is_for_everybody(holder: Any, page: Any, curious: RelyingParty, alice: Any) -> None:
    arrives(holder, page)
    page.get_by_label("Date of birth").check()
    picture(page, "optional-claims")

    check(page)

    page.set_viewport_size({"width": 320, "height": 640})
    for box in page.get_by_role("checkbox").all():
        target = box.locator("xpath=..").bounding_box()
        assert target
        assert target["height"] >= 44
