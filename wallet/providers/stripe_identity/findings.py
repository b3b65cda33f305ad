"""What an outcome at Stripe means for an attempt. Pure."""

from wallet.credential.claims import Identity, IdentityError
from wallet.credential.countries import is_country
from wallet.credential.evidence import Assurance, Evidence, EvidenceError
from wallet.providers.findings import Failed, Finding, NeedsReview, NotHere, Pending, SubmitAgain, Verified
from wallet.providers.stripe_identity.responses import Results

TRIES = 2  # inconclusive submissions; after the last of them an operator decides

# `last_error.code` → what the person can do about it.
ERRORS: dict[str, Finding] = {
    "abandoned": Pending(),  # the person left before the end: nothing was submitted
    "consent_declined": NotHere("consent_declined"),
    # Not `NotHere`: the person may be going on with the same session on a phone.
    "device_not_supported": SubmitAgain("device_unsupported"),
    "country_not_supported": NotHere("country_unsupported"),
    "under_supported_age": NotHere("too_young"),
    "document_expired": SubmitAgain("document_expired"),
    "document_type_not_supported": SubmitAgain("document_unsupported"),
    "document_type_not_allowed": SubmitAgain("document_unsupported"),
    "selfie_document_missing_photo": SubmitAgain("document_without_photo"),
    # A suspicion of fraud. The person reads nothing of it.
    "selfie_manipulated": NeedsReview("unsure"),
}
INCONCLUSIVE = {
    "document_unverified_other": "document_unclear",
    "selfie_unverified_other": "selfie_unclear",
    "selfie_face_mismatch": "face_mismatch",
}
# Checks that this service does not ask for, so a setting at Stripe adds them.
NOT_ASKED_FOR = ("id_number_", "email_", "phone_")

# Stripe's type of document → a key of `evidence.DOCUMENT_KINDS`.
DOCUMENTS = {"": "", "passport": "passport", "id_card": "idcard", "driving_license": "driving_permit"}


def is_known(code: str) -> bool:
    return code in ERRORS or code in INCONCLUSIVE or code.startswith(NOT_ASKED_FOR)


def of_error(code: str, *, tries: int) -> Finding:
    """The finding for a `last_error.code`; `tries` counts the submissions with this one."""
    if code in INCONCLUSIVE:
        return SubmitAgain(INCONCLUSIVE[code]) if tries < TRIES else NeedsReview("unsure")
    if code.startswith(NOT_ASKED_FOR):
        return Failed()
    return ERRORS.get(code, NeedsReview("unsure"))


def of_results(results: Results, *, assurance: Assurance, verified_by: str) -> Finding:
    """The finding for a verified session; an operator decides where something is missing."""
    evidence = _evidence(results, assurance, verified_by)
    identity = _identity(results)
    if not (results.document_passed and results.selfie_passed):
        return NeedsReview("not_verified", identity)  # no evidence of Stripe's for what Stripe did not verify
    if identity is None or evidence is None:
        return NeedsReview("unreadable", identity, evidence)
    return Verified(identity, evidence)


def _identity(results: Results) -> Identity | None:
    """Without nationality: the country that issued a document need not be the person's own."""
    if results.birth_date is None:
        return None
    try:
        return Identity(results.given_name, results.family_name, results.birth_date, details=results.details)
    except IdentityError:
        return None


def _evidence(results: Results, assurance: Assurance, verified_by: str) -> Evidence | None:
    """None if something in it is not as Stripe describes it."""
    if results.end_is_odd or (results.issuing_country and not is_country(results.issuing_country)):
        return None
    try:
        return Evidence(
            method="remote_automatic",
            assurance=assurance,
            verified_by=verified_by,
            verified_at=results.checked_at,
            document_kind=DOCUMENTS.get(results.document_type, "other"),
            issuing_country=results.issuing_country,
            document_expires_on=results.expires_on,
            document_number=results.number,
        )
    except EvidenceError:
        return None
