"""Authenticators that Chromium simulates."""

from typing import Any


class Device:
    """A virtual authenticator of a page: one that verifies its user at once."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable", {"enableUI": False})
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        made = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self._id = made["authenticatorId"]

    def _send(self, command: str, **options: Any) -> Any:
        return self._session.send(f"WebAuthn.{command}", {"authenticatorId": self._id, **options})

    def verifies_user(self, yes: bool) -> None:
        self._send("setUserVerified", isUserVerified=yes)

    def passkeys(self) -> list[dict[str, Any]]:
        return list(self._send("getCredentials")["credentials"])

    def forget(self) -> None:
        self._send("clearCredentials")
