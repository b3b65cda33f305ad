"""Erasing what is not needed any more: in time, all of it, and nothing else."""

from tools.mutants.mutant import mutant

_RETENTION, _ERASURE = "infra/retention.py", "wallet/identity/erasure.py"
_TESTS = "test_retention.py"
_BEYOND = f"{_TESTS}::test_clearing_goes_on_after_the_rows_that_one_query_finds_also_among_rows_of_one_moment"

MUTANTS = (
    mutant(
        "retention: clearing stops after the rows that one query finds",
        _RETENTION,
        "    while positions := list(rows.filter(after)",
        "    if positions := list(rows.filter(after)",
        _BEYOND,
    ),
    mutant(
        "retention: clearing stops after the first page",
        _RETENTION,
        "for start in range(0, len(positions), batch):",
        "for start in range(0, min(len(positions), batch), batch):",
        "presentation/test_clearing.py::test_unanswered_requests_go_with_their_questions",
    ),
    mutant(
        "retention: clearing passes over rows of the same moment",
        _RETENTION,
        '(Q(**{f"{by}__gt": moment}) | Q(pk__gt=key))',
        'Q(**{f"{by}__gt": moment})',
        _BEYOND,
    ),
    mutant(
        "retention: clearing takes rows that have to stay",
        _RETENTION,
        "(page.filter(where) if where else page).delete()",
        "page.delete()",
        f"{_TESTS}::test_rows_that_have_to_stay_are_neither_deleted_nor_in_the_way_of_the_others",
    ),
    mutant(
        "retention: rows go before their time is over",
        _RETENTION,
        'rows.filter(**{f"{by}__lte": now - kept})',
        'rows.filter(**{f"{by}__lte": now})',
        "infra/test_outbox.py::test_what_was_sent_is_forgotten_after_a_week",
    ),
    mutant(
        "retention: the digests of an erased identity stay",
        _ERASURE,
        "    IdentityMark.objects.filter(credential__in=ids).delete()\n",
        "",
        "wallet/test_erasure.py::test_an_identity_that_ended_is_erased_after_thirty_days_with_marks_and_document",
    ),
    mutant(
        "retention: the identity check that is under way is deleted",
        _ERASURE,
        "~Q(verifies) & ~Q(state__in=OPEN)",
        "~Q(verifies)",
        "wallet/test_erasure.py::test_an_attempt_that_has_not_ended_is_not_deleted",
    ),
    mutant(
        "retention: the identity check behind a credential is deleted",
        _ERASURE,
        "~Q(verifies) & ~Q(state__in=OPEN)",
        "~Q(state__in=OPEN)",
        "wallet/test_erasure.py::test_the_attempt_of_the_last_identity_stays_as_long_as_the_wallet",
    ),
)
