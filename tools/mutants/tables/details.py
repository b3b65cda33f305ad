"""Address, place of birth and document: what is read, what is kept, and who is sent to another check."""

from tools.mutants.mutant import mutant

_DETAILS = "wallet/credential/details.py"
_NEXT = "presentation/requests/next_step.py"
_TESTS = "wallet/test_details.py"
_FLOW = "presentation/requests/test_details.py"

MUTANTS = (
    mutant(
        "details: stored members may have any name",
        _DETAILS,
        "if not members.keys() <= set(MEMBERS[group]):",
        "if not members:",
        f"{_TESTS}::test_what_is_not_as_it_was_stored_is_refused",
    ),
    mutant(
        "details: stored texts are not looked at",
        _DETAILS,
        "if not all(_is_valid(name, value) for name, value in members.items()):",
        "if not members:",
        f"{_TESTS}::test_what_is_not_as_it_was_stored_is_refused",
    ),
    mutant(
        "details: any text has the length of an address",
        _DETAILS,
        "(MAX_FORMATTED if name in OF_LINES else MAX_TEXT)",
        "MAX_FORMATTED",
        f"{_TESTS}::test_what_is_not_as_it_was_stored_is_refused",
    ),
    mutant(
        "details: a date may be written in any way of ISO 8601",
        "wallet/credential/evidence.py",
        "return day if day.isoformat() == text else None",
        "return day",
        f"{_TESTS}::test_what_is_not_as_it_was_stored_is_refused",
    ),
    mutant(
        "details: an address is taken without the street that cannot be read",
        _DETAILS,
        "members = {name: value for name, value in ours.items() if value}",
        "members = {name: value for name, value in ours.items() if value and _is_valid(name, value)}",
        f"{_TESTS}::test_a_group_with_a_member_that_cannot_be_understood_is_left_out",
    ),
    mutant(
        "details: a country is taken as it was written",
        _DETAILS,
        'return country_code(value) or ""',
        "return value.upper()",
        f"{_TESTS}::test_what_others_wrote_is_brought_into_our_form",
    ),
    mutant(
        "details: an identity keeps what its provider is not set to verify",
        "wallet/identity/enrollment.py",
        "if group in verifies & groups.keys()",
        "if group in groups",
        f"{_FLOW}::test_a_renewal_keeps_only_what_its_provider_is_set_to_verify",
    ),
    mutant(
        "details: a provider that verifies none of them is offered as well",
        "wallet/providers/registry.py",
        "if provider.details.issuperset(details)",
        "if details is not None",
        f"{_FLOW}::test_a_holder_without_them_is_offered_the_providers_that_verify_them",
    ),
    mutant(
        "details: whoever lacks them is told that nothing can be done",
        _NEXT,
        "if not (enough and any(details.issuperset(needed) for needed in _details_needed(request))):",
        "if not enough:",
        f"{_FLOW}::test_a_holder_without_them_is_offered_the_providers_that_verify_them",
    ),
    mutant(
        "details: a check is demanded although another answer would do",
        _NEXT,
        "for number in range(len(MEMBERS) + 1))",
        "for number in range(1, len(MEMBERS) + 1))",
        f"{_FLOW}::test_an_optional_detail_and_an_alternative_without_it_send_nobody_to_a_check",
    ),
    mutant(
        "details: an identity without them ends the check that should bring them",
        "wallet/credential/credentials.py",
        "return set(details) <= details_of(credential) and (",
        "return (",
        f"{_FLOW}::test_a_check_that_did_not_bring_them_leaves_the_person_with_the_same_choice",
    ),
    mutant(
        "details: what a wallet shows without being asked is kept",
        "wallet/providers/other_wallet/provider.py",
        "if name not in unasked}",
        "if name}",
        "wallet/providers/test_other_wallet.py"
        "::test_the_private_key_is_gone_with_the_answer_and_nothing_else_is_kept",
    ),
    mutant(
        "details: a document counts as verified without evidence of it",
        "wallet/providers/openid_connect/settings.py",
        'if "document" in details and not (identity_assurance and "document" in evidence):',
        'if "document" in details and not identity_assurance:',
        "wallet/providers/test_openid_connect_claims.py"
        "::test_a_document_can_be_verified_only_by_evidence_that_is_asked_for",
    ),
    mutant(
        "details: an operator is not told that a country was not understood",
        "wallet/identity/forms.py",
        "if lost := [member for member in typed if member not in read.get(group, {})]:",
        "if lost := [member for member in typed if not read]:",
        "wallet/test_forms.py::test_a_detail_that_cannot_be_read_is_told_where_it_was_typed",
    ),
)
