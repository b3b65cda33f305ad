"""The number by which a sector recognises a holder: whose it is, who may ask, and what becomes of it."""

from tools.mutants.mutant import mutant

_SUBJECTS, _ANSWERS = "wallet/account/pairwise.py", "presentation/requests/answers.py"
_PARTIES = "presentation/relying_parties/models/relying_parties.py"
_REQUEST, _STEP = "presentation/requests/wire_formats/openid4vp.py", "presentation/requests/next_step.py"
_NUMBERS, _FLOW = "wallet/test_pairwise.py", "presentation/requests/test_recognising.py"

MUTANTS = (
    mutant(
        "recognition: all seeds are the same",
        _SUBJECTS,
        "secrets.token_bytes(SEED)",
        "bytes(SEED)",
        f"{_NUMBERS}::test_it_is_the_hash_of_the_sector_under_a_seed_that_nobody_else_has",
    ),
    mutant(
        "recognition: the number is the same for every sector with the same seed",
        _SUBJECTS,
        "row.sector.encode()",
        'b"sector"',
        f"{_NUMBERS}::test_no_two_sectors_share_a_number_even_if_they_shared_a_seed",
    ),
    mutant(
        "recognition: parallel first requests do not wait for each other",
        _SUBJECTS,
        "Wallet.objects.select_for_update().filter(",
        "Wallet.objects.filter(",
        f"{_NUMBERS}::test_all_that_ask_for_the_first_time_at_once_get_the_same",
    ),
    mutant(
        "recognition: a wallet that was closed gets a number",
        _SUBJECTS,
        "filter(id=wallet.pk, closed_at=None)",
        "filter(id=wallet.pk)",
        f"{_NUMBERS}::test_a_wallet_that_was_closed_has_none_and_the_next_wallet_of_the_person_is_somebody_new",
    ),
    mutant(
        "recognition: a closed wallet keeps its numbers",
        "wallet/account/closing/closures.py",
        "        Subject.objects.filter(wallet=wallet).delete()\n",
        "",
        f"{_NUMBERS}::test_a_wallet_that_was_closed_has_none_and_the_next_wallet_of_the_person_is_somebody_new",
    ),
    mutant(
        "recognition: forgetting one number forgets all",
        _SUBJECTS,
        "    Subject.objects.filter(wallet=wallet, sector=sector).delete()\n",
        "    Subject.objects.filter(wallet=wallet).delete()\n",
        f"{_NUMBERS}::test_who_has_it_forgotten_is_somebody_new_to_that_sector_alone",
    ),
    mutant(
        "recognition: a wallet that moves leaves its numbers behind",
        "wallet/account/recovery/moving.py",
        "    pairwise.bring(source, into)\n",
        "",
        f"{_NUMBERS}::test_a_wallet_that_moves_takes_both_along_and_where_both_have_one_that_of_the_old_wallet_stays",
    ),
    mutant(
        "recognition: the page's sector is not the one that counts",
        _ANSWERS,
        'consent.requester["sector"]',
        "opened.relying_party.recognises_in",
        f"{_FLOW}::test_a_sector_that_changes_while_the_page_is_open_gives_the_number_that_the_page_was_about",
    ),
    mutant(
        "recognition: the number is made although the holder leaves it off",
        _ANSWERS,
        "    if SUBJECT in shared:\n",
        "    if SUBJECT in match.selection.claims:\n",
        f"{_FLOW}::test_the_number_is_not_made_before_the_holder_agrees_to_it",
    ),
    mutant(
        "recognition: a presentation may have an empty number",
        "wallet/credential/credentials.py",
        "        if not binding.subject:\n",
        "        if binding.subject is None:\n",
        "wallet/test_credentials.py::test_without_a_number_no_presentation_says_that_somebody_can_be_recognised",
    ),
    mutant(
        "recognition: a query can name an empty number",
        "wallet/credential/credentials.py",
        "subject or None",
        "subject",
        f"{_FLOW}::test_a_query_can_demand_the_person_of_last_time",
    ),
    mutant(
        "recognition: nobody is the person of last time",
        _STEP,
        "evaluation.demands_value(query, SUBJECT)",
        "False",
        f"{_FLOW}::test_a_query_can_demand_the_person_of_last_time",
    ),
    mutant(
        "recognition: a scope allows it without an operator",
        _REQUEST,
        "    if name in scope.required:\n",
        "    if not name:\n",
        f"{_FLOW}::test_nobody_may_ask_for_it_whom_no_operator_has_allowed_to",
    ),
    mutant(
        "recognition: a scope with it as optional asks for it without an operator",
        _REQUEST,
        "for claim in scope.query.optional if claim.path != claims.SUBJECT)",
        "for claim in scope.query.optional)",
        f"{_FLOW}::test_a_scope_in_which_it_is_optional_works_without_it_for_who_may_not_ask",
    ),
    mutant(
        "recognition: an allowed claim allows it without the flag",
        _PARTIES,
        "return frozenset(chosen) - {SUBJECT} | own",
        "return frozenset(chosen) | own",
        f"{_FLOW}::test_nobody_may_ask_for_it_whom_no_operator_has_allowed_to",
    ),
    mutant(
        "recognition: the sector changes although people are recognised by it",
        _PARTIES,
        "fixed = pairwise.is_used(before.recognises_in)",
        "fixed = pairwise.is_used(self.recognises_in)",
        f"{_FLOW}::test_the_sector_stays_once_somebody_is_recognised_by_it",
    ),
    mutant(
        "recognition: the page does not name those who were joined",
        _PARTIES,
        'Q(sector=self.recognises_in) | Q(sector="", client_id=self.recognises_in)',
        "Q(pk=self.pk)",
        f"{_FLOW}::test_the_page_names_all_who_can_recognise_the_holder_and_shows_no_number",
    ),
    mutant(
        "recognition: anybody has the number of another forgotten",
        "consent/views/receipts.py",
        "get_object_or_404(Consent, wallet=wallet, **which)",
        "get_object_or_404(Consent, **which)",
        f"{_FLOW}::test_nobody_has_the_number_of_another_forgotten",
    ),
)
