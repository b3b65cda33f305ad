"""docs/emergencies.md: each entry has all that somebody needs at night, and its commands can be given so."""

import re
import shlex
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from cryptography import x509
from django.core.management import call_command, get_commands, load_command_class
from django.utils import timezone

from infra.alarms.alarm import State
from infra.outbound.calls import Response
from keys import issuer_key
from keys.endpoints import key_set
from keys.models import SigningKey
from keys.statements import StatementError
from presentation import diagnosis
from tests.keys.chains import chain_for
from tests.own_databases import ROOT

PAGE = (ROOT / "docs" / "emergencies.md").read_text()
ENTRIES = {
    entry.partition("\n")[0].removeprefix("## "): entry
    for entry in re.split(r"^(?=## )", PAGE, flags=re.M)[1:]
}
PARTS = ["**It is this if**", "**Do**", "**Takes**", "**Tell**", "**Drill**"]
EXPECTED = [
    *("SECRET_KEY", "database", "signing key", "laptop", "audit record", "not me", "court", "lied"),
    *("is away", "another domain", "ends"),
]
COMMANDS = re.findall(r"^# (?:BASE_URL=\S+ )?(manage\.py .*?)(?: > \S+)?$", PAGE, re.M)
NEW = "https://new.example"


def test_the_page_has_an_entry_for_each_emergency() -> None:
    assert [word for word in EXPECTED if not any(word in name for name in ENTRIES)] == []
    assert len(ENTRIES) == len(EXPECTED)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_an_entry_has_every_part_in_order(entry: str) -> None:
    places = [entry.find(part) for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.django_db
def test_on_another_domain_a_key_signs_with_a_chain_that_names_the_domain(
    signing_key: SigningKey, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    settings.BASE_URL = NEW
    issuer_key.forget()
    answered = lambda url, accept: Response(200, "application/json", key_set())  # noqa: E731
    monkeypatch.setattr(diagnosis, "outbound", SimpleNamespace(get=answered))
    with pytest.raises(StatementError):
        diagnosis.presentation(timezone.now())

    out = StringIO()
    call_command("signing_key_csr", str(signing_key.pk), stdout=out)
    request = x509.load_pem_x509_csr(out.getvalue().encode())
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["new.example"]
    chain = tmp_path / "chain.pem"
    chain.write_text(chain_for(signing_key, timezone.now()))
    call_command("certify_signing_key", str(signing_key.pk), "--chain", str(chain), stdout=StringIO())

    assert diagnosis.presentation(timezone.now())[0] == State.OK


@pytest.mark.parametrize("line", sorted(set(COMMANDS)))
def test_a_command_can_be_given_as_it_is_printed(line: str) -> None:
    filled = line.replace("<kid>", str(uuid4())).replace("<id>", str(uuid4()))
    filled = filled.replace("<user name>", "olga").replace("<name>", "provider")
    _manage, name, *words = shlex.split(filled)
    command = load_command_class(get_commands()[name], name)

    command.create_parser("manage.py", name).parse_args(words)
