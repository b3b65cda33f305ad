"""Signing in: codes, links, redirect tasks of one browser, sessions."""

from tools.mutants.mutant import mutant

_CODES, _LINKS = "wallet/sign_in/codes.py", "wallet/sign_in/links.py"
_CODE_TESTS = "wallet/test_sign_in.py"

MUTANTS = (
    mutant(
        "sign-in code: tries without a limit",
        _CODES,
        'rows.filter(tries_left__gt=0).update(tries_left=F("tries_left") - 1)',
        'rows.filter(tries_left__gte=0).update(tries_left=F("tries_left"))',
        f"{_CODE_TESTS}::test_five_wrong_tries_end_a_code_even_for_the_right_one",
        "wallet/test_email_change.py::test_a_wrong_code_says_how_many_tries_are_left_and_five_end_it",
    ),
    mutant(
        "sign-in code: good at the instant it expires",
        _CODES,
        "usable = LoginCode.objects.filter(errand=errand, used_at=None, expires_at__gt=now)",
        "usable = LoginCode.objects.filter(errand=errand, used_at=None, expires_at__gte=now)",
        f"{_CODE_TESTS}::test_a_code_expires_after_ten_minutes",
    ),
    mutant(
        "sign-in code: the tries of another redirect task can be used up",
        _CODES,
        "    usable = LoginCode.objects.filter(errand=errand, used_at=None",
        "    usable = LoginCode.objects.filter(errand__email=errand.email, used_at=None",
        f"{_CODE_TESTS}::test_without_a_code_an_errand_uses_up_no_tries_of_another",
    ),
    mutant(
        "sign-in code: the stored hash is valid for every redirect task",
        _CODES,
        'f"{errand.id}:{code}"',
        "code",
        f"{_CODE_TESTS}::test_a_code_is_good_for_its_own_errand_only",
    ),
    mutant(
        "sign-in code: accepted twice",
        _CODES,
        "        if the_same.update(used_at=now) != 1:\n",
        "        if the_same.update(used_at=None) != 1:\n",
        f"{_CODE_TESTS}::test_a_code_is_good_once",
    ),
    mutant(
        "sign-in: a suspended wallet signs in",
        _CODES,
        "    if not wallet.can_sign_in:\n        raise WalletSuspendedError\n",
        "",
        f"{_CODE_TESTS}::test_the_proven_address_of_a_suspended_wallet_gets_nobody_in",
    ),
    mutant(
        "sign-in link: accepted twice",
        _LINKS,
        "_good(secret, now=now).update(used_at=now) != 1",
        "_good(secret, now=now).update(used_at=None) != 1",
        "wallet/test_sign_in_links.py::test_a_link_is_good_once_and_the_second_of_two_clicks_arrives_where_the_first_does",
    ),
    mutant(
        "sign-in link: good at the instant it expires",
        _LINKS,
        "LoginLink.objects.filter(digest=sha256_hex(secret), used_at=None, expires_at__gt=now)",
        "LoginLink.objects.filter(digest=sha256_hex(secret), used_at=None, expires_at__gte=now)",
        "wallet/test_sign_in_links.py::test_a_link_is_gone_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "sign-in link: signs in a browser that did not ask",
        _LINKS,
        "Errand.objects.filter(browser=browser, email=email, expires_at__gt=now, link_until__gt=now)",
        "Errand.objects.filter(email=email, expires_at__gt=now, link_until__gt=now)",
        "wallet/test_sign_in_links.py::test_the_link_signs_in_nobody_in_a_browser_that_does_not_wait_for_it",
    ),
    mutant(
        "redirect task: continued in another browser",
        "wallet/errands.py",
        "errand is None or browser is None or errand.browser != browser",
        "errand is None or browser is None",
        "wallet/test_sign_in_pages.py::test_an_errand_of_another_browser_tells_nothing",
    ),
    mutant(
        "redirect task: open at the instant it expires",
        "wallet/errands.py",
        "errand.expires_at <= now",
        "errand.expires_at < now",
        "wallet/test_errands.py::test_an_errand_is_gone_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "redirect task: leads to another host",
        "wallet/errands.py",
        'not place.startswith("/") or not url_has_allowed_host_and_scheme(place, allowed_hosts=None)',
        'not place.startswith("/")',
        "wallet/test_errands.py::test_an_errand_leads_to_paths_on_this_host_only",
    ),
    mutant(
        "redirect task: an old sign-in counts as a fresh one",
        "wallet/errands.py",
        "session.signed_in_at >= errand.fresh_since",
        "bool(session.signed_in_at)",
        "wallet/test_sign_in_pages.py::test_an_errand_may_need_a_fresh_factor_of_one_who_is_signed_in",
    ),
    mutant(
        "session: lives on at the instant it ends",
        "wallet/sign_in/sessions.py",
        "rows = HolderSession.objects.filter(digest=digest, expires_at__gt=now,",
        "rows = HolderSession.objects.filter(digest=digest, expires_at__gte=now,",
        "wallet/test_sessions.py::test_it_ends_after_twelve_hours_however_busy",
    ),
    mutant(
        "session: lives on when it was idle for too long",
        "wallet/sign_in/sessions.py",
        "expires_at__gt=now, last_seen_at__gt=now - IDLE)\n    return rows",
        "expires_at__gt=now, last_seen_at__gte=now - IDLE)\n    return rows",
        "wallet/test_sessions.py::test_it_ends_at_the_instant_at_which_it_was_idle_for_half_an_hour",
    ),
    mutant(
        "session: a suspended wallet stays signed in",
        "wallet/sign_in/sessions.py",
        " or session.wallet.state != Wallet.State.ACTIVE or session.wallet.closed_at:\n",
        " or session.wallet.closed_at:\n",
        "wallet/test_sessions.py::test_a_suspended_wallet_is_signed_in_nowhere",
    ),
    mutant(
        "session: one set before the sign-in is kept",
        "wallet/sign_in/sessions.py",
        "    _delete(request)  # by itself",
        "    # by itself",
        "wallet/test_sessions.py::test_every_sign_in_is_a_new_row_and_secret_and_the_old_ones_are_worth_nothing",
    ),
    mutant(
        "session: scripts can read the cookie",
        "infra/browser.py",
        "httponly=True",
        "httponly=False",
        "wallet/test_sessions.py::test_the_cookie_is_out_of_reach_of_scripts",
    ),
)
