"""What holders read about the data that this app keeps of them, by the “what” of the entry in `retention`."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.retention import ForPeople


def _after_the_identity() -> str:
    days = settings.IDENTITY_KEPT.days
    return ngettext(
        "Until %(days)d day after it ends or is revoked, or until you close your wallet",
        "Until %(days)d days after it ends or is revoked, or until you close your wallet",
        days,
    ) % {"days": days}


_IDENTITY = ForPeople(
    _("Your verified identity: name, date of birth, nationality. Encrypted."),
    _("You share details from it when you say yes."),
    _after_the_identity,
)
_DOCUMENT = ForPeople(
    _("Which kind of document you showed, its country and when it expires"),
    _("To show how your identity was verified."),
    _after_the_identity,
)
_CHECK_UNDER_WAY = ForPeople(
    _("What an identity check has found, while it is under way. Encrypted."),
    _("To finish the check, and so that a person can look at it if needed."),
    _("Until the check is decided"),
)
_CHECK = ForPeople(
    _("That an identity check happened: when, how, with whom, and its outcome"),
    _("To show how your identity was verified, and to answer your questions."),
    _("Two years after it ended; for the check behind your identity, as long as your wallet"),
)
_SIGN_IN = ForPeople(
    _("Your sign-ins: the address, where you came from, and checksums of the codes and links we sent"),
    _("To lead you on after signing in, and back."),
    _("A day after the sign-in ends"),
)
PEOPLE = {
    "the language the holder last used": ForPeople(
        _("The language in which you last read our pages"),
        _("We write e-mails to you in it."),
        _("As long as your wallet"),
    ),
    "a holder’s e-mail address, whether they want e-mails about what they share, and the reason for a "
    "suspension": ForPeople(
        _(
            "Your e-mail address, whether you want an e-mail each time you share something, and why your "
            "wallet was suspended if it was"
        ),
        _("You sign in with it, and we write to you there."),
        _("As long as your wallet"),
    ),
    "verified identity of a holder": _IDENTITY,
    "verified identity: its document, its name and birth date": ForPeople(
        _("Checksums of your name, birth date and document number"),
        _("To notice when the same person opens several wallets."),
        _("As long as your verified identity"),
    ),
    "what an identity provider found": _CHECK_UNDER_WAY,
    "identity check: what its provider keeps between two calls": _CHECK_UNDER_WAY,
    "identity check: pictures of a document and of the person": ForPeople(
        _("Pictures of your document and of you, if you sent them. Encrypted."),
        _("A person compares them."),
        _("Seven days after the decision"),
    ),
    "identity check: which kind of document was shown, and its country and expiry": _DOCUMENT,
    "identity check: how the identity was verified, and by whom": _CHECK,
    "identity check: the provider, its reference, and the reason for the result": _CHECK,
    "identity check: each step, who took it and why": _CHECK,
    "which operator looked at which attempt: internal IDs": ForPeople(
        _("Which of our people looked at your identity check, and when: only internal numbers"),
        _("So that nobody looks without a trace."),
        _("For ever. Once your wallet is closed, the numbers lead to nobody."),
    ),
    "signed-in browser": ForPeople(
        _("In which browsers you are signed in: a checksum for each"),
        _("To recognise the browser."),
        _("12 hours at most, or until you sign out"),
    ),
    "signed-in browser: its name and that of its system, such as Firefox and Linux": ForPeople(
        _("The names of those browsers and of their systems, such as Firefox on Linux"),
        _("So that you recognise your browsers and can sign out the others."),
        _("12 hours at most, or until you sign out"),
    ),
    "passkey: its name, public key, how browsers reach it, and when it was last used": ForPeople(
        _("Your passkeys: the name you gave each, its public key, and when it was last used"),
        _("You sign in and confirm payments with them."),
        _("Until you remove the passkey or close your wallet"),
    ),
    "number that a passkey has to sign: its digest, the digest of the cookie of the browser, and what it is "
    "for": ForPeople(
        _("The random numbers that your passkey signs: checksums only"),
        _("So that each signature counts once, and only in your browser."),
        _("Until the number is used, five minutes at most"),
    ),
    "change of e-mail address: the new address, digest of the browser’s cookie, keyed hash of the "
    "code": ForPeople(
        _("The new e-mail address that you have asked for, and a checksum of the code we sent there"),
        _("To change the address when you enter the code."),
        _("Ten minutes: until the code ends"),
    ),
    "change of e-mail address: the address before, hash of the link that undoes it": ForPeople(
        _("The e-mail address that your wallet had before a change"),
        _("Anyone who can read the old mailbox can undo the change. Meanwhile nobody else gets the address."),
        _("Seven days after the change"),
    ),
    "recovery after a lost mailbox: which wallets, a keyed digest of the old address until it is decided, "
    "who stopped it and why": ForPeople(
        _("That you asked for your old wallet after losing the mailbox, and what became of it"),
        _("To move the wallet after the waiting time, and to answer your questions."),
        _("Two years after it ended; a week if no identity check followed"),
    ),
    "recovery after a lost mailbox: link in an e-mail to the old address": ForPeople(
        _("Checksums of the links with which the old mailbox can stop the move of a wallet"),
        _("To recognise the link when it is opened."),
        _("Two weeks at most"),
    ),
    "sign-in: e-mail address, digest of the browser’s cookie, where the person came from, names of the "
    "claims wanted": _SIGN_IN,
    "sign-in code": _SIGN_IN,
    "sign-in link: e-mail address, hash of the link": _SIGN_IN,
    "browser that has signed in with an e-mail address": ForPeople(
        _("Checksums of the browsers in which you have signed in before"),
        _("So that strangers cannot use up your sign-in codes."),
        _("Half a year after you last signed in there, or until you close your wallet"),
    ),
    "presented credential: its place in a status list, the holder’s credential, its consent "
    "record": ForPeople(
        _("That what you shared is still valid, or is not"),
        _("You can take back what you shared, and those you shared it with can see that."),
        _("Until what you shared has expired, which takes a day at most, and a short time after that"),
    ),
    "history of status changes: which credential or wallet, by whom and why": ForPeople(
        _("That something you shared or your wallet was suspended, taken back or revoked: internal numbers"),
        _("To account for what was done."),
        _("For ever. Once your wallet is closed, the numbers lead to nobody."),
    ),
    "closed wallet: when it was closed, by whom, why, and the address for the last e-mail": ForPeople(
        _("That a wallet was closed: when, by whom, and why. It names nobody."),
        _("To account for what was erased."),
        _("For ever. Your address goes with your data, within a few days."),
    ),
}
