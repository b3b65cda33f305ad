"""The admin page of interactions: its search uses indexes only, because the table keeps a year of rows."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from presentation.models import Interaction, RelyingParty

LIST = "/admin/presentation/interaction/"


@pytest.mark.parametrize(
    ("term", "found"),
    [("{id}", True), ("acme", True), ("{client_id}", True), ("server_error", True), ("nobody", False)],
)
def test_search_finds_by_id_relying_party_and_error(
    client, acme_bank: RelyingParty, term: str, found: bool
) -> None:
    client.force_login(User.objects.create_superuser("olga", password="a long enough one"))
    now = timezone.now()
    row = Interaction.objects.create(
        relying_party=acme_bank,
        redirect_uri="https://bank.example/callback",
        parameters={},
        outcome=Interaction.Outcome.ERROR,
        error="server_error",
        created_at=now,
        answered_at=now,
        expires_at=now + timedelta(minutes=30),
    )
    query = {"q": term.format(id=row.id, client_id=acme_bank.client_id)}
    page = client.get(LIST, query).content.decode()
    assert (str(row.id) in page.split("result_list")[-1]) is found
