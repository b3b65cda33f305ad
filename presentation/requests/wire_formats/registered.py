"""The wire format of a registered relying party."""

from presentation.models import RelyingParty
from presentation.requests.wire_formats.openid4vp import Contract, OpenID4VP
from presentation.requests.wire_formats.openid_connect import OpenIDConnect
from presentation.requests.wire_formats.wire_format import WireFormat

_FORMATS: dict[str, WireFormat] = {
    RelyingParty.WireFormat.STRING: Contract(),
    RelyingParty.WireFormat.OPENID4VP_1_0: OpenID4VP(),
    RelyingParty.WireFormat.OPENID_CONNECT: OpenIDConnect(),
}


def wire_format_of(party: RelyingParty) -> WireFormat:
    """How this relying party's requests are read and answered."""
    return _FORMATS[party.wire_format]
