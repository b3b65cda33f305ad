"""The `vp_token` parameter: the SD-JWT VC itself (the contract), or a JSON object (OpenID4VP 1.0 §8.1)."""

import json
from collections.abc import Sequence

from django.conf import settings

from presentation.models import RelyingParty


def answer_with(
    presentation: str, *, query_ids: Sequence[str], wire_format: RelyingParty.WireFormat
) -> dict[str, str]:
    """The parameters that carry one presentation home, `state` aside.

    `query_ids` are the credential queries it answers: several scopes may name the same credential, and
    then one presentation stands under each id.
    """
    if wire_format == RelyingParty.WireFormat.STRING:
        return {"vp_token": presentation}
    by_query = {query_id: [presentation] for query_id in query_ids}
    return {"vp_token": json.dumps(by_query, separators=(",", ":")), **issuer(wire_format)}


def issuer(wire_format: RelyingParty.WireFormat) -> dict[str, str]:
    """`iss` (RFC 9207) where the wire format has it, for answers and errors alike."""
    return {} if wire_format == RelyingParty.WireFormat.STRING else {"iss": settings.BASE_URL}
