"""Mutants of verifying who a holder is."""

from tools.mutants.mutant import mutant

_PROGRESS = "wallet/identity/progress.py"
_BODIES = "wallet/identity/arriving_bodies.py"

MUTANTS = (
    mutant(
        "identity: somebody without any name is verified by a sign-in",
        "wallet/providers/openid_connect/verified_claims.py",
        "has_name = not names or _how_many(claims, names) > 0",
        "has_name = True",
        "wallet/providers/test_openid_connect.py::"
        "test_details_that_are_not_there_send_the_person_to_another_provider",
    ),
    mutant(
        "identity: what only fills a field is a name",
        "wallet/credential/names.py",
        'return ours if has_letter and not _FILLER.fullmatch(ours) else ""',
        "return ours",
        "wallet/test_names.py::test_what_only_fills_a_field_is_no_name",
    ),
    mutant(
        "identity: several processes ask a provider at once",
        _PROGRESS,
        "rows.filter(free, state__in=WAITING)",
        "rows.filter(state__in=WAITING)",
        "wallet/test_moving_on.py::test_while_one_asks_nobody_else_does",
    ),
    mutant(
        "identity: a result from before the person began again counts",
        "wallet/identity/settling.py",
        "if begun and begun_at not in (None, verification.changed_at):",
        "if False:",
        "wallet/test_moving_on.py::test_an_old_answer_is_dropped_once_the_person_has_begun_again",
    ),
    mutant(
        "identity: what a stranger's browser brings back is accepted",
        _PROGRESS,
        "if message.from_browser and not _in_its_browser(verification, browser):",
        "if False:",
        "wallet/test_moving_on.py::test_what_a_browser_brings_that_did_not_begin_ends_the_check",
    ),
    mutant(
        "identity: two wallets get the result of one reference",
        _PROGRESS,
        "if reference and rows.exclude(wallet_id=verification.wallet_id).exists():",
        "if False:",
        "wallet/test_moving_on.py::test_two_wallets_that_got_one_reference_at_once_get_no_result_of_it",
    ),
    mutant(
        "identity: attempts are abandoned while their provider is down",
        "wallet/identity/sweeping.py",
        "if not answered and verification.changed_at > now - LONGEST_IDLE:",
        "if False:",
        "wallet/test_moving_on.py::test_while_the_provider_cannot_be_asked_nobody_is_abandoned_for_a_week",
    ),
    mutant(
        "identity: a try that came to nothing stays charged",
        "wallet/identity/settling.py",
        "reason, charge = finding.reason, -1 if charged else 0",
        "reason, charge = finding.reason, 0",
        "wallet/test_moving_on.py::test_what_ends_without_a_result_is_not_charged",
    ),
    mutant(
        "identity: the sandbox's provider believes forged callbacks",
        "sandbox/identity_provider/provider.py",
        'if not constant_time_compare(message.headers.get(SIGNATURE, ""), signature(message.body)):',
        "if False:",
        "wallet/providers/test_contract.py::test_a_forged_callback_is_refused_and_changes_nothing",
    ),
    mutant(
        "bodies: a form of which the end is missing counts as whole",
        _BODIES,
        "if len(data) < wanted:",
        "if False:",
        "wallet/test_arriving_bodies.py::test_a_body_that_ends_before_its_length_is_an_error",
    ),
    mutant(
        "bodies: what comes after the body is read as part of it",
        _BODIES,
        "wanted = min(size, self._missing)",
        "wanted = size",
        "wallet/test_arriving_bodies.py::test_a_body_has_its_length_and_nothing_after_it",
    ),
    mutant(
        "bodies: one client address holds the place of everybody",
        _BODIES,
        '_the_only_body_of(("client", client))',
        '_the_only_body_of(("client", client, sender))',
        "wallet/test_arriving_bodies.py::test_while_one_body_arrives_its_sender_and_its_client_have_no_second_one",
    ),
    mutant(
        "bodies: one wallet holds the place of everybody",
        _BODIES,
        '_the_only_body_of(("sender", sender))',
        '_the_only_body_of(("sender", sender, client))',
        "wallet/test_arriving_bodies.py::test_while_one_body_arrives_its_sender_and_its_client_have_no_second_one",
    ),
    mutant(
        "bodies: slow ones occupy every thread",
        _BODIES,
        'held.enter_context(waiting_for(("body", client or sender)))',
        "pass",
        "wallet/test_arriving_bodies.py::test_a_client_holds_fewer_places_than_there_are",
    ),
    mutant(
        "bodies: one that never ends is waited for without end",
        _BODIES,
        "connection.shutdown(socket.SHUT_RD)",
        "pass",
        "test_upload_bodies.py::test_a_body_that_never_ends_is_cut_however_steadily_it_comes",
    ),
    mutant(
        "identity: a part of a birth date that was forgotten counts as unknown",
        "wallet/identity/day_field.py",
        "if day and month else None",
        "if year else None",
        "wallet/test_forms.py::test_what_cannot_be_is_refused",
    ),
    mutant(
        "identity: any birth date was typed that of another wallet's PID",
        "wallet/providers/other_wallet/identities.py",
        'if not typed.get("birth_date", "").startswith(identity.birth_date.isoformat()):',
        "if False:",
        "wallet/providers/test_other_wallet_parsing.py"
        "::test_what_was_typed_is_the_birth_date_of_a_pid_as_far_as_the_pid_has_it",
    ),
    mutant(
        "identity: a person of whom only the year of birth is known is nobody else",
        "wallet/identity/duplicates.py",
        "births=compatible(identity.birth_date)",
        "births=None",
        "wallet/test_review.py::test_an_identity_whose_birth_date_may_be_the_same_is_flagged",
    ),
    mutant(
        "identity: a month to come is a month of birth",
        "wallet/identity/day_field.py",
        "if value and birth_dates.earliest(value) > days.newest(timezone.now()):",
        "if False:",
        "wallet/test_forms.py::test_what_cannot_be_is_refused",
    ),
)
