"""The subjects and texts of the notices that `holder_emails` sends to holders. Pure."""

from django.utils.translation import gettext_lazy as _

from infra.words import Words

_ENDS = (
    _("Your verified identity ends on %(day)s"),
    _(
        "Your verified identity is valid until the end of %(day)s. To go on using it, sign in to your "
        "wallet and choose “Renew or change”. Until the new one is approved, the present one stays valid."
    ),
)
# Kind of notice → subject and text.
NOTICES: dict[str, tuple[Words, Words]] = {
    "approved": (
        _("Your identity check: approved"),
        _(
            "Your identity is confirmed. Your wallet is ready: go back to where you wanted to share your "
            "identity and start again there."
        ),
    ),
    # Where the person came from an application.
    "approved_for": (
        _("Your identity check: approved"),
        _(
            "Your identity is confirmed, and your wallet is ready. Go back to %(requester)s and start again "
            "there."
        ),
    ),
    "declined": (
        _("Your identity check: not approved"),
        _(
            "We looked at your identity check and could not confirm your identity. Nothing has changed in "
            "your wallet."
        ),
    ),
    "ask_again": (
        _("Your identity check: please try again"),
        _("We looked at your identity check and need something else from you. Sign in to see what it is."),
    ),
    "ask_again_for": (
        _("Your identity check: please try again"),
        _(
            "We looked at your identity check and need something else from you. Go back to %(requester)s and "
            "start again there: then you see what it is."
        ),
    ),
    "ends_30": _ENDS,
    "ends_7": _ENDS,
    "ended": (
        _("Your verified identity has expired"),
        _(
            "Your verified identity was valid until the end of %(day)s. Nothing can be shared from it any "
            "more, and we will erase your details. To share again, prove who you are again: sign in to your "
            "wallet and choose “Confirm your identity”."
        ),
    ),
    "revoked": (
        _("Your verified identity was revoked"),
        _(
            "The operator of this service has revoked your verified identity. Nothing can be shared from it "
            "any more, what you shared from it lately is not valid any more, and we will erase your details. "
            "To share again, prove who you are again: sign in to your wallet and choose “Confirm your "
            "identity”."
        ),
    ),
    "new_browser": (
        _("A new browser signed in to your wallet"),
        _(
            "%(browser)s signed in to your wallet on %(when)s. If this was you, you need do nothing. If "
            "it was not you, open %(address)s, choose “Sign out everywhere”, and make sure that only you "
            "can read your e-mail."
        ),
    ),
    "passkey_added": (
        _("A passkey was added to your wallet"),
        _(
            "The passkey “%(name)s” was added to your wallet. Anyone who has it can sign in to your wallet. "
            "If it was not you, sign in with a code, open “Sign-in and security” and remove it."
        ),
    ),
    "passkey_removed": (
        _("A passkey was removed from your wallet"),
        _(
            "The passkey “%(name)s” was removed from your wallet. Nobody can sign in with it any more. If it "
            "was not you, sign in with a code, open “Sign-in and security” and sign out other browsers."
        ),
    ),
    "closing": (
        _("Your wallet will be closed"),
        _(
            "Your wallet closes on %(when)s. Until then nothing is shared from it, and you can change your "
            "mind: sign in and choose “Keep my wallet”. After that we erase your data, and nobody can bring "
            "it back. If you did not ask for this, keep your wallet, and look at “Sign-in and security”."
        ),
    ),
    "kept": (
        _("Your wallet stays open"),
        _("Your wallet will not be closed. Everything in it is as it was before."),
    ),
    "closed": (
        _("Your wallet is closed"),
        _(
            "Your wallet is closed, and your verified identity is erased. What you shared lately is not "
            "valid any more. You can open a new wallet with this e-mail address at any time; it will have "
            "nothing of the old one."
        ),
    ),
    # With a link that undoes the change.
    "address_changed": (
        _("The e-mail address of your wallet was changed"),
        _(
            "Your wallet now belongs to another e-mail address. If you changed it, there is nothing to do. "
            "If you did not, undo it before %(until)s with the link below: your wallet then belongs to "
            "this address again, and every browser is signed out."
        ),
    ),
    "address_put_back": (
        _("The e-mail address of your wallet was changed back"),
        _(
            "Your wallet belongs to its earlier e-mail address again, because somebody who reads that "
            "mailbox undid the change. It does not belong to this address any more."
        ),
    ),
    "address_taken": (
        _("This e-mail address cannot be used for another wallet"),
        _(
            "Somebody asked to use this e-mail address for their wallet. It belongs to a wallet already, or "
            "did until a few days ago, so nothing has changed. If it was not you, there is nothing to do."
        ),
    ),
    # With a link that stops the move.
    "move_begun": (
        _("Your wallet is to move to another e-mail address"),
        _(
            "Somebody said that they cannot read this mailbox any more, and showed the document with which "
            "your wallet was verified. Your wallet moves to their e-mail address on %(day)s. If it was not "
            "you, or if you can read this mailbox, stop it with the link below."
        ),
    ),
    "move_midway": (
        _("Your wallet is still to move to another e-mail address"),
        _(
            "On %(day)s your wallet moves to another e-mail address, because somebody said that they cannot "
            "read this mailbox any more. If it was not you, stop it with the link below."
        ),
    ),
    "move_last": (
        _("Last notice: your wallet moves to another e-mail address"),
        _(
            "On %(day)s your wallet moves to another e-mail address. After that, this mailbox can neither "
            "sign in to it nor stop the move. If it was not you, stop it now with the link below."
        ),
    ),
    "moved_away": (
        _("Your wallet has moved to another e-mail address"),
        _(
            "Your wallet does not belong to this e-mail address any more. If you did not ask for that, tell "
            "the operator of this service."
        ),
    ),
    "moved_here": (
        _("Your wallet has moved to this e-mail address"),
        _(
            "Your receipts and your verified identity are here now. All browsers were signed out and all "
            "passkeys were removed: sign in with this e-mail address."
        ),
    ),
    "move_stopped": (
        _("Your wallet does not move"),
        _(
            "The move of your earlier wallet to this e-mail address was stopped. You can go on using the "
            "wallet of this address. If you think that this is wrong, tell the operator of this service."
        ),
    ),
}
# What the link in a notice is called.
LINKS = {
    **dict.fromkeys(("approved_for", "ask_again_for"), _("Go back to %(requester)s")),
    "address_changed": _("Undo the change"),
    **dict.fromkeys(("move_begun", "move_midway", "move_last"), _("Stop the move")),
}
