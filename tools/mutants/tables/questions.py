"""Claims that answer a question: what they say, who may ask, and that tokens tell nothing else."""

from tools.mutants.mutant import mutant

_CLAIMS = "wallet/credential/claims.py"
_TESTS = "wallet/test_questions.py"

MUTANTS = (
    mutant(
        "questions: an age is reached a year late",
        _CLAIMS,
        "age(identity.birth_date, today) >= threshold",
        "age(identity.birth_date, today) > threshold",
        f"{_TESTS}::test_an_age_is_reached_on_the_birthday_and_not_a_day_before",
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
