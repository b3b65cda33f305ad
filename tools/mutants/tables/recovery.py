"""Recovery after a lost mailbox: whose wallet moves, when, and what stops it."""

from tools.mutants.mutant import mutant

_RECOVERIES, _MOVING = "wallet/identity/recoveries.py", "wallet/account/recovery/moving.py"
_SWEEPING = "wallet/account/recovery/sweeping.py"
_REPEATED = "wallet/management/commands/repeat_changes.py"
_NOT_BACK = (
    "wallet/test_repeat_changes.py::test_a_move_that_was_stopped_and_a_removed_passkey_do_not_come_back"
)
_TESTS = "wallet/test_recovery.py"

MUTANTS = (
    mutant(
        "recovery: one of several wallets that fit moves",
        _RECOVERIES,
        "    if len(named) > 1:\n",
        "    if len(named) > 9:\n",
        f"{_TESTS}::test_of_several_wallets_that_fit_none_moves",
    ),
    mutant(
        "recovery: a lower level of assurance than before is enough",
        _RECOVERIES,
        "before is None or now_verified is None or not at_least(before, now_verified)",
        "before is None or now_verified is None",
        f"{_TESTS}::test_everything_else_leaves_a_new_wallet",
    ),
    mutant(
        "recovery: an identity check from before the question counts",
        _RECOVERIES,
        "recovery is None or verification.created_at < recovery.asked_at",
        "recovery is None",
        f"{_TESTS}::test_a_check_from_before_the_question_does_not_count",
    ),
    mutant(
        "recovery: a wallet moves before it is due",
        _MOVING,
        "state=State.WAITING, due_at__lte=now",
        "state=State.WAITING",
        f"{_TESTS}::test_a_wallet_moves_at_the_instant_at_which_it_is_due_and_not_before",
    ),
    mutant(
        "recovery: a wallet moves although its move was stopped",
        _MOVING,
        "state=State.WAITING, due_at__lte=now",
        "due_at__lte=now",
        f"{_TESTS}::test_a_move_that_was_stopped_does_not_happen_and_stays_as_it_was_decided",
    ),
    mutant(
        "recovery: after a restore a move that was stopped goes on",
        _REPEATED,
        '{"event": "recovery_stopped",',
        '{"event": "recovery_began",',
        _NOT_BACK,
    ),
    mutant(
        "recovery: after a restore a passkey that was removed signs in",
        _REPEATED,
        '{"event": "passkey_removed",',
        '{"event": "passkey_replaced",',
        _NOT_BACK,
    ),
    mutant(
        "recovery: a wallet moves to somebody who was verified anew as another person",
        _MOVING,
        "fresh.verification_id != current.verification_id",
        "fresh.verification_id is None",
        f"{_TESTS}::test_a_new_wallet_that_is_suspended_or_verified_anew_gets_nothing",
    ),
    mutant(
        "recovery: a wallet moves although an e-mail to the old address was not sent",
        _SWEEPING,
        ", notices__gte=len(NOTICES)",
        "",
        f"{_TESTS}::test_while_one_of_the_emails_waits_to_be_sent_nothing_moves",
    ),
    mutant(
        "recovery: that a move was stopped is forgotten at once",
        _SWEEPING,
        "Recovery.objects.filter(ended_at__lte=long_ago)",
        "Recovery.objects.filter(ended_at__lte=now)",
        f"{_TESTS}::test_what_was_stopped_is_remembered_and_what_waits_is_not_cleared",
    ),
)
