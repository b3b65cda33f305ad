"""The models of wallets, sign-in, passkeys, identity verifications, credentials and status lists."""

from wallet.models.addresses import EmailChange, FormerAddress, Recovery, StopLink
from wallet.models.closures import WalletClosure
from wallet.models.holders import (
    HolderSession,
    KnownBrowser,
    LoginCode,
    LoginLink,
    RedirectTask,
    Subject,
    Wallet,
)
from wallet.models.identity import (
    Credential,
    IdentityEvidence,
    IdentityMark,
    IdentityVerification,
    IdentityVerificationTransition,
    Picture,
)
from wallet.models.passkeys import Passkey, PasskeyChallenge
from wallet.models.status import StatusEntry, StatusEvent, StatusList
