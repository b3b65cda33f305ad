"""The providers that are configured: loaded in order, refused with one sentence, and found by `check`."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from wallet.credential.evidence import Assurance
from wallet.providers import registry
from wallet.providers.contract import Provider
from wallet.providers.in_person import InPerson

SIMULATED = "sandbox.identity_provider.provider.SimulatedProvider"


class Strong(Provider):
    """Reaches two levels of two frameworks."""

    label, needs, takes = "Strong", "Nothing.", "No time."
    assurances = (Assurance("eidas", "high"), Assurance("nist", "ial3"))


STRONG = f"{__name__}.Strong"


def test_providers_are_offered_in_their_order_by_type_or_name(settings):
    settings.IDENTITY_PROVIDERS = {"second": {"type": SIMULATED}, "in_person": {}, "a": {"type": "in_person"}}
    offered = registry.offered()
    assert list(offered) == ["second", "in_person", "a"]
    assert isinstance(offered["in_person"], InPerson)
    assert offered["a"].name == "a"
    assert registry.by_name("second") is offered["second"]
    assert registry.by_name("unknown") is None


def test_an_operator_s_own_check_claims_the_operator_s_own_framework(settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    [assurance] = registry.offered()["in_person"].assurances
    assert assurance == Assurance(f"{settings.BASE_URL}/assurance", "in_person")


@pytest.mark.parametrize(
    ("demand", "names"),
    [
        ((), ["in_person", "strong"]),
        ((Assurance("eidas", "high"),), ["strong"]),
        ((Assurance("eidas", "low"), Assurance("nist", "ial3")), ["strong"]),
        ((Assurance("nist", "high"),), []),  # the word of one framework says nothing in another
        ((Assurance("eidas", ""),), []),
    ],
)
def test_only_providers_that_reach_what_is_demanded_are_offered(settings, demand, names):
    settings.IDENTITY_PROVIDERS = {"in_person": {}, "strong": {"type": STRONG}}
    assert list(registry.reaching(demand)) == names


def test_only_providers_that_are_set_to_verify_the_details_are_offered(settings):
    settings.IDENTITY_PROVIDERS = {
        "all": {"type": "in_person", "details": "address, document place_of_birth"},
        "one": {"type": "from_afar", "details": "address"},
        "strong": {"type": STRONG},
    }
    assert list(registry.reaching((), ["address"])) == ["all", "one"]
    assert list(registry.reaching((), ["address", "document"])) == ["all"]
    assert list(registry.reaching((Assurance("eidas", "high"),), ["address"])) == []
    assert list(registry.reaching((), [])) == ["all", "one", "strong"]
    assert registry.load("in_person", {}, own_framework="https://id.example/a").details == frozenset()


@pytest.mark.parametrize(
    ("configured", "sentence"),
    [
        ({"in_person": {"details": "address e-mail"}}, "in_person.details must be some of address, place"),
        ({"strong": {"type": STRONG, "details": "address"}}, "details: this provider has no such option"),
        ({"nobody": {}}, "nobody.type is neither one of"),
        ({"a": {"type": "no.such.Module"}}, "No module named 'no'"),
        ({"a": {"type": "wallet.credential.evidence.Evidence"}}, "a.type is not a class derived from"),
        ({"a": {"type": "wallet.credential.evidence.METHODS"}}, "a.type is not a class derived from"),
        ({"in_person": {"plaze": "secret-value"}}, "in_person.plaze: this provider has no such"),
        ({"in_person": {"assurance": "a b c"}}, "in_person.assurance must be a trust framework"),
    ],
)
def test_check_refuses_what_would_fail_a_person_later(db, settings, configured, sentence):
    settings.IDENTITY_PROVIDERS = configured
    with pytest.raises(SystemCheckError, match=sentence) as refused:
        call_command("check", stdout=StringIO(), stderr=StringIO())
    assert "wallet.E001" in str(refused.value)
    assert "secret-value" not in str(refused.value)


def test_check_passes_what_is_right(db, settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {"place": "12 Main Street"}, "strong": {"type": STRONG}}
    call_command("check", stdout=StringIO(), stderr=StringIO())
