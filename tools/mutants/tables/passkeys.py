"""Passkeys: challenges, signatures, and the payments that they confirm."""

from tools.mutants.mutant import mutant

_ASSERTION, _REGISTRATION = "wallet/passkeys/assertion.py", "wallet/passkeys/registration.py"
_TESTS = "wallet/test_passkeys.py"
_FACTOR = "presentation/requests/test_passkey_as_factor.py"

MUTANTS = (
    mutant(
        "challenge: good at the instant it expires",
        "wallet/passkeys/assertion.py",
        "expires_at__gt=now",
        "expires_at__gte=now",
        f"{_TESTS}::test_a_challenge_is_gone_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "challenge: good for another redirect task or question",
        "wallet/passkeys/assertion.py",
        "bound_to=bound_to, subject=subject, expires_at__gt",
        "bound_to=bound_to, expires_at__gt",
        f"{_FACTOR}::test_a_signature_for_another_question_or_session_grants_nothing",
    ),
    mutant(
        "challenge: good in another browser",
        "wallet/passkeys/assertion.py",
        "bound_to=bound_to, subject=subject, expires_at__gt",
        "subject=subject, expires_at__gt",
        f"{_TESTS}::test_a_signature_for_another_browser_redirect_task_or_purpose_signs_nobody_in",
    ),
    mutant(
        "passkey: signs in without user verification",
        _ASSERTION,
        "require_user_verification=True",
        "require_user_verification=False",
        f"{_TESTS}::test_a_signature_that_is_not_as_asked_signs_nobody_in",
    ),
    mutant(
        "passkey: added without user verification",
        _REGISTRATION,
        "require_user_verification=True",
        "require_user_verification=False",
        f"{_TESTS}::test_a_new_passkey_that_is_not_as_asked_is_refused",
    ),
    mutant(
        "passkey: the sign count may stay the same",
        _ASSERTION,
        "sign_count__lt=counted",
        "sign_count__lte=counted",
        f"{_TESTS}::test_a_sign_count_that_goes_back_is_refused_and_logged",
    ),
    mutant(
        "passkey: one of another wallet confirms",
        _ASSERTION,
        "    if wallet is not None and passkey.wallet_id != wallet.id:\n"
        '        raise PasskeyError("other")\n',
        "",
        f"{_FACTOR}::test_a_passkey_of_another_wallet_grants_nothing",
    ),
    mutant(
        "passkey: one of another wallet signs in on a redirect task",
        "wallet/passkeys/views/sign_in.py",
        "        if not redirect_task.asks_address and passkey.wallet.email != redirect_task.email:\n"
        '            raise PasskeyError("other")\n',
        "",
        f"{_TESTS}::test_a_passkey_of_another_wallet_does_not_sign_in_on_a_redirect_task",
    ),
    mutant(
        "passkey: signs in to a suspended wallet",
        "wallet/passkeys/views/sign_in.py",
        "not wallet.can_sign_in",
        "wallet.state is None",
        f"{_TESTS}::test_a_suspended_wallet_is_refused_as_with_a_code",
    ),
    mutant(
        "passkey: an old session adds one",
        "wallet/account/fresh.py",
        "session.signed_in_at >= now - FRESH_FOR",
        "bool(session.signed_in_at)",
        f"{_TESTS}::test_nobody_adds_a_passkey_with_an_old_session",
    ),
    mutant(
        "passkey: added after its session has ended",
        _REGISTRATION,
        "        if not HolderSession.objects.filter(digest=session.digest).exists():\n"
        '            raise PasskeyError("too_late")\n',
        "",
        f"{_TESTS}::test_a_passkey_is_not_added_after_its_session_has_ended",
    ),
    mutant(
        "passkey: requests at once add more than a wallet may have",
        _REGISTRATION,
        "Wallet.objects.select_for_update().get(id=session.wallet_id)",
        "Wallet.objects.get(id=session.wallet_id)",
        f"{_TESTS}::test_requests_that_race_do_not_add_more_passkeys_than_a_wallet_may_have",
    ),
    mutant(
        "payment: a passkey that is asked for need not be used",
        "consent/views/question.py",
        "    if not (posted := request.POST.get(POSTED)):\n        raise CodeWantedError\n",
        "    if not (posted := request.POST.get(POSTED)):\n        return None\n",
        f"{_FACTOR}::test_without_script_the_way_is_by_a_code_and_then_the_passkey_is_not_asked",
    ),
    mutant(
        "payment: a granted question is answered for an old session with a passkey",
        "presentation/requests/next_step.py",
        "undecided = consent is None or consent.decision == Consent.Decision.ASKED\n",
        "undecided = True\n",
        f"{_FACTOR}::test_a_granted_question_is_never_answered_for_an_old_session",
    ),
)
