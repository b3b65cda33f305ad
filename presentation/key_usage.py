"""Who needs a signing key here, for `keys.rotation.usage`."""

from keys.rotation.usage import CountRelyingParties
from presentation.models import RelyingParty


def _active_relying_parties() -> int:
    return RelyingParty.objects.filter(state=RelyingParty.State.ACTIVE).count()


COUNT_RELYING_PARTIES: CountRelyingParties = _active_relying_parties
