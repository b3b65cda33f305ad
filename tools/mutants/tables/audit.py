"""The audit record: its lines, its hash chain, and the signed heads outside the database."""

from tools.mutants.mutant import mutant

_RECORDING, _CHAIN, _HEADS = "infra/audit/recording.py", "infra/audit/chain.py", "infra/audit/heads.py"
_VERIFICATION = "infra/audit/verification.py"
_TESTS = "infra/audit/"

MUTANTS = (
    mutant(
        "audit record: two writers at once fork the chain",
        _RECORDING,
        "        _lock_the_end()\n",
        "",
        f"{_TESTS}test_recording.py::test_of_parallel_writers_none_forks_the_chain_and_none_leaves_a_gap",
    ),
    mutant(
        "audit record: an e-mail address in a reason stays for ever",
        _RECORDING,
        '(LEFT_OUT if "@" in word[1:-1] else word for word in storable.split())',
        "storable.split()",
        f"{_TESTS}test_recording.py::test_a_line_says_who_did_what_to_which_row_and_why_by_ids_only",
    ),
    mutant(
        "audit record: one that was written anew after it was signed is signed again",
        _CHAIN,
        "if signed.pop(line.seq, line.hash) != line.hash:",
        "if signed.pop(line.seq, line.hash) == '':",
        f"{_TESTS}test_commands.py::test_a_record_that_was_written_anew_after_it_was_signed_is_not_signed_again",
    ),
    mutant(
        "audit record: an end that was cut off",
        _CHAIN,
        "for seq in sorted(seq for seq in signed if seq > last.seq):",
        "for seq in sorted(seq for seq in signed if seq < 0):",
        f"{_TESTS}test_chain.py::test_a_cut_end_is_found_against_a_signed_head_and_only_so",
    ),
    mutant(
        "audit record: one that was written anew from the start",
        _CHAIN,
        "signed.pop(line.seq, line.hash) != line.hash",
        "not signed.pop(line.seq, line.hash)",
        f"{_TESTS}test_chain.py::test_a_record_written_anew_from_the_start_is_found_against_a_signed_head",
    ),
    mutant(
        "audit record: a head that nobody has signed",
        _HEADS,
        '        key.verify(b64decode(values["signature"]), _payload(signed))\n',
        "",
        f"{_TESTS}test_commands.py::test_a_forged_head_is_refused",
    ),
    mutant(
        "audit record: a signed head of another day",
        _HEADS,
        'path.name != f"audit-{signed.day}.json"',
        "not path.name",
        f"{_TESTS}test_commands.py::test_a_forged_head_is_refused",
    ),
    mutant(
        "audit record: one with a fault is signed",
        _VERIFICATION,
        "    if present_faults:\n",
        "    if present_faults[:0]:\n",
        f"{_TESTS}test_commands.py::test_a_record_with_a_fault_is_not_signed",
    ),
)
