"""Requests that were made and answered in the past."""

from datetime import datetime, timedelta

from presentation.models import Interaction, RelyingParty


def requests_of(
    party: RelyingParty, at: datetime, *, token: int = 0, declined: int = 0, failed: int = 0, left: int = 0
) -> None:
    """Requests made at this moment, with these outcomes."""
    ends = (
        [("token", "")] * token
        + [("error", "access_denied")] * declined
        + [("error", "server_error")] * failed
        + [("", "")] * left
    )
    Interaction.objects.bulk_create(
        Interaction(
            relying_party=party,
            redirect_uri="https://bank.example/callback",
            parameters={},
            nonce_digest=f"{party.pk} {at} {number} {Interaction.objects.count()}",
            outcome=outcome,
            error=error,
            created_at=at,
            expires_at=at + timedelta(minutes=30),
            answered_at=at if outcome else None,
        )
        for number, (outcome, error) in enumerate(ends)
    )
