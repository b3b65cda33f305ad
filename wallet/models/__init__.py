"""The models of wallets, sign-in, identity verifications, credentials and status lists."""

from wallet.models.holders import Errand, HolderSession, KnownBrowser, LoginCode, LoginLink, Wallet
from wallet.models.identity import Credential, IdentityVerification, IdentityVerificationTransition
from wallet.models.status import StatusEntry, StatusEvent, StatusList

__all__ = [
    "Credential",
    "Errand",
    "HolderSession",
    "IdentityVerification",
    "IdentityVerificationTransition",
    "KnownBrowser",
    "LoginCode",
    "LoginLink",
    "StatusEntry",
    "StatusEvent",
    "StatusList",
    "Wallet",
]
