"""The holder's decision: whose it is, what it is good for, and that it is made once."""

from tools.mutants.mutant import mutant

_DECISIONS, _TESTS = "consent/decisions.py", "consent/test_decisions.py"

MUTANTS = (
    mutant(
        "consent: good for another request",
        _DECISIONS,
        " and consent.request_hash == request_hash",
        "",
        f"{_TESTS}::test_a_yes_is_good_for_exactly_its_request_and_wallet",
    ),
    mutant(
        "consent: of another wallet",
        _DECISIONS,
        " and consent.wallet_id == wallet.pk\n",
        "\n",
        f"{_TESTS}::test_a_yes_is_good_for_exactly_its_request_and_wallet",
    ),
    mutant(
        "consent: declining counts as agreeing",
        _DECISIONS,
        "        consent.decision == wanted and",
        "        consent.decision != Consent.Decision.ASKED and",
        f"{_TESTS}::test_a_no_is_good_for_nothing",
    ),
    mutant(
        "consent: given at the instant the question expires",
        _DECISIONS,
        "decision=Consent.Decision.ASKED, expires_at__gt=now\n    )\n    if still_open",
        "decision=Consent.Decision.ASKED, expires_at__gte=now\n    )\n    if still_open",
        f"{_TESTS}::test_a_question_cannot_be_answered_from_the_moment_it_expires",
    ),
    mutant(
        "consent: given from another wallet",
        _DECISIONS,
        "id=consent_id, wallet=wallet, decision=Consent.Decision.ASKED, expires_at__gt=now\n",
        "id=consent_id, decision=Consent.Decision.ASKED, expires_at__gt=now\n",
        f"{_TESTS}::test_a_question_cannot_be_answered_from_another_wallet",
    ),
    mutant(
        "consent: decided twice",
        _DECISIONS,
        "id=consent_id, wallet=wallet, decision=Consent.Decision.ASKED, expires_at__gt=now\n",
        "id=consent_id, wallet=wallet, expires_at__gt=now\n",
        f"{_TESTS}::test_a_second_answer_changes_nothing",
    ),
    mutant(
        "consent page: shows the question of another holder",
        "consent/views/question.py",
        "    if consent.wallet_id != session.wallet_id:\n"
        '        return _closed(request, consent, session, "other")\n'
        "    if consent.decision",
        "    if consent.decision",
        "consent/test_review.py::test_another_holders_question_shows_nothing_of_it",
    ),
    mutant(
        "consent page: shows a question at the instant it expires",
        "consent/views/question.py",
        "if credential is None or consent.expires_at <= now:\n",
        "if credential is None or consent.expires_at < now:\n",
        "presentation/requests/test_instants.py::test_a_question_is_over_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "consent page: the page of one holder decides for another",
        "consent/views/question.py",
        "    if request.POST.get(PAGE, own_address) != own_address:\n        return _onwards(consent)\n",
        "",
        "presentation/requests/test_without_login_hint.py::test_a_page_of_the_first_holder_cannot_decide_for_the_second",
    ),
    mutant(
        "consent page: a value becomes HTML",
        "templates/consent/claims.html",
        '<bdi translate="no">{{ claim.value }}</bdi>',
        '<bdi translate="no">{{ claim.value|safe }}</bdi>',
        "consent/test_question_page.py::test_no_text_of_a_relying_party_or_of_a_person_becomes_html",
    ),
    mutant(
        "consent page: an e-mail address in a cached fragment",
        "templates/consent/review.html",
        "<span>{% blocktranslate trimmed %}Signed in as <strong>{{ signed_in_email }}</strong>"
        "{% endblocktranslate %}</span>",
        "{% cache None signed_in language %}<span>{{ signed_in_email }}</span>{% endcache %}",
        "consent/test_question_page.py::test_nothing_of_a_person_is_cached",
    ),
    mutant(
        "consent page: what adds up in a cached fragment",
        "templates/consent/review.html",
        "with facts=question.adds_up %}{% endif %}\n"
        "{% cache None withheld language question.same_for_everybody %}{% if question.not_shared",
        "with facts=question.adds_up %}{% endif %}\n"
        "{% cache None withheld language question.same_for_everybody %}"
        '{% include "consent/adds_up.html" with facts=question.adds_up %}{% if question.not_shared',
        "consent/test_question_page.py::test_nothing_of_a_person_is_cached",
    ),
    mutant(
        "consent page: a fragment in the language of somebody else",
        "templates/consent/about.html",
        "{% cache None known language question",
        "{% cache None known question",
        "consent/test_question_page.py::test_a_question_that_differs_in_one_thing_gets_a_page_of_its_own",
    ),
    mutant(
        "consent page: a fragment of a question about other claims",
        "consent/question_page.py",
        "            [claim.path for claim in self.claims],\n            self.told,\n",
        "            [claim.path for claim in self.claims],\n",
        "consent/test_question_page.py::test_a_question_that_differs_in_one_thing_gets_a_page_of_its_own",
    ),
    mutant(
        "consent page: a fragment of a requester that registered otherwise",
        "consent/question_page.py",
        "            self.consent.requester_is_unchecked,\n            [claim",
        "            [claim",
        "consent/test_question_page.py::test_a_question_that_differs_in_one_thing_gets_a_page_of_its_own",
    ),
    mutant(
        "consent page: says what the query of a relying party says",
        "consent/question_page.py",
        '        context |= {"more_time": False}\n',
        "",
        "consent/test_question_page.py::test_a_relying_party_cannot_make_the_page_say_what_happened_before",
    ),
    mutant(
        "consent page: caches keep the claims",
        "consent/views/question.py",
        'headers = {"Cache-Control": "no-store"}\n',
        "headers = {}\n",
        "consent/test_review.py::test_nothing_about_a_question_is_kept_by_a_cache",
    ),
    mutant(
        "consent page: caches keep what was decided",
        "consent/views/question.py",
        '    response.headers["Cache-Control"] = "no-store"\n',
        "",
        "consent/test_review.py::test_nothing_about_a_question_is_kept_by_a_cache",
    ),
    mutant(
        "receipt: taken back by another holder",
        "consent/views/receipts.py",
        "get_object_or_404(Consent, wallet=wallet, **which)",
        "get_object_or_404(Consent, **which)",
        "consent/test_invalidating.py::test_nobody_takes_back_what_is_not_theirs",
    ),
    mutant(
        "record: the transactions open in another row",
        "infra/sealing.py",
        "return str(row.SEALED[column].format(pk=row.pk))",
        "return str(row.SEALED[column])",
        "test_personal_data_at_rest.py::test_a_sealed_value_does_not_open_in_another_row",
    ),
)
