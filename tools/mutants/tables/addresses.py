"""Changing the e-mail address of a wallet, and undoing the change from the mailbox before."""

from tools.mutants.mutant import mutant

_CHANGES, _UNDOING = "wallet/account/address/changes.py", "wallet/account/address/undoing.py"
_TESTS = "wallet/test_email_change.py"

MUTANTS = (
    mutant(
        "change of address: the code is accepted in another browser",
        _CHANGES,
        "return usable.filter(browser=browser).first() if browser else None",
        "return usable.first()",
        f"{_TESTS}::test_a_code_works_once_for_ten_minutes_and_in_its_browser_only",
    ),
    mutant(
        "change of address: the code is accepted twice",
        _CHANGES,
        "        if the_same.update(used_at=now) != 1:\n",
        "        if the_same.update(used_at=None) != 1:\n",
        f"{_TESTS}::test_a_code_works_once_for_ten_minutes_and_in_its_browser_only",
    ),
    mutant(
        "change of address: another wallet gets an address that can be put back",
        _CHANGES,
        "            reserved_addresses.check(email, but_for=wallet, now=now)\n",
        "",
        f"{_TESTS}::test_nobody_else_gets_the_old_address_while_the_change_can_be_undone",
    ),
    mutant(
        "change of address: undone at the instant at which the link expires",
        "wallet/sign_in/reserved_addresses.py",
        "closed_at=None, expires_at__gt=now",
        "closed_at=None, expires_at__gte=now",
        f"{_TESTS}::test_a_link_undoes_once_and_for_seven_days",
    ),
    mutant(
        "change of address: a thief undoes the undoing",
        _UNDOING,
        "        later.update(closed_at=now)\n",
        "        del later\n",
        f"{_TESTS}::test_the_first_mailbox_undoes_a_chain_of_changes_and_the_thief_cannot_undo_that",
    ),
    mutant(
        "change of address: undoing leaves the passkey that the session before it added",
        _UNDOING,
        "former.left_at - sessions.ABSOLUTE",
        "former.left_at",
        f"{_TESTS}::test_undoing_removes_the_passkeys_that_were_added_since_and_keeps_the_others",
    ),
    mutant(
        "change of address: undoing keeps a wallet that an operator closes",
        _UNDOING,
        "undone_at=None, operator_id=None",
        "undone_at=None",
        f"{_TESTS}::test_undoing_a_change_does_not_keep_a_wallet_that_an_operator_closes",
    ),
)
