"""Authorization requests: who asks, what they may ask, and how the request was passed."""

from tools.mutants.mutant import mutant

_PACKAGE, _TESTS = "presentation/requests", "presentation/requests"
_REQUEST, _CLIENT = f"{_PACKAGE}/authorization_request.py", f"{_PACKAGE}/client.py"
_OBJECT, _PUSHED = f"{_PACKAGE}/receiving/request_object.py", f"{_PACKAGE}/receiving/pushed_requests.py"
_OPENID4VP = f"{_PACKAGE}/wire_formats/openid4vp.py"
_PUSHING = "presentation/entrances/pushing.py"
_ADDRESSES = f"{_TESTS}/test_return_address.py::test_anything_else_is_not"
_MISTAKES = f"{_TESTS}/test_authorization_request.py::test_every_mistake_has_its_error_and_says_what_is_wrong"
_NOT_ITS_OWN = (
    f"{_TESTS}/test_request_objects.py::"
    "test_an_object_that_is_not_certainly_its_own_gets_a_page_and_is_not_pushed"
)
_NOT_GOOD = (
    f"{_TESTS}/test_request_objects.py::test_an_invalid_object_of_the_client_is_reported_to_the_client"
)

MUTANTS = (
    mutant(
        "nonce: too short",
        _REQUEST,
        "if len(nonce) < SHORTEST_NONCE:",
        "if len(nonce) < SHORTEST_NONCE - 1:",
        _MISTAKES,
    ),
    mutant(
        "nonce: used again in the address",
        f"{_PACKAGE}/interactions.py",
        "    if client.nonce_used:\n        raise nonce_used(received.parameters)\n",
        "",
        f"{_TESTS}/test_flow.py::test_a_nonce_that_gave_a_token_is_refused_in_another_browser_and_for_another_request",
    ),
    mutant(
        "nonce: used again in a pushed request",
        _PUSHING,
        "    interactions.validated_request(received, context.client, scopes, requires_pushed=False)\n",
        "",
        f"{_TESTS}/test_pushed_requests.py::test_a_nonce_that_gave_a_token_cannot_be_pushed",
    ),
    mutant(
        "nonce: that of another relying party counts as used",
        "presentation/requests/fast_path/reading.py",
        "            WHERE same.relying_party_id = party.id\n"
        "            AND same.nonce_digest = asked.nonce_digest\n            AND same.outcome = 'token'\n",
        "            WHERE same.nonce_digest = asked.nonce_digest\n            AND same.outcome = 'token'\n",
        f"{_TESTS}/test_flow.py::test_the_same_nonce_of_another_relying_party_is_no_replay",
    ),
    mutant(
        "redirect URI: only its beginning is compared",
        _CLIENT,
        "uri == candidate or _same_but_for_port",
        "uri.startswith(candidate) or _same_but_for_port",
        _ADDRESSES,
    ),
    mutant(
        "redirect URI: the port may differ on every host",
        _CLIENT,
        r"(http://(?:127\.0\.0\.1|\[::1\]))",
        r"(https?://(?:127\.0\.0\.1|\[::1\]|[a-z.]+))",
        _ADDRESSES,
    ),
    mutant(
        "redirect URI: the path may differ on loopback",
        _CLIENT,
        "return (ours[1], ours[3]) == (theirs[1], theirs[3])",
        "return ours[1] == theirs[1]",
        _ADDRESSES,
    ),
    mutant(
        "response URI: the port may differ as that of a redirect URI",
        _CLIENT,
        "if not (uri in registered_uris if posted else is_registered(uri, registered_uris)):",
        "if not is_registered(uri, registered_uris):",
        f"{_TESTS}/test_direct_post.py::test_the_port_of_a_response_uri_is_not_free",
    ),
    mutant(
        "redirect URI: a name of the answer is registered if it is escaped",
        "presentation/relying_parties/metadata/answer_names.py",
        'unquote_plus(name, errors="replace")',
        "name",
        "presentation/relying_parties/test_answer_names.py::test_a_name_of_the_answer_is_found_however_it_is_written",
    ),
    mutant(
        "redirect URI: a name of the answer is registered",
        "presentation/relying_parties/models/addresses.py",
        "            redirect_uris.validate(self.uri, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)\n"
        "            if not _is_registered_already(self):\n",
        "            redirect_uris.validate(self.uri, allow_localhost=settings.LOCALHOST_REDIRECT_URIS)\n"
        "            if _is_registered_already(self):\n",
        "presentation/relying_parties/test_answer_names.py::test_no_command_registers_one",
        "presentation/relying_parties/test_answer_names.py::test_the_admin_registers_none",
    ),
    mutant(
        "answer: with a name that somebody may have registered",
        _CLIENT,
        "if not OF_ANSWERS.issuperset(fields)",
        "if not fields",
        "presentation/relying_parties/test_answer_names.py::test_an_answer_has_no_name_that_could_have_been_registered",
    ),
    mutant(
        "redirect URI: registered without TLS",
        "presentation/relying_parties/metadata/redirect_uris.py",
        '    if host != "localhost":\n',
        '    if host == "localhost":\n        return\n    if host == "":\n',
        "presentation/relying_parties/test_redirect_uris.py::test_every_other_uri_is_refused_with_a_reason",
    ),
    mutant(
        "client: a suspended one asks",
        _CLIENT,
        "if party is None or not registered or party.state != RelyingParty.State.ACTIVE:",
        "if party is None or not registered:",
        f"{_TESTS}/test_authorize.py::test_a_suspended_relying_party_gets_a_page",
    ),
    mutant(
        "client: requests of a suspended one are fetched",
        _CLIENT,
        "RelyingParty.objects.filter(client_id=client_id, state=RelyingParty.State.ACTIVE)",
        "RelyingParty.objects.filter(client_id=client_id)",
        f"{_TESTS}/test_request_objects.py::test_nothing_is_fetched_for_a_suspended_relying_party",
    ),
    mutant(
        "client: asks for a scope that it was not allowed",
        _OPENID4VP,
        "        if value not in party.allowed_scopes:\n",
        "        if value not in scopes:\n",
        f"{_TESTS}/test_authorization_request.py::test_a_scope_the_relying_party_may_not_ask_is_refused",
    ),
    mutant(
        "client: asks for claims that it was not allowed",
        _OPENID4VP,
        "claims.permitted(path, allowed)",
        "claims.permitted(path, claims.CLAIMS)",
        "presentation/dcql/test_dcql_flow.py::test_a_claim_that_is_not_the_relying_partys_to_ask_is_refused",
    ),
    mutant(
        "client: sends transaction data that it was not allowed",
        "presentation/transaction_data/entries.py",
        "    if urn not in allowed:\n",
        "    if urn not in TYPES:\n",
        f"{_TESTS}/test_authorization_request.py::test_a_type_the_relying_party_may_not_send_is_refused",
    ),
    mutant(
        "transaction data: bound to a credential that was not asked for",
        "presentation/transaction_data/entries.py",
        "        if credential_id not in credential_ids:\n",
        "        if not credential_id:\n",
        "presentation/transaction_data/test_transaction_data.py::test_a_wrong_value_is_refused_by_position",
    ),
    mutant(
        "transaction data: of any length",
        "presentation/transaction_data/entries.py",
        "    if len(value) > LONGEST_VALUE:\n",
        "    if len(value) > 2 * LONGEST_VALUE:\n",
        "presentation/transaction_data/test_transaction_data.py"
        "::test_a_value_may_have_eight_kilobytes_and_no_more",
    ),
    mutant(
        "parameters: a value of any length",
        "presentation/parameters.py",
        "elif len(value) > LIMITS[name]:",
        "elif len(value) > 2 * LIMITS[name]:",
        f"{_TESTS}/test_parameters.py::test_each_parameter_has_its_limit",
    ),
    mutant(
        "parameters: the last of two values counts",
        "presentation/parameters.py",
        "for name, (value, *others) in values_by_name.items():\n            if others:",
        "for name, (*others, value) in values_by_name.items():\n            if False:",
        f"{_TESTS}/test_parameters.py::test_a_repeated_name_is_remembered_and_its_value_is_not_used",
    ),
    mutant(
        "DCQL: nested without a limit",
        "presentation/dcql/parsing.py",
        "strict_json.loads(text, deepest=DEEPEST)",
        "strict_json.loads(text)",
        "presentation/dcql/test_dcql_parsing.py::test_every_mistake_is_named_with_its_place",
    ),
    mutant(
        "DCQL: any value of a claim satisfies the query",
        "presentation/dcql/evaluation.py",
        "    if not claim.values:\n        return bool(values)\n",
        "    return bool(values)\n",
        "presentation/dcql/test_dcql_evaluation.py::test_where_paths_lead",
    ),
    mutant(
        "request object: for another audience",
        _OBJECT,
        "if audiences.isdisjoint(audiences_in(claims)):",
        "if not audiences_in(claims):",
        _NOT_GOOD,
    ),
    mutant(
        "request object: of another client",
        _OBJECT,
        'if claims.get("client_id") != client_id:',
        'if not claims.get("client_id"):',
        f"{_TESTS}/test_request_objects.py::test_an_object_of_one_client_is_none_of_another",
        _NOT_ITS_OWN,
    ),
    mutant(
        "request object: a client assertion is taken for one (sub)",
        _OBJECT,
        'if claims.get("sub") == client_id:',
        'if claims.get("sub") == "":',
        _NOT_GOOD,
    ),
    mutant(
        "request object: without exp where the operator demands one",
        _OBJECT,
        'if needs_end and "exp" not in moments:',
        'if needs_end and not moments and "exp" in moments:',
        f"{_TESTS}/test_request_objects.py::"
        "test_a_client_whose_requests_must_all_be_signed_says_when_they_end_unless_it_may_leave_that_out",
    ),
    mutant(
        "request object: an answer to another request for it (wallet_nonce)",
        _OBJECT,
        'if wallet_nonce is not None and claims.get("wallet_nonce") != wallet_nonce:',
        'if wallet_nonce is not None and not claims.get("wallet_nonce"):',
        f"{_TESTS}/test_request_objects.py::test_an_object_that_does_not_repeat_our_nonce_is_none",
    ),
    mutant(
        "request object: fetched from an address that is not registered",
        "presentation/relying_parties/metadata/request_uris.py",
        "return bool(prefix) and (below or uri == prefix) and",
        "return bool(prefix) and",
        f"{_TESTS}/test_request_objects.py::test_nothing_is_fetched_but_what_is_below_the_registered_address",
    ),
    mutant(
        "received request: a client that must sign asks without a signature",
        _CLIENT,
        "        if requires_signed and not self.signed:\n",
        "        if requires_signed and not self.signed and not self.parameters:\n",
        f"{_TESTS}/test_request_objects.py::test_a_relying_party_that_must_sign_cannot_ask_otherwise",
    ),
    mutant(
        "received request: a client that must push asks in the address",
        _CLIENT,
        "        if requires_pushed and not self.pushed:\n",
        "        if requires_pushed and not self.pushed and not self.parameters:\n",
        f"{_TESTS}/test_pushed_requests.py::test_a_relying_party_that_must_push_cannot_ask_otherwise",
    ),
    mutant(
        "pushed request: by an access token of another grant",
        _PUSHING,
        "    if grants.PUSH not in access.grants:\n",
        "    if not access.grants:\n",
        f"{_TESTS}/test_pushed_requests.py::test_an_access_token_pushes_as_long_as_its_party_may",
    ),
    mutant(
        "pushed request: for another client",
        _PUSHING,
        'if form.get("client_id", party.client_id) != party.client_id:',
        'if not form.get("client_id", party.client_id):',
        f"{_TESTS}/test_pushed_requests.py::test_an_access_token_pushes_for_its_own_client_only",
    ),
    mutant(
        "pushed request: the reference of another client",
        _PUSHED,
        "if row is None or party is None or row.client_id != client_id:",
        "if row is None or party is None:",
        f"{_TESTS}/test_pushed_requests.py::test_par_attempt_to_use_request_uri_for_different_client",
    ),
    mutant(
        "pushed request: begun at the instant at which it expires",
        _PUSHED,
        "if row.expires_at <= now:",
        "if row.expires_at < now:",
        f"{_TESTS}/test_instants.py::"
        "test_a_pushed_request_cannot_be_begun_from_the_instant_at_which_it_expires",
    ),
    mutant(
        "pushed request: begun again after its answer",
        _PUSHED,
        "    if row.used_at:\n",
        "    if row.used_at and not row.expires_at:\n",
        f"{_TESTS}/test_pushed_requests.py::test_par_attempt_reuse_request_uri",
    ),
    mutant(
        "pushed request: answered with two tokens",
        _PUSHED,
        "PushedRequest.objects.filter(digest=digest, used_at=None)",
        "PushedRequest.objects.filter(digest=digest)",
        f"{_TESTS}/test_pushed_requests.py::test_two_browsers_with_one_handle_get_one_answer",
    ),
    mutant(
        "pushed request: the reference itself is stored",
        "infra/sealing.py",
        "return sha256(secret.encode()).hexdigest()",
        "return secret[-64:]",
        f"{_TESTS}/test_pushed_requests.py::test_handles_are_kept_as_digests_only",
    ),
)
