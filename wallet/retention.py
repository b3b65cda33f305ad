"""The personal data in this app's tables, why it is stored, and for how long."""

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.moments import in_words
from infra.retention import Clearing, ForPeople, Kept, expired
from wallet import models
from wallet.account.address import changes
from wallet.account.recovery import sweeping as recovery_sweeping
from wallet.identity import erasure, pictures, recoveries
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
# An expired task still has the link back to the requester, for holders who return to a tab the next day.
REDIRECT_TASKS_KEPT = timedelta(days=1)

ENTRIES = (
    Kept(
        "wallet.Credential",
        columns=("sealed_identity",),
        what="verified identity of a holder",
        how="sealed",
        why="presentations disclose claims from it",
        how_long=(
            "`IDENTITY_KEPT_DAYS` days after it ended or was revoked; until then as long as it is not "
            "replaced"
        ),
        cleared_as="ended identities",
        clear=Clearing(erasure.erase_identities, erasure.ended),
        people=ForPeople(
            _(
                "Your verified identity: name, date of birth, nationality and, where they were verified, "
                "address, place of birth, and number of the document. Encrypted."
            ),
            _("You share details from it when you say yes."),
            _after_the_identity,
        ),
    ),
    Kept(
        "wallet.IdentityVerification",
        columns=("sealed_claims",),
        what="what an identity provider found",
        how="sealed",
        why="an operator compares it with the document",
        how_long="while an operator reviews it",
        people=_CHECK_UNDER_WAY,
    ),
    Kept(
        "wallet.IdentityVerification",
        columns=("sealed_memory",),
        what="identity check: what its provider keeps between two calls",
        how="sealed",
        why="to go on with the check and to fetch its result",
        how_long="until the check is decided",
        people=_CHECK_UNDER_WAY,
    ),
    Kept(
        "wallet.IdentityEvidence",
        columns=("document_kind", "issuing_country"),
        what="identity check: which kind of document was shown, and its country and expiry",
        how="in clear",
        why="to show how an identity was verified",
        how_long="`IDENTITY_KEPT_DAYS` days after the identity ended, was revoked or was replaced",
        cleared_as="documents",
        clear=Clearing(erasure.erase_documents, erasure.replaced),
        people=ForPeople(
            _("Which kind of document you showed, its country and when it expires"),
            _("To show how your identity was verified."),
            _after_the_identity,
        ),
    ),
    Kept(
        "wallet.IdentityEvidence",
        columns=("method", "trust_framework", "assurance_level", "verified_by"),
        what="identity check: how the identity was verified, and by whom",
        how="in clear",
        why="to show how an identity was verified",
        how_long="as long as the check",
        people=_CHECK,
    ),
    Kept(
        "wallet.IdentityVerification",
        columns=("provider", "provider_reference", "reason", "came_from", "begin_again"),
        what=(
            "identity check: the provider, its reference, the reason for the result, and for which "
            "application it was"
        ),
        how="in clear",
        why="to follow up on a check, and to lead the person back",
        how_long=(
            f"{in_words(erasure.ATTEMPTS_KEPT)} after it ended; that of the wallet’s last identity as long "
            "as the wallet"
        ),
        cleared_as="identity checks",
        clear=Clearing(erasure.clear_attempts, erasure.old_attempts),
        people=_CHECK,
    ),
    Kept(
        "wallet.IdentityVerificationTransition",
        columns=("actor", "reason"),
        what="identity check: each step, who took it and why",
        how="in clear",
        why="to show how an identity was verified",
        how_long="as long as the check",
        people=_CHECK,
    ),
    Kept(
        "wallet.Picture",
        columns=("sealed_jpeg", "kind"),
        what="identity check: pictures of a document and of the person",
        how="sealed",
        why="an operator compares them",
        how_long=(
            f"{in_words(pictures.KEPT)} after the decision; at once if the check ends before they are "
            "submitted"
        ),
        cleared_as="pictures",
        clear=Clearing(pictures.clear, pictures.decided),
        people=ForPeople(
            _("Pictures of your document and of you, if you sent them. Encrypted."),
            _("A person compares them."),
            _("Seven days after the decision, or until the check ends if you do not submit them"),
        ),
    ),
    Kept(
        "wallet.IdentityMark",
        columns=("digest",),
        what="verified identity: its document, its name and birth date",
        how="keyed digests",
        why="to find the same person in another wallet",
        how_long="as long as the verified identity",
        people=ForPeople(
            _("Checksums of your name, birth date and document number"),
            _("To notice when the same person opens several wallets."),
            _("As long as your verified identity"),
        ),
    ),
    Kept(
        "wallet.Wallet",
        columns=("email", "suspension_reason", "share_emails"),
        what=(
            "a holder’s e-mail address, whether they want e-mails about what they share, and the reason for "
            "a suspension"
        ),
        how="in clear",
        why="holders sign in with the address; operators see the reason",
        how_long="as long as the wallet",
        people=ForPeople(
            _(
                "Your e-mail address, whether you want an e-mail each time you share something, and why your "
                "wallet was suspended if it was"
            ),
            _("You sign in with it, and we write to you there."),
            _("As long as your wallet"),
        ),
    ),
    Kept(
        "wallet.Wallet",
        columns=("language",),
        what="the language the holder last used",
        how="in clear",
        why="to write e-mails in it",
        how_long="as long as the wallet",
        people=ForPeople(
            _("The language in which you last read our pages"),
            _("We write e-mails to you in it."),
            _("As long as your wallet"),
        ),
    ),
    Kept(
        "wallet.Subject",
        columns=("sealed_seed", "sector"),
        what="number by which a requester recognises the holder: its seed, and whose it is",
        how="the seed sealed",
        why="to give the same requester the same number",
        how_long="until the holder has it forgotten; at most as long as the wallet",
        people=ForPeople(
            _("The numbers by which those to whom you allowed it recognise you. Encrypted."),
            _("So that each gets the same number next time, and nobody else gets that one."),
            _("Until you have the number forgotten or close your wallet"),
        ),
    ),
    Kept(
        "wallet.WalletClosure",
        columns=("reason", "sealed_address", "notice_due"),
        what="closed wallet: when it was closed, by whom, why, and its address",
        how="the address sealed, the rest in clear",
        why="to account for what was erased",
        how_long=(
            "the address until everything else is erased, an hour at least; the rest, which names nobody, "
            "for ever"
        ),
        people=ForPeople(
            _("That a wallet was closed: when, by whom, and why. It names nobody."),
            _("To account for what was erased."),
            _("For ever. Your address goes with your data, within a few days."),
        ),
    ),
    Kept(
        "wallet.HolderSession",
        columns=("digest",),
        what="signed-in browser",
        how="the digest of its cookie",
        why="to recognise the browser",
        how_long=f"until it expires, {in_words(sessions.ABSOLUTE)} at most",
        cleared_as="sessions",
        clear=expired(models.HolderSession.objects.all()),
        people=ForPeople(
            _("In which browsers you are signed in: a checksum for each"),
            _("To recognise the browser."),
            _("12 hours at most, or until you sign out"),
        ),
    ),
    Kept(
        "wallet.HolderSession",
        columns=("public_id", "browser_name", "system_name", "time_zone"),
        what="signed-in browser: its name, that of its system, such as Firefox and Linux, and its time zone",
        how="in clear",
        why="holders recognise their browsers and sign them out; e-mails have local times",
        how_long=f"until it expires, {in_words(sessions.ABSOLUTE)} at most",
        people=ForPeople(
            _(
                "The names of those browsers and of their systems, such as Firefox on Linux, and their time "
                "zone"
            ),
            _(
                "So that you recognise your browsers, can sign out the others, and read local times in "
                "e-mails."
            ),
            _("12 hours at most, or until you sign out"),
        ),
    ),
    Kept(
        "wallet.RedirectTask",
        columns=(
            "email",
            "browser",
            "on_behalf_of",
            "requester_domain",
            "requester_logo",
            "asks_for",
            "assurance",
            "details",
            "begin_again",
            "return_to",
            "leave_to",
        ),
        what=(
            "sign-in: e-mail address, digest of the browser’s cookie, where the person came from, names of "
            "the claims wanted"
        ),
        how="in clear",
        why="to lead the person on after signing in, and back the next day",
        how_long=f"{in_words(REDIRECT_TASKS_KEPT)} after it expired",
        cleared_as="sign-ins",
        clear=expired(models.RedirectTask.objects.all(), kept=REDIRECT_TASKS_KEPT),
        people=_SIGN_IN,
    ),
    Kept(
        "wallet.LoginCode",
        columns=("digest",),
        what="sign-in code",
        how="a keyed hash",
        why="to compare it with what is entered",
        how_long="as long as the sign-in it belongs to",
        people=_SIGN_IN,
    ),
    Kept(
        "wallet.LoginLink",
        columns=("email", "digest"),
        what="sign-in link: e-mail address, hash of the link",
        how="in clear",
        why="to recognise the link when it is opened",
        how_long="until it expires",
        cleared_as="links",
        clear=expired(models.LoginLink.objects.all()),
        people=_SIGN_IN,
    ),
    Kept(
        "wallet.KnownBrowser",
        columns=("key", "address"),
        what="browser that has signed in with an e-mail address",
        how="a keyed digest of both, and one of the address",
        why="strangers cannot use up its sign-in codes",
        how_long=f"{in_words(known_browsers.KNOWN_FOR)} after it last signed in",
        cleared_as="browsers",
        clear=expired(models.KnownBrowser.objects.all()),
        people=ForPeople(
            _("Checksums of the browsers in which you have signed in before"),
            _("So that strangers cannot use up your sign-in codes."),
            _("Half a year after you last signed in there, or until you close your wallet"),
        ),
    ),
    Kept(
        "wallet.Passkey",
        columns=(
            "name",
            "credential_id",
            "public_key",
            "sign_count",
            "transports",
            "backed_up",
            "last_used_at",
        ),
        what="passkey: its name, public key, how browsers reach it, and when it was last used",
        how="in clear; it names nobody",
        why="to sign in and confirm payments with it",
        how_long="until the holder removes it; at most as long as the wallet",
        people=ForPeople(
            _("Your passkeys: the name you gave each, its public key, and when it was last used"),
            _("You sign in and confirm payments with them."),
            _("Until you remove the passkey or close your wallet"),
        ),
    ),
    Kept(
        "wallet.PasskeyChallenge",
        columns=("digest", "bound_to", "subject"),
        what=(
            "number that a passkey has to sign: its digest, the digest of the cookie of the browser, and "
            "what it is for"
        ),
        how="in clear; it names nobody",
        why="each signature counts once",
        how_long=f"until it is used, {in_words(assertion.CHALLENGE_LIFETIME)} at most",
        cleared_as="challenges",
        clear=expired(models.PasskeyChallenge.objects.all()),
        people=ForPeople(
            _("The random numbers that your passkey signs: checksums only"),
            _("So that each signature counts once, and only in your browser."),
            _("Until the number is used, five minutes at most"),
        ),
    ),
    Kept(
        "wallet.EmailChange",
        columns=("browser", "email", "digest"),
        what=(
            "change of e-mail address: the new address, digest of the browser’s cookie, keyed hash of the "
            "code"
        ),
        how="in clear",
        why="to compare the code and to change the address",
        how_long="until the code expires",
        cleared_as="address changes",
        clear=expired(models.EmailChange.objects.all()),
        people=ForPeople(
            _("The new e-mail address that you have asked for, and a checksum of the code we sent there"),
            _("To change the address when you enter the code."),
            _("Ten minutes: until the code ends"),
        ),
    ),
    Kept(
        "wallet.FormerAddress",
        columns=("email", "undo_digest"),
        what="change of e-mail address: the address before, hash of the link that undoes it",
        how="in clear",
        why="its mailbox can undo the change, and nobody else gets the address",
        how_long=in_words(changes.UNDO_FOR),
        cleared_as="former addresses",
        clear=expired(models.FormerAddress.objects.all()),
        people=ForPeople(
            _("The e-mail address that your wallet had before a change"),
            _(
                "Anyone who can read the old mailbox can undo the change. Meanwhile nobody else gets the "
                "address."
            ),
            _("Seven days after the change"),
        ),
    ),
    Kept(
        "wallet.Recovery",
        columns=("named", "reason", "decided_by"),
        what=(
            "recovery after a lost mailbox: which wallets, a keyed digest of the old address until it is "
            "decided, who stopped it and why"
        ),
        how="in clear",
        why="to move the wallet, and to account for it",
        how_long=(
            f"{in_words(erasure.ATTEMPTS_KEPT)} after it ended; {in_words(recoveries.ASKED_FOR)} without an "
            "identity check"
        ),
        cleared_as="recoveries",
        clear=Clearing(recovery_sweeping.clear, recovery_sweeping.over),
        people=ForPeople(
            _("That you asked for your old wallet after losing the mailbox, and what became of it"),
            _("To move the wallet after the waiting time, and to answer your questions."),
            _("Two years after it ended; a week if no identity check followed"),
        ),
    ),
    Kept(
        "wallet.StopLink",
        columns=("digest",),
        what="recovery after a lost mailbox: link in an e-mail to the old address",
        how="the hash of its secret",
        why="to recognise the link when it is opened",
        how_long="until the wallet moves",
        cleared_as="stop links",
        clear=expired(models.StopLink.objects.all()),
        people=ForPeople(
            _("Checksums of the links with which the old mailbox can stop the move of a wallet"),
            _("To recognise the link when it is opened."),
            _("Two weeks at most"),
        ),
    ),
    Kept(
        "wallet.StatusEntry",
        columns=("credential", "reference"),
        what="presented credential: its place in a status list, the holder’s credential, its consent record",
        how="in clear",
        why="so that it can be suspended and revoked",
        how_long=f"{in_words(upkeep.KEPT)} after it ended",
        cleared_as="presented credentials",
        clear=Clearing(upkeep.blank_ended, upkeep.ended_entries),
        people=ForPeople(
            _("That what you shared is still valid, or is not"),
            _("You can take back what you shared, and those you shared it with can see that."),
            _("Until what you shared has expired, which takes a day at most, and a short time after that"),
        ),
    ),
    Kept(
        "wallet.StatusList",
        columns=("token",),
        what="status list as published",
        how="in clear; it names nobody",
        why="relying parties fetch it",
        how_long=(
            f"{in_words(upkeep.CLOSED_FOR)} after it was closed and the last credential in it was forgotten"
        ),
        cleared_as="status lists",
        clear=Clearing(upkeep.retire_closed),  # says nothing of anybody, and no index finds the rows
    ),
    Kept(
        "wallet.StatusEvent",
        columns=("subject_id", "actor", "reason"),
        what="history of status changes: which credential or wallet, by whom and why",
        how="in clear",
        why="to account for what operators did",
        how_long="for ever",
        people=ForPeople(
            _(
                "That something you shared or your wallet was suspended, taken back or revoked: internal "
                "numbers"
            ),
            _("To account for what was done."),
            _("For ever. Once your wallet is closed, the numbers lead to nobody."),
        ),
    ),
)
