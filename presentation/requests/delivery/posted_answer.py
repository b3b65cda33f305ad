"""An answer as it is posted, and what the relying party says to it (OpenID4VP 1.0 §8.2, §8.3). Pure."""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlencode

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.requests.encryption import Recipient

CONTENT_TYPE = "application/x-www-form-urlencoded"
LONGEST_ONWARD = 2048
_URI = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")  # RFC 3986 §2: no space, no control character


def form(answer: Mapping[str, str], state: str | None, recipient: Recipient | None) -> bytes:
    """The body to post. Only a token is encrypted: whoever cannot decrypt still learns of an error (§8.3).

    Inside, `vp_token` is an object where it is one; `iss` says nothing there, the key was for us alone.
    """
    fields = dict(answer) | ({} if state is None else {"state": state})
    if recipient and "vp_token" in fields:
        members: dict[str, object] = {name: value for name, value in fields.items() if name != "iss"}
        if fields["vp_token"].startswith("{"):
            members["vp_token"] = strict_json.loads(fields["vp_token"])
        fields = {"response": recipient.encrypt(members)}
    return urlencode(fields, quote_via=quote, safe="").encode()


def onward(content_type: str, body: bytes, is_registrable: Callable[[str], bool]) -> str | None:
    """The `redirect_uri` of the relying party's answer; None when there is none that may be followed.

    is_registrable: whether such an address, without its fragment, may be one of this relying party's.
    """
    if content_type != "application/json":
        return None
    try:
        said = strict_json.loads(body.decode())
    except (StrictJsonError, UnicodeDecodeError):
        return None
    uri = said.get("redirect_uri") if isinstance(said, dict) else None
    if not isinstance(uri, str) or len(uri) > LONGEST_ONWARD or not _URI.fullmatch(uri):
        return None
    address, _, fragment = uri.partition("#")
    return uri if "#" not in fragment and is_registrable(address) else None
