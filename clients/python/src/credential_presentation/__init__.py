"""Request verified claims from a person's wallet, and verify the answer.

wallet = Wallet("https://wallet.example", "client-id", "https://shop.example/callback", root=pem)
url, pending = wallet.request(scope="basic", login_hint="alice@example.org")
result = wallet.finish(pending, posted_fields)
result.claims["given_name"]
"""

from credential_presentation.archive import Archived, verify_archive
from credential_presentation.asynchronous import AsyncWallet, from_async
from credential_presentation.errors import Denied, Rejected, Unavailable
from credential_presentation.transport import Fetch, Request, Response, Transport
from credential_presentation.verification import Pending
from credential_presentation.wallet import CALLBACK, Result, Wallet, read_webhook, state_of

__all__ = ["CALLBACK", "Archived", "Denied", "Pending", "Rejected", "Result", "Unavailable", "Wallet"]
__all__ += ["AsyncWallet", "from_async"]
__all__ += ["Fetch", "Request", "Response", "Transport", "read_webhook", "state_of", "verify_archive"]
