"""Mutants of the provider Stripe Identity."""

from tools.mutants.mutant import mutant

_FOLDER = "wallet/providers/stripe_identity"
_PROVIDER = f"{_FOLDER}/provider.py"
_TESTS = "wallet/providers/test_stripe_identity.py"

MUTANTS = (
    mutant(
        "stripe: results are read although they are being redacted",
        _PROVIDER,
        "if self._calls.checked(facts).is_over:",
        "if False:",
        f"{_TESTS}::test_a_redaction_between_the_two_reads_is_noticed",
    ),
    mutant(
        "stripe: a failure counts again when the person begins again",
        _PROVIDER,
        'return {"round": check.submissions, "seen": session.outcome}',
        'return {"round": check.submissions, "seen": ""}',
        f"{_TESTS}::test_a_failure_is_charged_once_and_not_again_when_the_person_begins_again",
    ),
    mutant(
        "stripe: following the link hides a failure",
        _PROVIDER,
        'if check.memory.get("round") == check.submissions:',
        "if False:",
        f"{_TESTS}::test_following_the_link_does_not_hide_a_failure_that_nobody_has_settled",
    ),
    mutant(
        "stripe: an answer of the other mode is believed",
        f"{_FOLDER}/calls.py",
        "if read.live is not self.live:",
        "if False:",
        f"{_TESTS}::test_an_answer_of_other_types_changes_nothing",
    ),
    mutant(
        "stripe: a check without a selfie is enough",
        f"{_FOLDER}/findings.py",
        "results.document_passed and results.selfie_passed",
        "results.document_passed",
        f"{_TESTS}::test_a_session_without_both_checks_goes_to_an_operator",
    ),
    mutant(
        "stripe: an event of the other mode is believed",
        f"{_FOLDER}/webhooks.py",
        'if event.get("livemode") is not live:',
        "if False:",
        "wallet/providers/test_stripe_webhooks.py::test_an_event_of_the_other_mode_than_the_key_is_refused",
    ),
    mutant(
        "stripe: old events are accepted",
        f"{_FOLDER}/webhooks.py",
        "WebhookSignature.verify_header(text, signature, secret, TOLERANCE)",
        "WebhookSignature.verify_header(text, signature, secret)",
        "wallet/providers/test_stripe_webhooks.py::test_every_other_signature_is_refused",
    ),
    mutant(
        "stripe: production takes a test key",
        _PROVIDER,
        "if not self._calls.live and not options.test_mode:",
        "if False:",
        f"{_TESTS}::test_production_refuses_a_test_key",
    ),
    mutant(
        "stripe: what is not decided is erased",
        "wallet/identity/forgetting.py",
        "rows = rows.filter(over, never_tried",
        "rows = rows.filter(never_tried",
        "wallet/providers/test_stripe_forgetting.py::test_only_what_is_decided_is_erased",
    ),
)
