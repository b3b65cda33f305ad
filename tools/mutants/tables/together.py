"""What several answers say together, what a requester knows, reports, and the bound on ages in a year."""

from tools.mutants.mutant import mutant

_TOGETHER, _TESTS = "wallet/credential/together.py", "wallet/test_together.py"
_PAGE, _PAGE_TESTS = "consent/question_page.py", "consent/test_adds_up.py"
_KNOWN, _KNOWN_TESTS = "consent/requesters.py", "consent/test_requesters.py"
_AGES = "presentation/requests/test_ages_a_year.py"

MUTANTS = (
    mutant(
        "together: a birthday on 29 February",
        "infra/moments.py",
        "return day.replace(year=day.year - years, day=28)",
        "return day.replace(year=day.year - years, month=3, day=1)",
        f"{_TESTS}::test_whether_an_age_is_reached_depends_on_the_last_birth_date",
    ),
    mutant(
        "together: the day of the birthday itself",
        _TOGETHER,
        "day for day in turned if latest(birth_date) <= day",
        "day for day in turned if latest(birth_date) < day",
        f"{_TESTS}::test_what_answers_say_is_true_of_exactly_those_who_would_answer_the_same",
    ),
    mutant(
        "together: the day after a no",
        _TOGETHER,
        "max((day + ONE_DAY for day in turned",
        "max((day for day in turned",
        f"{_TESTS}::test_what_answers_say_is_true_of_exactly_those_who_would_answer_the_same",
    ),
    mutant(
        "together: what was known before is told again",
        _TOGETHER,
        "or last is None or found == born(birth_date, earlier):",
        "or last is None:",
        f"{_TESTS}::test_there_is_a_sentence_only_for_something_new_that_has_two_ends",
    ),
    mutant(
        "together: an age that is known only nearly",
        _TOGETHER,
        "    elif years == oldest:",
        "    elif years <= oldest:",
        f"{_TESTS}::test_sentences_about_an_age",
    ),
    mutant(
        "together: the birth date is shared anyway",
        _TOGETHER,
        'found = [] if "birth_date" in shared else ',
        "found = ",
        f"{_TESTS}::test_nothing_is_added_for_those_who_know_the_birth_date",
    ),
    mutant(
        "together: a country that a no rules out",
        _TOGETHER,
        "left = [each - ruled_out for each",
        "left = [each for each",
        f"{_TESTS}::test_a_union_and_what_is_no_single_out_a_nationality",
    ),
    mutant(
        "together: a country that a yes is told of",
        _TOGETHER,
        "ruled_out = {code for each in asked if not each & own for code in each}",
        "ruled_out = {code for each in asked for code in each}",
        f"{_TESTS}::test_a_union_and_what_is_no_single_out_a_nationality",
    ),
    mutant(
        "together: a nationality that was asked by itself",
        _TOGETHER,
        "for code in each} - known",
        "for code in each}",
        f"{_TESTS}::test_whoever_is_singled_out_has_that_nationality_as_all_have_who_would_answer_the_same",
    ),
    mutant(
        "adds up: kept with the pieces of pages",
        _PAGE,
        "question.transactions or question.adds_up or closes",
        "question.transactions or closes",
        f"{_PAGE_TESTS}::test_nothing_of_it_is_kept_with_the_pieces_of_pages",
    ),
    mutant(
        "adds up: a birthday that passed since the last answer",
        "wallet/credential/credentials.py",
        "path[0] != together.AGE or ",
        "True or ",
        f"{_PAGE_TESTS}::test_a_birthday_that_passed_between_a_no_and_a_yes_gives_a_range_of_dates",
    ),
    mutant(
        "adds up: what was not delivered",
        "consent/decisions.py",
        "not_ended, **parties, decision=Consent.Decision.GRANTED)",
        "**parties, decision=Consent.Decision.GRANTED)",
        f"{_PAGE_TESTS}::test_all_that_was_shared_with_the_requester_counts_and_nothing_else",
    ),
    mutant(
        "requesters: reported once a month",
        _KNOWN,
        '        take(REPORTS_OF_ONE, f"{wallet.id}\\n{requester_id}", now=now, taken=taken)\n',
        "",
        f"{_KNOWN_TESTS}::test_a_holder_reports_each_requester_once_a_month_and_a_few_a_day",
    ),
    mutant(
        "requesters: asked to delete what others got",
        _KNOWN,
        "decisions.shared_with(wallet=wallet, requester_id=requester_id, now=now)",
        "decisions.shared_with(wallet=wallet, now=now)",
        f"{_KNOWN_TESTS}::test_the_date_is_remembered_of_what_they_had_by_then",
    ),
    mutant(
        "requesters: the page of another holder",
        _KNOWN,
        "asked = Consent.objects.filter(wallet=wallet, requester_id=requester_id)",
        "asked = Consent.objects.filter(requester_id=requester_id)",
        f"{_KNOWN_TESTS}::test_nobody_sees_the_page_of_another_holder_or_of_a_stranger",
    ),
    mutant(
        "ages: more than three in a request",
        "presentation/requests/authorization_request.py",
        "if len(paths) > claims.MOST_QUESTIONS:",
        "if len(paths) > claims.MOST_QUESTIONS + 1:",
        f"{_AGES}::test_more_than_three_questions_of_one_family_are_refused_at_once",
    ),
    mutant(
        "ages: several scopes together",
        "presentation/requests/authorization_request.py",
        "if len(queries_of_scopes) > 1:",
        "if len(queries_of_scopes) > 9:",
        f"{_AGES}::test_scopes_count_together",
    ),
    mutant(
        "ages: beyond the bound of a year",
        "presentation/requests/next_step.py",
        "return len(ages | learned) > party.most_ages_a_year",
        "return len(ages) > party.most_ages_a_year",
        f"{_AGES}::test_beyond_the_bound_a_request_ends_as_one_that_cannot_be_met",
    ),
    mutant(
        "ages: two open requests",
        "presentation/requests/next_step.py",
        "if _learns_too_much(opened, session, decisions.shared_by(consent), now=now):",
        "if False:",
        f"{_AGES}::test_of_two_open_requests_the_second_yes_shares_nothing",
    ),
    mutant(
        "ages: two answers at once",
        "presentation/requests/next_step.py",
        "if agrees and opened.relying_party.most_ages_a_year is not None:",
        "if False:",
        f"{_AGES}::test_of_two_answers_at_once_the_bound_lets_at_most_one_through",
    ),
    mutant(
        "together: a no says that nobody is older than the youngest possible",
        _TOGETHER,
        "for day in turned if earliest(birth_date) > day",
        "for day in turned if latest(birth_date) > day",
        "wallet/test_birth_dates.py::test_what_answers_say_together_is_what_those_say_that_were_given",
    ),
    mutant(
        "together: a yes says that nobody is younger than the eldest possible",
        _TOGETHER,
        "for day in turned if latest(birth_date) <= day",
        "for day in turned if earliest(birth_date) <= day",
        "wallet/test_birth_dates.py::test_what_answers_say_together_is_what_those_say_that_were_given",
    ),
)
