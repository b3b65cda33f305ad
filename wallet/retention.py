"""The personal data in this app's tables, why it is stored, and for how long."""

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.retention import Clearing, ForPeople, expired, table
from wallet import models
from wallet.account.address import changes
from wallet.account.recovery import recoveries
from wallet.account.recovery import sweeping as recovery_sweeping
from wallet.identity import erasure, pictures
from wallet.passkeys import assertion
from wallet.sign_in import known_browsers, sessions
from wallet.status_lists import upkeep


def _after_the_identity() -> str:
    days = settings.IDENTITY_KEPT.days
    return ngettext(
        "Until %(days)d day after it ends or is revoked, or until you close your wallet",
        "Until %(days)d days after it ends or is revoked, or until you close your wallet",
        days,
    ) % {"days": days}


_IDENTITY = ForPeople(
    _(
        "Your verified identity: name, date of birth, nationality and, where they were verified, address, "
        "place of birth, and number of the document. Encrypted."
    ),
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
    _("That an identity check happened: when, how, with whom, for which application, and its outcome"),
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
        _("Seven days after the decision, or until the check ends if you do not submit them"),
    ),
    "identity check: which kind of document was shown, and its country and expiry": _DOCUMENT,
    "identity check: how the identity was verified, and by whom": _CHECK,
    "identity check: the provider, its reference, the reason for the result, and for which application it "
    "was": _CHECK,
    "identity check: each step, who took it and why": _CHECK,
    "signed-in browser": ForPeople(
        _("In which browsers you are signed in: a checksum for each"),
        _("To recognise the browser."),
        _("12 hours at most, or until you sign out"),
    ),
    "signed-in browser: its name, that of its system, such as Firefox and Linux, and its time "
    "zone": ForPeople(
        _("The names of those browsers and of their systems, such as Firefox on Linux, and their time zone"),
        _("So that you recognise your browsers, can sign out the others, and read local times in e-mails."),
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
    "number by which a requester recognises the holder: its seed, and whose it is": ForPeople(
        _("The numbers by which those to whom you allowed it recognise you. Encrypted."),
        _("So that each gets the same number next time, and nobody else gets that one."),
        _("Until you have the number forgotten or close your wallet"),
    ),
    "history of status changes: which credential or wallet, by whom and why": ForPeople(
        _("That something you shared or your wallet was suspended, taken back or revoked: internal numbers"),
        _("To account for what was done."),
        _("For ever. Once your wallet is closed, the numbers lead to nobody."),
    ),
    "closed wallet: when it was closed, by whom, why, and its address": ForPeople(
        _("That a wallet was closed: when, by whom, and why. It names nobody."),
        _("To account for what was erased."),
        _("For ever. Your address goes with your data, within a few days."),
    ),
}


# An expired task still has the link back to the requester, for holders who return to a tab the next day.
REDIRECT_TASKS_KEPT = timedelta(days=1)


ENTRIES = table(
    """
wallet.Credential: sealed_identity | verified identity of a holder | sealed | presentations disclose claims
    from it | {identity_kept} days after it ended or was revoked; until then as long as it is not replaced |
    ended identities
wallet.IdentityVerification: sealed_claims | what an identity provider found | sealed | an operator compares
    it with the document | while an operator reviews it
wallet.IdentityVerification: sealed_memory | identity check: what its provider keeps between two calls |
    sealed | to go on with the check and to fetch its result | until the check is decided
wallet.Evidence: document_kind issuing_country | identity check: which kind of document was shown, and its
    country and expiry | in clear | to show how an identity was verified | {identity_kept} days after the
    identity ended, was revoked or was replaced | documents
wallet.Evidence: method trust_framework assurance_level verified_by | identity check: how the identity was
    verified, and by whom | in clear | to show how an identity was verified | as long as the check
wallet.IdentityVerification: provider provider_reference reason came_from begin_again | identity check: the
    provider, its reference, the reason for the result, and for which application it was | in clear | to
    follow up on a check, and to lead the person back | {attempts} after it ended;
    that of the wallet’s last identity as long as the wallet | identity checks
wallet.IdentityVerificationTransition: actor reason | identity check: each step, who took it and why | in
    clear | to show how an identity was verified | as long as the check
wallet.Picture: sealed_jpeg kind | identity check: pictures of a document and of the person | sealed | an
    operator compares them | {pictures} after the decision; at once if the check ends before they are
    submitted | pictures
wallet.IdentityMark: digest | verified identity: its document, its name and birth date | keyed digests | to
    find the same person in another wallet | as long as the verified identity
wallet.Wallet: email suspension_reason share_emails | a holder’s e-mail address, whether they want e-mails
    about what they share, and the reason for a suspension | in clear | holders sign in with the address;
    operators see the reason | as long as the wallet
wallet.Wallet: language | the language the holder last used | in clear | to write e-mails in it | as long as
    the wallet
wallet.Subject: sealed_seed sector | number by which a requester recognises the holder: its seed, and whose it
    is | the seed sealed | to give the same requester the same number | until the holder has it forgotten; at
    most as long as the wallet
wallet.WalletClosure: reason sealed_address notice_due | closed wallet: when it was closed, by whom, why, and
    its address | the address sealed, the rest in clear | to account for what was erased | the address until
    everything else is erased, an hour at least; the rest, which names nobody, for ever
wallet.HolderSession: digest | signed-in browser | the digest of its cookie | to recognise the browser |
    until it expires, {sessions} at most | sessions
wallet.HolderSession: public_id browser_name system_name time_zone | signed-in browser: its name, that of its
    system, such as Firefox and Linux, and its time zone | in clear | holders recognise their browsers and
    sign them out; e-mails have local times | until it expires, {sessions} at most
wallet.RedirectTask: email browser on_behalf_of requester_domain requester_logo asks_for assurance details
    begin_again return_to leave_to | sign-in: e-mail address,
    digest of the browser’s cookie, where the person came from, names of the claims wanted | in clear |
    to lead the person on after signing in, and back the next day | {tasks_kept} after it expired | sign-ins
wallet.LoginCode: digest | sign-in code | a keyed hash | to compare it with what is entered | as long as the
    sign-in it belongs to
wallet.LoginLink: email digest | sign-in link: e-mail address, hash of the link | in clear | to recognise
    the link when it is opened | until it expires | links
wallet.KnownBrowser: key address | browser that has signed in with an e-mail address | a keyed digest of both,
    and one of the address | strangers cannot use up its sign-in codes | {known_for} after it last signed in
    | browsers
wallet.Passkey: name credential_id public_key sign_count transports backed_up last_used_at | passkey: its
    name, public key, how browsers reach it, and when it was last used | in clear; it names nobody | to
    sign in and confirm payments with it | until the holder removes it; at most as long as the wallet
wallet.PasskeyChallenge: digest bound_to subject | number that a passkey has to sign: its digest, the digest
    of the cookie of the browser, and what it is for | in clear; it names nobody | each signature counts
    once | until it is used, {challenges} at most | challenges
wallet.EmailChange: browser email digest | change of e-mail address: the new address, digest of the browser’s
    cookie, keyed hash of the code | in clear | to compare the code and to change the address | until the
    code expires | address changes
wallet.FormerAddress: email undo_digest | change of e-mail address: the address before, hash of the link that
    undoes it | in clear | its mailbox can undo the change, and nobody else gets the address | {undo_for} |
    former addresses
wallet.Recovery: named reason decided_by | recovery after a lost mailbox: which wallets, a keyed digest of
    the old address until it is decided, who stopped it and why | in clear | to move the wallet, and to
    account for it | {attempts} after it ended; {asked_for} without an identity check | recoveries
wallet.StopLink: digest | recovery after a lost mailbox: link in an e-mail to the old address | the hash of
    its secret | to recognise the link when it is opened | until the wallet moves | stop links
wallet.StatusEntry: credential reference | presented credential: its place in a status list, the holder’s
    credential, its consent record | in clear | so that it can be suspended and revoked | {sweeping} after
    it ended | presented credentials
wallet.StatusList: token | status list as published | in clear; it names nobody | relying parties fetch it |
    {closed_for} after it was closed and the last credential in it was forgotten | status lists
wallet.StatusEvent: subject_id actor reason | history of status changes: which credential or wallet, by whom
    and why | in clear | to account for what operators did | for ever
""",
    periods={
        "sessions": sessions.ABSOLUTE,
        "challenges": assertion.CHALLENGE_LIFETIME,
        "undo_for": changes.UNDO_FOR,
        "asked_for": recoveries.ASKED_FOR,
        "tasks_kept": REDIRECT_TASKS_KEPT,
        "known_for": known_browsers.KNOWN_FOR,
        "pictures": pictures.KEPT,
        "identity_kept": "IDENTITY_KEPT_DAYS",
        "attempts": erasure.ATTEMPTS_KEPT,
        "sweeping": upkeep.KEPT,
        "closed_for": upkeep.CLOSED_FOR,
    },
    clear={
        "challenges": expired(models.PasskeyChallenge.objects.all()),
        "sessions": expired(models.HolderSession.objects.all()),
        "sign-ins": expired(models.RedirectTask.objects.all(), kept=REDIRECT_TASKS_KEPT),
        "links": expired(models.LoginLink.objects.all()),
        "address changes": expired(models.EmailChange.objects.all()),
        "former addresses": expired(models.FormerAddress.objects.all()),
        "stop links": expired(models.StopLink.objects.all()),
        "recoveries": Clearing(recovery_sweeping.clear, recovery_sweeping.over),
        "browsers": expired(models.KnownBrowser.objects.all()),
        "ended identities": Clearing(erasure.erase_identities, erasure.ended),
        "documents": Clearing(erasure.erase_documents, erasure.replaced),
        "pictures": Clearing(pictures.clear, pictures.decided),
        "identity checks": Clearing(erasure.clear_attempts, erasure.old_attempts),
        "presented credentials": Clearing(upkeep.blank_ended, upkeep.ended_entries),
        "status lists": Clearing(upkeep.retire_closed),  # say nothing of anybody; none is found quickly
    },
    people=PEOPLE,
)
