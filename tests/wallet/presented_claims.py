"""The claims that a wallet would present."""

from django.utils import timezone

from wallet.credential import credentials
from wallet.models import Wallet


def first_claims(wallet, *paths):
    """The values of these claims of the wallet, as the consent page would show them."""
    wallet = Wallet.objects.select_related("credential").get(id=wallet.id)
    credential = credentials.valid_credential(wallet, now=timezone.now())
    assert credential is not None
    shown = credentials.preview(credential, list(paths), today=timezone.localdate())
    return [str(claim.value) for claim in shown]
