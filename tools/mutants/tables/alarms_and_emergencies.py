"""What operators are told, the record of what they did, and what they do in an emergency."""

from tools.mutants.mutant import mutant

MUTANTS = (
    mutant(
        "alarms: a worker that is away is never told",
        "infra/diagnosis.py",
        'return ALARMS["worker"].state(seconds)',
        "return State.OK",
        "test_doctor.py::test_a_worker_that_is_away_is_found_although_no_job_is_late_yet",
    ),
    mutant(
        "alarms: standbys are not counted where the server expects none",
        "infra/database/diagnosis.py",
        "if streaming < expected:",
        "if synchronous_wanted and streaming < expected:",
        "infra/test_doctor_faults.py::test_standbys_are_counted_also_where_the_server_expects_none",
    ),
    mutant(
        "alarms: an archive_command that hangs is well",
        "infra/database/diagnosis.py",
        "waited = (now - oldest if oldest else timedelta(0)) / MINUTE",
        "waited = timedelta(0) / MINUTE",
        "infra/test_doctor_faults.py::test_an_archive_command_that_hangs_is_found_although_nothing_failed",
    ),
    mutant(
        "alarms: nobody is told that a check is well again",
        "infra/alarms/telling.py",
        "if finding.state == (before.state if before else State.OK):",
        "if finding.state == State.OK or finding.state == (before.state if before else State.OK):",
        "infra/alarms/test_telling.py::test_each_change_is_told_with_what_to_do_and_the_mending_too",
    ),
    mutant(
        "alarms: one that comes and goes fills the mailbox",
        "infra/alarms/telling.py",
        "if before is None or before.at <= now - AT_MOST_EVERY:",
        "if before is None or before.at <= now:",
        "infra/alarms/test_telling.py::test_one_that_comes_and_goes_is_told_once_an_hour_and_at_last_as_it_is",
    ),
    mutant(
        "audit record: what was changed before an accepted gap is not found",
        "infra/audit/verification.py",
        "if gaps.digest_of(lines(until=newest.head.seq)) != newest.digest:",
        "if False:",
        "infra/audit/test_gaps.py::test_what_is_changed_after_a_gap_was_accepted_is_found",
    ),
    mutant(
        "audit record: one operator accepts a gap alone",
        "infra/management/commands/accept_audit_gap.py",
        "if operators[0] == operators[1]:",
        "if False:",
        "infra/audit/test_gaps.py::test_it_takes_two_operators_with_a_code_each",
    ),
    mutant(
        "audit record: the file of a gap can be removed unseen",
        "infra/audit/verification.py",
        "        if gap not in accepted_names:",
        "        if False:",
        "infra/audit/test_gaps.py::test_the_file_of_a_gap_can_be_neither_changed_nor_removed",
    ),
    mutant(
        "operators: after a reset the password alone sets up a new factor",
        "infra/second_factors.py",
        "if right.delete()[0] != 1:",
        "if False:",
        "operators/test_second_factor.py::test_after_a_reset_the_password_alone_sets_up_no_new_one",
    ),
    mutant(
        "a lying provider: days of other months are hit as well",
        "wallet/management/commands/distrust_provider.py",
        "verification__provider=provider, issued_at__gte=first, issued_at__lt=end",
        "verification__provider=provider, issued_at__gte=first",
        "wallet/test_distrust_provider.py::test_the_days_are_whole_ones_in_utc",
    ),
)
