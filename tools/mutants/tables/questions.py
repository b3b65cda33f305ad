"""Claims that answer a question: what they say, who may ask, and that tokens tell nothing else."""

from tools.mutants.mutant import mutant

_CLAIMS = "wallet/credential/claims.py"
_TESTS = "wallet/test_questions.py"

MUTANTS = (
    mutant(
        "questions: an age is reached a year late",
        _CLAIMS,
        "return age(born, today) >= years",
        "return age(born, today) > years",
        f"{_TESTS}::test_an_age_is_reached_on_the_birthday_and_not_a_day_before",
    ),
    mutant(
        "questions: of a year of birth the first day counts",
        _CLAIMS,
        "return youngest >= years if (youngest >= years) == (eldest >= years) else None",
        "return eldest >= years",
        "wallet/test_birth_dates.py::test_an_age_is_answered_as_for_every_possible_birth_date_or_not_at_all",
    ),
    mutant(
        "questions: what depends on an unknown day is a no",
        _CLAIMS,
        "(eldest >= years) else None",
        "(eldest >= years) else False",
        "wallet/test_birth_dates.py::test_an_age_is_answered_as_for_every_possible_birth_date_or_not_at_all",
    ),
    mutant(
        "questions: an age turns where days begin first",
        "wallet/credential/days.py",
        "return now.astimezone(zone).date()",
        "return newest(now)",
        "wallet/test_days.py::test_an_age_turns_when_the_birthday_begins_in_the_zone",
    ),
    mutant(
        "questions: a document ends where days end last",
        "wallet/credential/days.py",
        "BEGINS_FIRST = timezone(timedelta(hours=14))",
        "BEGINS_FIRST = timezone(timedelta(hours=-12))",
        "wallet/test_days.py::test_a_document_has_ended_as_soon_as_its_last_day_is_over_anywhere",
    ),
    mutant(
        "questions: everybody can present every age",
        "presentation/requests/next_step.py",
        "same_for_everyone = same_for_everyone and credentials.has_whole_birth_date(credential)",
        "pass",
        "presentation/requests/test_partly_known_birth_date.py"
        "::test_an_age_that_depends_on_the_unknown_day_is_not_there_and_never_a_no",
    ),
    mutant(
        "questions: a nationality is in no union",
        _CLAIMS,
        "_is_in(identity, members(code))",
        "_is_in(identity, frozenset({code}))",
        f"{_TESTS}::test_a_nationality_is_in_a_union_if_one_of_them_is",
    ),
    mutant(
        "questions: an unknown nationality is none of those asked",
        _CLAIMS,
        "return None if None in own or not own else False",
        "return None if None in own else False",
        f"{_TESTS}::test_nothing_is_said_of_a_nationality_that_nobody_knows",
    ),
    mutant(
        "questions: a stored code that is not understood is a no",
        _CLAIMS,
        "return None if None in own or not own else False",
        "return None if not own else False",
        "wallet/test_countries.py::test_a_stored_code_that_is_not_understood_is_never_a_no",
    ),
    mutant(
        "questions: a value that is no country is a condition that nobody meets",
        "presentation/requests/authorization_request.py",
        "if claims.says_a_country(claim.path) and",
        "if claim.path == () and",
        "presentation/dcql/test_dcql_flow.py::"
        "test_a_question_about_a_code_that_is_no_country_is_refused_and_not_answered_with_no",
    ),
    mutant(
        "questions: letters of another alphabet become those of a country",
        "wallet/credential/countries.py",
        'if re.fullmatch("[A-Za-z]{1,3}", written, re.ASCII):',
        "if len(written) <= 3:",
        "wallet/test_countries.py::test_what_is_no_country_is_none_wherever_it_comes_from",
    ),
    mutant(
        "questions: any number is an age",
        _CLAIMS,
        "_YEARS.fullmatch(years) and int(years) <= HIGHEST_AGE",
        "_YEARS.fullmatch(years)",
        f"{_TESTS}::test_what_asks_nothing_is_no_claim",
    ),
    mutant(
        "questions: who may ask any age may ask any nationality",
        _CLAIMS,
        '(path[0], "*") in permissions',
        'any(each[-1] == "*" for each in permissions)',
        f"{_TESTS}::test_a_family_is_permitted_as_a_whole_or_one_by_one",
    ),
    mutant(
        "questions: the number of digests tells how many were asked",
        "wallet/sd_jwt/issuance.py",
        "issuance.digests.get(path, 0)",
        "0",
        "presentation/dcql/test_dcql_flow.py::test_the_number_of_digests_tells_nothing_of_what_was_asked_nor_of_whom",
    ),
)
