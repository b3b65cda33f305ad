"""The second step of the sign-in of operators, its codes and its reset."""

from tools.mutants.mutant import mutant

_PAGES, _FACTORS = "operators/views.py", "infra/second_factors.py"
_PROOF = "operators/second_factor.py"
_PASSKEYS = "operators/passkeys.py"
_TESTS, _WITH_PASSKEYS = "operators/test_second_factor.py", "operators/test_passkeys.py"

MUTANTS = (
    mutant(
        "second factor: the session keeps the key that it had before",
        _PAGES,
        "        request.session.cycle_key()\n",
        "",
        f"{_TESTS}::test_the_session_has_another_key_after_the_second_step",
    ),
    mutant(
        "second factor: codes are guessed without a limit",
        _PAGES,
        "            second_factors.count_try(operator, now)\n",
        "",
        f"{_TESTS}::test_guessing_ends_after_ten_codes_and_the_right_one_does_not_help_then",
    ),
    mutant(
        "second factor: operators reset their own",
        _PAGES,
        "not operator.is_superuser or other.pk == operator.pk",
        "not operator.is_superuser",
        f"{_TESTS}::test_another_superuser_resets_it_and_the_sessions_of_the_operator_end",
    ),
    mutant(
        "second factor: the code that set up the app is good once more",
        _FACTORS,
        "used_step=step, set_up_at",
        "used_step=0, set_up_at",
        f"{_TESTS}::test_the_code_that_set_the_app_up_is_used_up",
    ),
    mutant(
        "second factor: a recovery code is good twice",
        _FACTORS,
        "        if left.delete()[0] != 1:\n",
        "        if not left.exists():\n",
        f"{_TESTS}::test_a_recovery_code_is_good_once",
    ),
    mutant(
        "second factor: the password suffices to set up another one",
        _FACTORS,
        "factor.save(force_insert=True)",
        "factor.save()",
        f"{_TESTS}::test_a_factor_that_is_set_up_cannot_be_replaced_with_the_password",
    ),
    mutant(
        "second factor: a code is good for longer than its step and those beside it",
        _FACTORS,
        "(present, present - 1, present + 1)",
        "(present, present - 1, present + 1, present - 2)",
        f"{_TESTS}::test_a_code_is_good_in_its_own_step_and_the_two_beside_it",
    ),
    mutant(
        "second factor: a reset leaves the operator signed in",
        _FACTORS,
        "        end_sessions(operator)\n",
        "",
        f"{_TESTS}::test_another_superuser_resets_it_and_the_sessions_of_the_operator_end",
    ),
    mutant(
        "operator's passkey: the challenge of another session will do",
        _PASSKEYS,
        'sha256_hex(request.session.session_key or "")',
        "sha256_hex(str(request.user.pk))",
        f"{_WITH_PASSKEYS}::test_a_challenge_is_good_once_in_its_session_for_its_purpose",
    ),
    mutant(
        "operator's passkey: a challenge is good twice",
        _PASSKEYS,
        "assertion.use_challenge(read.challenge, Purpose.OPERATOR_PROVES,",
        "dict(",
        f"{_WITH_PASSKEYS}::test_a_challenge_is_good_once_in_its_session_for_its_purpose",
    ),
    mutant(
        "operator's passkey: that of another operator will do",
        _PASSKEYS,
        '.select_related("factor").filter(factor=operator.pk)',
        '.select_related("factor")',
        f"{_WITH_PASSKEYS}::test_the_passkey_of_another_operator_opens_nothing",
    ),
    mutant(
        "operator's passkey: added by a session that proved the factor long ago",
        _PROOF,
        "return factor if factor and new and",
        "return factor if factor and",
        f"{_WITH_PASSKEYS}::test_only_a_complete_and_fresh_sign_in_adds_or_removes",
    ),
    mutant(
        "operator's passkey: parallel removals leave nothing to sign in with",
        _PASSKEYS,
        "SecondFactor.objects.select_for_update().get(",
        "SecondFactor.objects.get(",
        f"{_WITH_PASSKEYS}::test_parallel_removals_leave_a_way_in",
    ),
)
