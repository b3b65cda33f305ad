"""The `vp_token` parameter: the SD-JWT VC itself (the contract), or a JSON object (OpenID4VP 1.0 §8.1)."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.models import RelyingParty
from wallet.sd_jwt.issuance import SdJwtError


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
    return {"vp_token": json.dumps(by_query, separators=(",", ":")), **issuer()}


def presentation_in(value: str | dict[str, Any]) -> str:
    """The presentation in a `vp_token` of either form, as text or as the object it is; raises SdJwtError.

    Of several under as many queries there is one, which answers them all: that is how they are answered here.
    """
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return value
    try:
        by_query = strict_json.loads(value, deepest=3) if isinstance(value, str) else value
    except StrictJsonError as error:
        raise SdJwtError(f"vp_token {error}") from None
    found = list(by_query.values())
    if not all(isinstance(each, list) and all(isinstance(one, str) for one in each) for each in found):
        raise SdJwtError("vp_token is not an object of lists of presentations")
    different = {presentation for presentations in found for presentation in presentations}
    if len(different) != 1 or not all(len(presentations) == 1 for presentations in found):
        raise SdJwtError("vp_token does not hold one presentation")
    return different.pop()


def issuer() -> dict[str, str]:
    """`iss` (RFC 9207 §2). Encrypted answers and `vp_token`s in the contract's own format go without."""
    return {"iss": settings.BASE_URL}
