"""The second step of the sign-in of operators, its codes and its reset."""

from tools.mutants.mutant import mutant

_STEP, _FACTORS = "operators/second_factor.py", "infra/second_factors.py"
_TESTS = "operators/test_second_factor.py"

MUTANTS = (
    mutant(
        "second factor: the session keeps the key that it had before",
        _STEP,
        "    request.session.cycle_key()\n",
        "",
        f"{_TESTS}::test_the_session_has_another_key_after_the_second_step",
    ),
    mutant(
        "second factor: codes are guessed without a limit",
        _STEP,
        "            second_factors.count_try(operator, now)\n",
        "",
        f"{_TESTS}::test_guessing_ends_after_ten_codes_and_the_right_one_does_not_help_then",
    ),
    mutant(
        "second factor: operators reset their own",
        _STEP,
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
)
