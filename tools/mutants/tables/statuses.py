"""The state of credentials and wallets, and the status lists that tell relying parties of it."""

from tools.mutants.mutant import mutant

_CREDENTIALS, _STATUSES = "wallet/credential/credentials.py", "wallet/status_lists/statuses.py"
_ALLOCATION, _PUBLICATION = "wallet/status_lists/allocation.py", "wallet/status_lists/publication.py"
_PUBLISHED = "wallet/test_status_publication.py"

MUTANTS = (
    mutant(
        "credential: presented although it is suspended or revoked",
        _CREDENTIALS,
        "credential.state == Credential.State.VALID and not has_ended(",
        "not has_ended(",
        "wallet/test_credentials.py::test_a_credential_set_aside_is_not_presented",
    ),
    mutant(
        "credential: presented at the instant it expires",
        _CREDENTIALS,
        "_rounded(credential.expires_at) <= now.timestamp()",
        "_rounded(credential.expires_at) < now.timestamp()",
        "wallet/test_credentials.py::test_an_expired_credential_is_not_presented",
        "wallet/test_credentials.py::test_a_credential_is_valid_exactly_as_long_as_it_can_be_presented",
    ),
    mutant(
        "credential: of a suspended wallet",
        _CREDENTIALS,
        "credential and wallet.can_share and _is_usable",
        "credential and _is_usable",
        "wallet/test_credentials.py::test_a_suspended_wallet_has_no_valid_credential",
    ),
    mutant(
        "credential: a token outlives it",
        _CREDENTIALS,
        "min(now + TOKEN_LIFETIME, credential.expires_at, issuer_key.not_after)",
        "min(now + TOKEN_LIFETIME, issuer_key.not_after)",
        "wallet/test_credentials.py::test_no_token_outlives_the_credential",
    ),
    mutant(
        "credential: a suspension is lifted by a new identity check",
        _CREDENTIALS,
        "    if credential.state == Credential.State.SUSPENDED:\n"
        '        raise CredentialNotUsableError("The wallet\'s credential is suspended.")\n',
        "",
        "wallet/test_credentials.py::test_a_suspension_is_not_lifted_by_being_verified_again",
    ),
    mutant(
        "credential: revoked ones can be reinstated",
        "wallet/credential/revocation.py",
        "    Credential.State.REVOKED: frozenset(),\n",
        "    Credential.State.REVOKED: frozenset({Credential.State.VALID}),\n",
        "wallet/test_credentials.py::test_only_the_moves_of_the_diagram_are_made",
    ),
    mutant(
        "revocation: what was presented before stays valid",
        "wallet/credential/revocation.py",
        "count = hit.update(status=changes.Status.INVALID)",
        "count = hit.count()",
        f"{_PUBLISHED}::test_a_suspension_passes_and_a_revocation_does_not",
        f"{_PUBLISHED}::test_what_was_presented_before_a_revocation_stays_invalid_when_its_holder_is_verified_anew",
    ),
    mutant(
        "status index: given after the revocation",
        _ALLOCATION,
        "WHERE credential.id = %s AND wallet.id = %s AND credential.state = 'valid'\n",
        "WHERE credential.id = %s AND wallet.id = %s\n",
        "wallet/test_status_allocation.py::test_after_a_revocation_no_place_is_given",
    ),
    mutant(
        "status index: given twice",
        _ALLOCATION,
        "WHERE taken.status_list_id = list.id AND taken.idx = drawn.number %% list.size",
        "WHERE taken.status_list_id = list.id AND taken.idx < 0",
        "wallet/test_status_allocation.py::test_of_the_places_drawn_the_first_free_one_is_taken",
    ),
    mutant(
        "status index: signed by a key that no longer signs",
        _ALLOCATION,
        "    JOIN keys_signingkey signs ON signs.id = %s AND signs.state = 'active'\n    WHERE TRUE",
        "    JOIN keys_signingkey signs ON signs.id = %s\n    WHERE TRUE",
        "wallet/test_status_allocation.py::test_a_key_that_has_moved_on_signs_nothing_more",
    ),
    mutant(
        "status index: in the order of presentation",
        _ALLOCATION,
        'drawn = [number >> 1 for number in unpack(f"{DRAWN}I", secrets.token_bytes(4 * DRAWN))]',
        "drawn = list(range(DRAWN))",
        "wallet/test_status_allocation.py::test_places_are_spread_over_two_whole_lists",
    ),
    mutant(
        "status list: the wrong place in its byte",
        "wallet/status_lists/token.py",
        "status << (idx * bits % 8)",
        "status << (6 - idx * bits % 8)",
        "wallet/test_status_list_encoding.py::test_a_list_of_the_draft_has_the_drafts_bytes",
        "wallet/test_status_list_encoding.py::test_the_lowest_bits_of_a_byte_come_first",
    ),
    mutant(
        "status list: suspension of the credential is not published",
        _STATUSES,
        "    Q(credential__state=Credential.State.SUSPENDED),\n",
        "",
        f"{_PUBLISHED}::test_a_suspension_passes_and_a_revocation_does_not",
    ),
    mutant(
        "status list: suspension of the wallet is not published",
        _STATUSES,
        "    Q(credential__wallet__state=Wallet.State.SUSPENDED),\n",
        "",
        f"{_PUBLISHED}::test_a_suspension_passes_and_a_revocation_does_not",
        f"{_PUBLISHED}::test_reinstating_what_is_above_does_not_reinstate_what_was_suspended_by_itself",
    ),
    mutant(
        "status list: suspended outweighs invalid",
        _STATUSES,
        '    statuses |= dict(entries.exclude(status=Status.VALID).values_list("idx", "status"))\n',
        '    statuses = dict(entries.exclude(status=Status.VALID).values_list("idx", "status")) | statuses\n',
        f"{_PUBLISHED}::test_invalid_outweighs_suspended",
    ),
    mutant(
        "status list: what a withdrawn key signed is valid",
        _STATUSES,
        "        signed = entries.filter(signing_key__in=keys)\n",
        "        signed = entries.filter(signing_key__in=keys, idx=-1)\n",
        f"{_PUBLISHED}::test_what_a_withdrawn_key_signed_is_invalid_and_what_the_next_signs_is_valid",
    ),
    mutant(
        "status list: outlives the certificates of its key (exp)",
        "wallet/status_lists/token.py",
        "int(min(now + LIFETIME, issuer_key.not_after).timestamp())",
        "int((now + LIFETIME).timestamp())",
        f"{_PUBLISHED}::test_no_list_outlives_the_certificates_of_its_key",
    ),
    mutant(
        "status list: served after its end",
        _PUBLICATION,
        "return bool(row.token) and token.ends_at(row.token) > now.timestamp()",
        "return bool(row.token)",
        f"{_PUBLISHED}::test_a_list_that_ended_with_the_certificates_of_its_key_is_not_served",
    ),
    mutant(
        "status list: a withdrawn key's signature is still served",
        _PUBLICATION,
        "if _has_not_ended(row, now) and row.kid in keys:",
        "if _has_not_ended(row, now):",
        f"{_PUBLISHED}::test_without_a_signing_key_the_last_list_is_served_unless_its_key_is_withdrawn",
    ),
    mutant(
        "status list: an older state is written over a newer one",
        _PUBLICATION,
        "StatusList.objects.filter(pk=row.pk, checked_at=row.checked_at)",
        "StatusList.objects.filter(pk=row.pk)",
        f"{_PUBLISHED}::test_what_a_slow_instance_found_is_not_written_over_what_is_newer",
    ),
    mutant(
        "taking back: another holder's presentation",
        "wallet/status_lists/changes.py",
        "rows = of_wallet(wallet, now=now).filter(reference=reference)",
        "rows = unexpired(now).filter(reference=reference)",
        "wallet/test_status_changes.py::test_the_holder_takes_back_what_they_shared_on_one_occasion",
    ),
    mutant(
        "taking back: what is invalid can be reinstated",
        "wallet/status_lists/changes.py",
        "    Action.REINSTATED: (frozenset({Status.SUSPENDED}), Status.VALID),\n",
        "    Action.REINSTATED: (frozenset({Status.SUSPENDED, Status.INVALID}), Status.VALID),\n",
        "wallet/test_status_changes.py::test_what_is_invalid_stays_so",
    ),
)
