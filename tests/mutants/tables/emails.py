"""The outbox: what is kept of an e-mail, who sends it, and when it is too late."""

from tests.mutants.mutant import mutant

_QUEUE, _TESTS = "infra/mail/queue.py", "infra/test_outbox.py"

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
        "infra/mail/outbox.py",
        "found.state == State.REFUSED and failures.is_of_recipient(found.reason)",
        "found.state == State.REFUSED",
        f"{_TESTS}::test_a_refusal_of_the_content_does_not_say_that_there_is_no_mailbox",
    ),
)
