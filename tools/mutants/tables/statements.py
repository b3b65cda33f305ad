"""Signed statements: their keys, the evidence of a verification, receipts that can be checked."""

from tools.mutants.mutant import mutant

_STATEMENTS, _EVIDENCE, _VERIFICATION = (
    "keys/statements.py",
    "presentation/evidence.py",
    "presentation/verification.py",
)
_OF_KEYS, _OF_STATEMENTS = "keys/test_statement_keys.py", "keys/test_statements.py"
_OF_EVIDENCE, _OF_RECEIPTS = "presentation/test_evidence.py", "consent/test_receipt_statements.py"

MUTANTS = (
    mutant(
        "keys for statements: credentials' key signs statements",
        "keys/issuer_key.py",
        "return _open(now, StatementKey)",
        "return _open(now, SigningKey)",
        f"{_OF_KEYS}::test_no_key_signs_what_the_other_kind_signs",
    ),
    mutant(
        "keys for statements: their key set has the keys of credentials",
        "keys/endpoints.py",
        "partial(key_set, StatementKey)",
        "partial(key_set, SigningKey)",
        f"{_OF_KEYS}::test_no_key_is_in_the_key_set_of_the_other_kind",
    ),
    mutant(
        "keys for statements: withdrawn a day after they retired",
        "keys/rotation/states.py",
        "STATEMENTS_KEPT if isinstance(retired, StatementKey) else PUBLISHED_AFTER_SIGNING",
        "PUBLISHED_AFTER_SIGNING",
        f"{_OF_KEYS}::test_a_key_for_statements_stays_published_for_seven_years_after_it_retired",
    ),
    mutant(
        "keys for statements: activating one retires the key of credentials",
        "keys/rotation/moves.py",
        "predecessor = in_state(State.ACTIVE, type(key))",
        "predecessor = in_state(State.ACTIVE)",
        f"{_OF_KEYS}::test_a_key_for_statements_stays_published_for_seven_years_after_it_retired",
        f"{_OF_KEYS}::test_the_steps_of_one_kind_move_no_key_of_the_other",
    ),
    mutant(
        "keys for statements: a backup has them among the others",
        "keys/private_keys/backup.py",
        '        "keys": keys,\n',
        '        "keys": [*keys, *for_statements],\n',
        f"{_OF_KEYS}::test_a_backup_has_both_kinds_each_for_itself",
    ),
    mutant(
        "keys for statements: left out of a backup",
        "keys/private_keys/backup.py",
        '"statement_keys": for_statements,',
        '"statement_keys": [],',
        f"{_OF_KEYS}::test_a_backup_has_both_kinds_each_for_itself",
    ),
    mutant(
        "statement: of a withdrawn key",
        _STATEMENTS,
        "StatementKey.objects.exclude(state=StatementKey.State.WITHDRAWN).get(",
        "StatementKey.objects.get(",
        f"{_OF_STATEMENTS}::test_nothing_of_a_withdrawn_key_is_genuine",
    ),
    mutant(
        "statement: the chain is not judged",
        _STATEMENTS,
        "        key.chain(at=max(time_of(stated), key.certified_at or time_of(stated)))\n",
        "",
        f"{_OF_STATEMENTS}::test_a_chain_is_judged_at_the_time_of_the_statement",
    ),
    mutant(
        "statement: not genuine once its key was certified anew",
        _STATEMENTS,
        "key.chain(at=max(time_of(stated), key.certified_at or time_of(stated)))",
        "key.chain(at=time_of(stated))",
        f"{_OF_STATEMENTS}::test_a_statement_from_before_its_key_was_certified_anew_stays_genuine",
    ),
    mutant(
        "statement: offline, certificates for any host",
        _STATEMENTS,
        "if urlsplit(str(issuer)).hostname not in {str(name.value) for name in names}:",
        "if not names:",
        f"{_OF_STATEMENTS}::test_offline_the_certificates_must_be_for_the_host_that_the_statement_names",
    ),
    mutant(
        "statement: offline, any root",
        _STATEMENTS,
        "        CertificateChain((leaf, *above, root), public_der(key), at)\n",
        "",
        f"{_OF_STATEMENTS}::test_offline_only_the_given_root_is_believed",
    ),
    mutant(
        "evidence: for an application for which it was not made",
        _VERIFICATION,
        "if asked.evidence and all(",
        "if asked.evidence or all(",
        f"{_OF_EVIDENCE}::test_without_the_wish_there_is_none",
    ),
    mutant(
        "evidence: although a presentation was made for another application",
        _VERIFICATION,
        'all(_KB_AUD in result["checks"] for result in results.values())',
        "results",
        f"{_OF_EVIDENCE}::test_there_is_none_about_a_presentation_for_another_application",
    ),
    mutant(
        "evidence: with a list from before the last change",
        _EVIDENCE,
        "publication.current(number, fresh=True)",
        "publication.current(number)",
        f"{_OF_EVIDENCE}::test_the_list_is_of_that_moment",
    ),
    mutant(
        "evidence: the hashes are not compared",
        _EVIDENCE,
        'if stated.get("sha256") != _hashes(parts):',
        'if not stated.get("sha256"):',
        f"{_OF_EVIDENCE}::test_any_other_part_or_certificate_is_noticed",
    ),
    mutant(
        "evidence: the presentations are not verified again",
        _EVIDENCE,
        'if stated.get("valid") is True:',
        "if False:",
        f"{_OF_EVIDENCE}::test_a_verdict_that_the_signatures_do_not_bear_out_is_refused",
    ),
    mutant(
        "evidence: whatever the status list says",
        _EVIDENCE,
        " or not of_it or statuses.status_in(of_it, place, at):",
        " or not of_it:",
        f"{_OF_EVIDENCE}::test_a_verdict_that_the_signatures_do_not_bear_out_is_refused",
    ),
    mutant(
        "evidence: transaction data to which nothing is bound",
        _EVIDENCE,
        "    if left:\n",
        "    if False:\n",
        f"{_OF_EVIDENCE}::test_a_verdict_that_the_signatures_do_not_bear_out_is_refused",
    ),
    mutant(
        "evidence: a file of any length",
        _EVIDENCE,
        "if len(content) > LONGEST:",
        "if False:",
        f"{_OF_EVIDENCE}::test_a_file_has_limits",
    ),
    mutant(
        "receipt: somebody else's is saved",
        "consent/history.py",
        "get_object_or_404(Consent, wallet=wallet, **which)",
        "get_object_or_404(Consent, **which)",
        f"{_OF_RECEIPTS}::test_strangers_and_others_get_no_statement",
    ),
    mutant(
        "receipt: what was not shared is named",
        "consent/receipts.py",
        'names=tuple(map(".".join, chosen)),',
        'names=tuple(map(".".join, consent.claims)),',
        f"{_OF_RECEIPTS}::test_only_shared_claims_are_named",
    ),
    mutant(
        "receipt: any statement is genuine",
        "consent/statements.py",
        "return statements.read(token.strip(), TYP, longest=LONGEST)",
        "return statements.decode_segment(token.strip().split('.')[1])",
        f"{_OF_RECEIPTS}::test_anything_else_is_not_genuine",
    ),
)
