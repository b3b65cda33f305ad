"""Closing a wallet: when it closes, and how long its row has to stay."""

from tools.mutants.mutant import mutant

_CLOSURES, _SWEEPING = "wallet/account/closing/closures.py", "wallet/account/closing/sweeping.py"
_TESTS = "wallet/test_closing.py"

MUTANTS = (
    mutant(
        "closing: a wallet closes while a change of its address can be undone",
        _CLOSURES,
        'max([now + DAY, *former.values_list("expires_at", flat=True)])',
        "max([now + DAY])",
        "wallet/test_email_change.py"
        "::test_who_changes_the_address_and_then_closes_waits_until_that_cannot_be_undone",
    ),
    mutant(
        "closing: the digests of the identity stay with the row",
        _CLOSURES,
        "    IdentityMark.objects.filter(credential=credential).delete()\n",
        "",
        f"{_TESTS}::test_whoever_was_signed_in_is_out_and_the_person_is_found_no_more_from_that_moment",
    ),
    mutant(
        "closing: a wallet that has closed is kept",
        _CLOSURES,
        "Wallet.objects.filter(id=wallet.id, closed_at=None).exclude(closes_at=None)",
        "Wallet.objects.filter(id=wallet.id).exclude(closes_at=None)",
        f"{_TESTS}::test_a_wallet_that_has_closed_cannot_be_kept",
    ),
    mutant(
        "closing: a wallet closes before its day is over",
        _CLOSURES,
        "filter(closes_at__lte=now, closed_at=None)",
        "filter(closed_at=None)",
        f"{_TESTS}::test_a_wallet_closes_at_the_end_of_its_day_whoever_asks_for_it_before",
    ),
    mutant(
        "closing: the row goes while requests from before may refer to it",
        _SWEEPING,
        "        or closure.closed_at > now - ROW_KEPT\n",
        "",
        f"{_TESTS}::test_the_row_of_a_closed_wallet_stays_for_the_requests_that_began_before",
    ),
    mutant(
        "closing: the row goes before the credentials that were presented from it",
        _SWEEPING,
        "        or StatusEntry.objects.filter(credential__wallet=wallet).exists()\n",
        "",
        f"{_TESTS}::test_the_row_of_a_closed_wallet_stays_as_long_as_a_credential_presented_from_it",
    ),
)
