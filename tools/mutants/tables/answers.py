"""Interactions and answers: one browser, one answer, and only what the holder has agreed to."""

from tools.mutants.mutant import mutant

_PACKAGE, _TESTS = "presentation/requests", "presentation/requests"
_INTERACTIONS, _NEXT = f"{_PACKAGE}/interactions.py", f"{_PACKAGE}/next_step.py"
_ANSWERS, _DELIVERIES = f"{_PACKAGE}/answers.py", f"{_PACKAGE}/delivery/deliveries.py"
_FLOW, _DECIDING = f"{_TESTS}/test_flow.py", f"{_TESTS}/test_deciding.py"
_POSTED = f"{_TESTS}/test_direct_post.py"
_READING, _WRITING = (
    "presentation/requests/fast_path/reading.py",
    "presentation/requests/fast_path/writing.py",
)
_SETTLEMENT, _SETTLING = f"{_PACKAGE}/answers.py", f"{_TESTS}/test_settlement.py"

_AT_ONCE = f"{_TESTS}/test_asking_at_once.py"

MUTANTS = (
    mutant(
        "interaction: the same request in another browser continues it",
        "presentation/requests/fast_path/reading.py",
        "            AND same.browser = %(browser)s\n",
        "",
        f"{_AT_ONCE}::test_another_browser_begins_an_interaction_of_its_own",
    ),
    mutant(
        "interaction: another request with its nonce continues it",
        "presentation/requests/fast_path/reading.py",
        "            AND same.request_hash = asked.request_hash\n",
        "",
        f"{_AT_ONCE}::test_another_request_begins_an_interaction_of_its_own",
    ),
    mutant(
        "consent page at once: with a payment in the address bar",
        "presentation/entrances/arriving.py",
        "    if opened.request.transaction_data and not is_hidden:\n",
        "    if False:\n",
        f"{_AT_ONCE}::test_a_payment_in_the_address_bar_gets_a_page_of_its_own",
    ),
    mutant(
        "consent page at once: without the factor that a payment needs",
        "consent/views/question.py",
        "        if needs_factor:\n            return None\n",
        "",
        f"{_TESTS}/test_passkey_as_factor.py::test_a_pushed_payment_is_confirmed_at_the_page_of_its_own",
    ),
    mutant(
        "prefetch: inserts what was asked",
        "config/middleware.py",
        'if "prefetch" in request.META.get("HTTP_SEC_PURPOSE", ""):',
        'if "prefetch" == request.META.get("HTTP_SEC_PURPOSE", ""):',
        f"{_AT_ONCE}::test_a_prefetch_inserts_nothing",
    ),
    mutant(
        "interaction: continued in another browser",
        _INTERACTIONS,
        "    if row is None or row.browser != browser:\n        raise InteractionGoneError(row)\n"
        "    if row.outcome",
        "    if row is None:\n        raise InteractionGoneError(row)\n    if row.outcome",
        f"{_FLOW}::test_another_browser_cannot_go_on_with_an_interaction",
    ),
    mutant(
        "interaction: open at the instant at which it expires",
        _INTERACTIONS,
        "if row.outcome or row.expires_at <= now:",
        "if row.outcome or row.expires_at < now:",
        f"{_TESTS}/test_instants.py::test_an_interaction_is_over_from_the_instant_at_which_it_expires",
        f"{_TESTS}/test_instants.py::"
        "test_a_yes_is_not_acted_on_from_the_instant_at_which_the_interaction_expires",
    ),
    mutant(
        "delivery: another browser looks at it",
        _INTERACTIONS,
        "    if row is None or row.browser != browser:\n        raise InteractionGoneError(row)\n"
        "    if not row.answer_is_posted",
        "    if row is None:\n        raise InteractionGoneError(row)\n    if not row.answer_is_posted",
        f"{_POSTED}::test_another_browser_can_neither_look_nor_try_again",
        f"{_POSTED}::test_another_browser_does_not_learn_where_the_application_sent_this_one",
    ),
    mutant(
        "payment: a factor that is a moment too old",
        _NEXT,
        "FRESH_FACTOR = fresh.FRESH_FOR",
        "FRESH_FACTOR = fresh.FRESH_FOR + fresh.FRESH_FOR.resolution",
        f"{_TESTS}/test_instants.py::test_a_factor_of_exactly_five_minutes_is_fresh_enough_for_a_payment",
    ),
    mutant(
        "payment: a factor of exactly the age that is allowed is refused",
        _NEXT,
        "session.signed_in_at < earliest",
        "session.signed_in_at <= earliest",
        f"{_TESTS}/test_instants.py::test_a_factor_of_exactly_five_minutes_is_fresh_enough_for_a_payment",
    ),
    mutant(
        "payment: no fresh factor is asked for",
        _NEXT,
        "        moments.append(began - FRESH_FACTOR)\n",
        "        pass\n",
        f"{_FLOW}::test_a_payment_asks_for_a_fresh_sign_in_and_session_data_does_not",
    ),
    mutant(
        "next step: another person's wallet is asked",
        _NEXT,
        'if session is None or request.login_hint not in ("", session.wallet.email):',
        "if session is None:",
        f"{_FLOW}::test_another_wallet_than_the_hinted_one_is_asked_to_sign_in",
    ),
    mutant(
        "next step: answered without consent",
        _NEXT,
        "    if decisions.granted_for(\n",
        "    if consent.asked_at or decisions.granted_for(\n",
        f"{_DECIDING}::test_without_a_consent_there_is_nothing_to_decide",
        f"{_DECIDING}::test_an_unknown_decision_decides_nothing",
        f"{_TESTS}/test_instants.py::test_an_interaction_is_over_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "answer: of a credential that was revoked after the consent",
        _NEXT,
        "    credential = credentials.valid_credential(session.wallet, now=now)\n",
        '    credential = getattr(session.wallet, "credential", None)\n',
        f"{_FLOW}::test_a_grant_does_not_outlive_the_credential",
    ),
    mutant(
        "answer: to a client that was suspended after the request",
        _INTERACTIONS,
        "        if self.relying_party.state != RelyingParty.State.ACTIVE:\n",
        "        if not self.relying_party.state:\n",
        f"{_FLOW}::test_suspended_in_mid_flow_nothing_is_redirected",
    ),
    mutant(
        "answer: to a redirect URI that is no longer registered",
        _INTERACTIONS,
        "        check_return_address(self.return_address, self.relying_party, self.registered_uris)\n",
        "",
        f"{_FLOW}::test_a_redirect_uri_removed_during_the_flow_gets_no_answer",
    ),
    mutant(
        "answer: to a request that was changed after the consent",
        _ANSWERS,
        "if parameters_hash(opened.parameters) != row.request_hash:",
        "if not row.request_hash:",
        f"{_FLOW}::test_a_grant_for_another_request_is_worth_nothing",
    ),
    mutant(
        "answer: with claims that were not shown",
        _ANSWERS,
        "if (shown, optional) != (match.selection.claims, match.selection.optional):",
        "if optional != match.selection.optional:",
        "test_attacks.py::test_a_consent_does_not_cover_claims_that_were_not_shown",
    ),
    mutant(
        "answer: with a credential that was issued after the question",
        _ANSWERS,
        "if match.credential.issued_at > consent.asked_at:",
        "if match.credential.issued_at is None:",
        "test_attacks.py::test_a_consent_does_not_cover_what_a_later_identity_check_found",
    ),
    mutant(
        "answer: with the age of another day than was shown",
        _ANSWERS,
        "            today=days.as_asked(consent.asked_at, consent.minutes_ahead),\n",
        "            today=now.date(),\n",
        f"{_FLOW}::test_an_age_is_signed_as_it_was_shown_over_midnight_too",
    ),
    mutant(
        "answer: two tokens when tabs race",
        _ANSWERS,
        "Interaction.objects.filter(id=interaction.id, outcome=Interaction.Outcome.NONE)",
        "Interaction.objects.filter(id=interaction.id)",
        f"{_FLOW}::test_racing_requests_to_an_interaction_get_one_token",
    ),
    mutant(
        "answer at once: to a redirect URI that was removed",
        _SETTLEMENT,
        "        opened.checked_address  # noqa: B018 (raises if it is no longer registered)\n",
        "",
        f"{_SETTLING}::test_a_redirect_uri_that_was_removed_gets_no_answer",
    ),
    mutant(
        "answer at once: a place without a yes",
        _WRITING,
        "        WHERE EXISTS (SELECT FROM granted)\n",
        "",
        f"{_SETTLING}::test_a_no_from_another_tab_meanwhile_stays_a_no",
    ),
    mutant(
        "answer at once: with a handle that was used",
        _WRITING,
        "        AND (%(handle_digest)s = '' OR EXISTS (SELECT FROM unused))\n",
        "",
        f"{_TESTS}/test_pushed_requests.py::test_two_browsers_with_one_handle_get_one_answer",
    ),
    mutant(
        "answer: a refusal leaves the question open",
        _ANSWERS,
        "            decisions.withdraw(row.consent_id, now=now)\n",
        "",
        f"{_SETTLING}::test_a_yes_that_comes_after_the_refusal_is_not_stored",
    ),
    mutant(
        "answer: a refusal after a yes leaves it shared",
        _ANSWERS,
        "            decisions.note_undelivered(row.consent_id, now=now)\n        _close(",
        "        _close(",
        f"{_SETTLING}::test_a_refusal_after_a_yes_leaves_a_receipt_that_says_that_nothing_was_shared",
    ),
    mutant(
        "answer: a yes after the refusal stays shared",
        _ANSWERS,
        "        if row.outcome == Interaction.Outcome.ERROR:  # a refusal came after the yes\n",
        "        if not row.outcome:\n",
        f"{_SETTLING}::test_an_interaction_that_ends_meanwhile_gets_no_second_answer",
    ),
    mutant(
        "next step: the last of two tabs asks",
        "presentation/requests/next_step.py",
        "        stored = before == after or unchanged.update(**after) == 1\n",
        "        stored = unchanged.update(**after) >= 0 and Interaction.objects.filter(id=row.id)"
        ".update(**after) == 1\n",
        f"{_TESTS}/test_flow.py::test_of_two_tabs_that_go_on_at_once_one_asks_the_question",
    ),
    mutant(
        "before a click: a fault of ours is sent to whoever is signed in",
        "presentation/entrances/refusing.py",
        "            return error_pages.our_fault(context.request, context.client, refusal)\n",
        "            return _refuse_at_once(context.request, context.client, refusal)\n",
        f"{_TESTS}/test_unreadable_identity.py::"
        "test_an_identity_that_does_not_unseal_is_our_fault_and_stays_stored",
    ),
    mutant(
        "delivery: the browser keeps the fragment that somebody else chose",
        "presentation/entrances/sending.py",
        'return redirect_to(redirect_uri if "#" in redirect_uri else f"{redirect_uri}#")',
        "return redirect_to(redirect_uri)",
        f"{_TESTS}/test_direct_post.py::"
        "test_a_token_is_posted_and_the_browser_sent_where_the_application_says",
    ),
    mutant(
        "answer: an error after a token, because the page was loaded twice",
        _ANSWERS,
        "if twin := twins.first():",
        "if twin := twins.none().first():",
        f"{_SETTLING}::test_a_nonce_that_gave_a_token_meanwhile_gives_no_other",
    ),
    mutant(
        "answer at once: closed without a place",
        _WRITING,
        " AND outcome = '' AND EXISTS (SELECT FROM given)\n",
        " AND outcome = ''\n",
        f"{_SETTLING}::test_a_place_that_another_takes_meanwhile_costs_nothing_but_the_careful_way",
    ),
    mutant(
        "answer at once: given although not all was written",
        _SETTLEMENT,
        "        if not write_answer(row, match.credential, index, term, switched_on=switched_on, now=now):\n"
        "            return None\n",
        "        write_answer(row, match.credential, index, term, switched_on=switched_on, now=now)\n",
        f"{_SETTLING}::test_what_is_set_aside_meanwhile_is_not_shared",
    ),
    mutant(
        "answer: what was asked is kept",
        _ANSWERS,
        "        parameters={},\n        sealed_transaction_data=None,\n        redirect_task=None,\n",
        "        redirect_task=None,\n",
        f"{_FLOW}::test_the_answer_erases_the_parameters",
    ),
    mutant(
        "caches: keep the answer that the browser carries",
        "presentation/entrances/sending.py",
        '            "Cache-Control": "no-store",\n',
        "",
        f"{_DECIDING}::test_a_signed_in_holder_needs_two_requests",
    ),
    mutant(
        "delivery: to a response URI that is no longer registered",
        _DELIVERIES,
        "        uri=interaction.response_uri,\n",
        "",
        f"{_POSTED}::test_a_response_uri_removed_during_the_flow_gets_no_answer",
    ),
    mutant(
        "delivery: to a client that was suspended meanwhile",
        _DELIVERIES,
        "        relying_party__state=RelyingParty.State.ACTIVE,\n",
        "",
        f"{_POSTED}::test_suspended_meanwhile_nothing_is_posted_any_more",
    ),
    mutant(
        "delivery: posted at the instant at which it expires",
        _DELIVERIES,
        "return rows.filter(expires_at__gt=now, tries__lt=MOST_TRIES)",
        "return rows.filter(expires_at__gte=now, tries__lt=MOST_TRIES)",
        f"{_POSTED}::test_an_answer_is_not_posted_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "delivery: posted by two requests at once",
        _DELIVERIES,
        "rows = Delivery.objects.filter(Q(taken_until=None) | Q(taken_until__lte=now), pk=interaction.pk)",
        "rows = Delivery.objects.filter(pk=interaction.pk)",
        f"{_POSTED}::test_racing_tries_post_the_answer_once",
    ),
    mutant(
        "delivery: the browser is redirected to any address",
        "presentation/relying_parties/metadata/redirect_uris.py",
        '    if scheme not in {"https", *(address.partition(":")[0] for address in registered)}:\n'
        "        return False\n",
        "",
        f"{_POSTED}::test_an_answer_that_may_not_be_followed_leads_to_the_page_that_says_done",
    ),
    mutant(
        "encryption: the answer is posted in clear",
        f"{_PACKAGE}/delivery/posting.py",
        'if recipient and "vp_token" in fields:',
        'if recipient and "vp_token" not in fields:',
        f"{_POSTED}::test_direct_post_jwt_is_encrypted_to_the_key_of_the_request",
    ),
    mutant(
        "encryption: to a registered key in place of that of the request",
        "presentation/encryption.py",
        'usable = [*_usable(metadata.get("jwks", {"keys": []})), *registered]',
        'usable = [*registered, *_usable(metadata.get("jwks", {"keys": []}))]',
        f"{_TESTS}/test_response_encryption.py::test_a_registered_key_is_used_if_the_request_has_none",
    ),
    mutant(
        "encryption: to a key that is not for it",
        "presentation/encryption.py",
        "return [key for key in keys if is_for_encryption(key)]",
        "return list(keys)",
        f"{_TESTS}/test_response_encryption.py::test_a_key_that_cannot_be_used_is_passed_over",
    ),
    mutant(
        "outcome: shown to another client",
        "presentation/outcomes.py",
        "            relying_party__client_id=client_id,\n",
        "",
        f"{_TESTS}/test_outcomes.py::test_another_partys_request_is_as_unknown_as_one_that_was_never_made",
    ),
    mutant(
        "verification: for a client to whom it was not presented",
        "presentation/verification.py",
        "audience=client_id, nonce=verification_request.nonce",
        "audience=__import__('json').loads("
        "__import__('base64').urlsafe_b64decode(one.split('.')[-2] + '=='))['aud'], "
        "nonce=verification_request.nonce",
        "presentation/test_verification.py::"
        "test_a_presentation_to_another_application_is_not_valid_for_this_one",
    ),
    mutant(
        "retention: a nonce that gave a token is forgotten too early",
        "presentation/retention.py",
        "NONCE_REMEMBERED = timedelta(days=400)",
        "NONCE_REMEMBERED = timedelta(days=300)",
        "presentation/test_clearing.py::"
        "test_a_nonce_that_gave_a_token_is_remembered_for_a_year_and_the_consent_for_ever",
    ),
    *(
        mutant(
            f"fast path: {name}",
            _READING,
            found,
            instead,
            "presentation/test_fast_path.py::test_what_has_ended_is_read_as_by_the_orm",
        )
        for name, found, instead in (
            ("a session that has ended", "        AND session.expires_at > %(now)s\n", ""),
            ("a session that is idle", "        AND session.last_seen_at > %(idle_since)s\n", ""),
            (
                "what was not delivered was shared",
                "        AND (consent.undelivered_at IS NULL OR consent.undelivered_at > %(now)s)\n",
                "",
            ),
        )
    ),
    mutant(
        "fast path: the yes of another holder",
        _WRITING,
        "        AND (wallet_id = %(wallet)s AND decision = 'asked' AND expires_at > %(now)s) IS TRUE\n",
        "",
        f"{_SETTLING}::test_a_no_from_another_tab_meanwhile_stays_a_no",
    ),
    mutant(
        "fast path: a revoked credential is presented",
        _WRITING,
        "        AND credential.state = 'valid' AND wallet.state = 'active'\n",
        "",
        f"{_SETTLING}::test_what_is_set_aside_meanwhile_is_not_shared",
    ),
    mutant(
        "fast path: a retired key signs",
        _WRITING,
        " AND signs.state = 'active'\n",
        "\n",
        f"{_SETTLING}::test_a_key_that_is_retired_meanwhile_signs_nothing_that_leaves",
    ),
)
