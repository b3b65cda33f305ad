"""The outbox: what is kept of an e-mail, who sends it, and when it is too late."""

from tools.mutants.mutant import mutant

_QUEUE, _OUTBOX = "infra/mail/queue.py", "infra/mail/outbox.py"
_TESTS = "infra/test_outbox.py"

MUTANTS = (
    mutant(
        "e-mails: a code is sent after it has expired",
        _QUEUE,
        "due_at <= %s AND expires_at > %s",
        "due_at <= %s AND %s IS NOT NULL",
        f"{_TESTS}::test_a_code_that_is_too_old_is_not_sent_and_its_content_is_erased",
    ),
    mutant(
        "e-mails: the content stays after an e-mail was sent",
        _QUEUE,
        'state=state, ended_at=now, sealed_letter=b"", leased_until=None',
        "state=state, ended_at=now, leased_until=None",
        f"{_TESTS}::test_what_stays_of_a_sent_email_is_its_purpose_state_and_times",
    ),
    mutant(
        "e-mails: a sender whose lease has ended overwrites the result of the next",
        _QUEUE,
        "id=email.id, tries=email.tries, state=State.WAITING",
        "id=email.id",
        f"{_TESTS}::test_a_sender_whose_lease_has_ended_does_not_overwrite_the_result_of_the_next",
    ),
    mutant(
        "e-mails: refused content counts as if the person had been told",
        _OUTBOX,
        "row.state == State.REFUSED and failures.is_of_recipient(row.reason)",
        "row.state == State.REFUSED",
        f"{_TESTS}::test_a_refusal_of_the_content_does_not_say_that_there_is_no_mailbox",
    ),
    mutant(
        "e-mails: a sender whose lease has ended notes its result while the next one is sending",
        _QUEUE,
        "id=email.id, tries=email.tries, state=State.WAITING",
        "id=email.id, state=State.WAITING",
        f"{_TESTS}::test_a_sender_whose_lease_has_ended_notes_nothing_while_the_next_is_sending",
    ),
    mutant(
        "e-mails: two senders claim the same one",
        _QUEUE,
        "AND (leased_until IS NULL OR leased_until <= %s)",
        "AND (leased_until IS NULL OR %s IS NOT NULL)",
        f"{_TESTS}::test_a_claimed_email_is_claimed_again_only_when_its_lease_has_ended",
    ),
    mutant(
        "e-mails: one that is being sent is sent at once as well",
        _QUEUE,
        "leased_until=None, expires_at__gt=now",
        "expires_at__gt=now",
        "infra/test_sending_emails.py::test_what_is_being_sent_is_not_sent_at_once_as_well",
    ),
    mutant(
        "e-mails: only so many that are too late are erased",
        _QUEUE,
        "    while page := list(expired.filter(",
        "    if page := list(expired.filter(",
        f"{_TESTS}::test_however_many_are_too_late_all_of_them_end",
    ),
    mutant(
        "e-mails: only so many that were refused are erased",
        _QUEUE,
        "    while page := list(refused.",
        "    if page := list(refused.",
        f"{_TESTS}::test_however_many_are_too_late_all_of_them_end",
    ),
    mutant(
        "e-mails: one that was sent counts as dropped",
        _OUTBOX,
        "OutgoingEmail.objects.filter(id=email, state__in=[State.WAITING, State.REFUSED])",
        "OutgoingEmail.objects.filter(id=email)",
        f"{_TESTS}::test_what_stays_of_a_sent_email_is_its_purpose_state_and_times",
    ),
    mutant(
        "e-mails: two operators send the same one again",
        _OUTBOX,
        "OutgoingEmail.objects.filter(id=email, state=State.REFUSED, expires_at__gt=now)",
        "OutgoingEmail.objects.filter(id=email, expires_at__gt=now)",
        f"{_TESTS}::test_an_email_that_was_refused_for_good_can_be_sent_again_by_an_operator",
    ),
    mutant(
        "e-mails: the result of a try brings back what was dropped",
        _QUEUE,
        "id=email.id, tries=email.tries, state=State.WAITING",
        "id=email.id, tries=email.tries",
        f"{_TESTS}::test_a_dropped_email_is_erased_and_not_sent",
    ),
)
