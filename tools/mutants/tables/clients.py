"""Relying parties prove who they are, and use access tokens."""

from tools.mutants.mutant import mutant

_PACKAGE = "presentation/relying_parties/authentication"
_TESTS = "presentation/relying_parties"
_WRONG_ASSERTIONS = f"{_TESTS}/test_client_assertion.py::test_a_wrong_assertion_proves_nothing"

MUTANTS = (
    mutant(
        "client assertion: for another audience",
        f"{_PACKAGE}/assertion.py",
        "return isinstance(audience, str) and audience in audiences",
        "return isinstance(audience, str)",
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client assertion: of another issuer or subject",
        f"{_PACKAGE}/assertion.py",
        'claims.get("iss") != client_id or claims.get("sub") != client_id',
        'claims.get("sub") != client_id',
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client assertion: without an end",
        f"{_PACKAGE}/assertion.py",
        '        if "exp" not in moments:\n'
        '            raise AssertionRefusedError("The client assertion has no end (exp).")\n',
        '        moments.setdefault("exp", now.timestamp() + 60)\n',
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client assertion: a token of another kind",
        f"{_PACKAGE}/signed_jwt.py",
        "if typ not in types or not isinstance(kid, str | None):",
        "if not isinstance(kid, str | None):",
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client assertion: used again (jti)",
        f"{_PACKAGE}/authentication.py",
        "        if cursor.rowcount != 1:\n            raise InvalidClientError(",
        "        if cursor.rowcount > 1:\n            raise InvalidClientError(",
        f"{_TESTS}/test_token_endpoint.py::test_an_assertion_gives_a_token_once",
    ),
    mutant(
        "client assertion: its jti belongs to every client",
        f"{_PACKAGE}/authentication.py",
        'f"{client_id}\\n{assertion.jti}"',
        "assertion.jti",
        f"{_TESTS}/test_client_assertion.py::test_a_jti_is_the_clients_own",
    ),
    mutant(
        "client JWT: good at the instant it ends (exp)",
        f"{_PACKAGE}/signed_jwt.py",
        'if moments["exp"] <= moment - leeway:',
        'if moments["exp"] < moment - leeway:',
        f"{_TESTS}/test_signed_jwt.py::test_it_is_refused_from_the_next_second_on",
    ),
    mutant(
        "client JWT: valid for longer than allowed",
        f"{_PACKAGE}/signed_jwt.py",
        'if moments["exp"] > moment + lifetime.total_seconds() + leeway:',
        'if moments["exp"] > moment + 2 * lifetime.total_seconds():',
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client JWT: from the future (nbf, iat)",
        f"{_PACKAGE}/signed_jwt.py",
        'if max(moments.get("nbf", 0), moments.get("iat", 0)) > moment + leeway:',
        'if moments.get("nbf", 0) > moment + leeway:',
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client JWT: signed by a key that is not registered",
        f"{_PACKAGE}/signed_jwt.py",
        "        elif kid is None or kid not in keys:\n",
        "        elif kid not in keys and keys:\n            key = next(iter(keys.values()))\n"
        "        elif kid is None or kid not in keys:\n",
        _WRONG_ASSERTIONS,
    ),
    mutant(
        "client secret: works after it was ended",
        f"{_PACKAGE}/authentication.py",
        "            ended_at=None,\n",
        "",
        f"{_TESTS}/test_token_endpoint.py::test_an_ended_or_expired_secret_is_none",
    ),
    mutant(
        "client secret: works at the instant it expires",
        f"{_PACKAGE}/authentication.py",
        'expires_at__gt=value("now")',
        'expires_at__gte=value("now")',
        f"{_TESTS}/test_token_endpoint.py::test_a_secret_works_until_the_instant_at_which_it_expires",
    ),
    mutant(
        "client authentication: a suspended client gets a token by its secret",
        f"{_PACKAGE}/authentication.py",
        "            relying_party__state=RelyingParty.State.ACTIVE,\n",
        "",
        f"{_TESTS}/test_token_endpoint.py::test_a_suspended_relying_party_gets_no_token",
    ),
    mutant(
        "client authentication: a suspended client gets a token by its key",
        f"{_PACKAGE}/authentication.py",
        'client_id=value("client_id"), state=RelyingParty.State.ACTIVE',
        'client_id=value("client_id")',
        f"{_TESTS}/test_token_endpoint.py::test_a_suspended_relying_party_gets_no_token",
    ),
    mutant(
        "access token: a scope that was not granted",
        f"{_PACKAGE}/credentials_grant.py",
        "    if not set(chosen) <= set(granted):",
        "    if not chosen:",
        f"{_TESTS}/test_token_endpoint.py::test_a_scope_that_is_not_granted_is_refused",
    ),
    mutant(
        "access token: good at the instant it expires",
        f"{_PACKAGE}/access_tokens.py",
        'if moments.get("exp", 0) <= now.timestamp():',
        'if moments.get("exp", 0) < now.timestamp():',
        f"{_TESTS}/test_access_tokens.py::test_a_token_of_another_time_is_refused",
        f"{_TESTS}/test_access_tokens.py::test_a_token_says_who_may_do_what_until_it_ends",
    ),
    mutant(
        "access token: from another issuer or for another audience",
        f"{_PACKAGE}/access_tokens.py",
        'claims.get("iss") != settings.BASE_URL or claims.get("aud") != settings.BASE_URL',
        'claims.get("iss") != settings.BASE_URL',
        f"{_TESTS}/test_access_tokens.py::test_a_token_of_another_issuer_or_audience_is_refused",
    ),
    mutant(
        "access token: a presentation is taken for one (typ)",
        f"{_PACKAGE}/access_tokens.py",
        "claims = unverified.verified(key.public_key, typ=_TYPE)",
        'claims = unverified.verified(key.public_key, typ=unverified.header.get("typ"))',
        f"{_TESTS}/test_access_tokens.py::test_a_token_of_another_kind_or_key_is_refused",
    ),
    mutant(
        "access token: works for a suspended client",
        f"{_PACKAGE}/authentication.py",
        'client_id=value("client_id"), state=RelyingParty.State.ACTIVE',
        'client_id=value("client_id")',
        "presentation/test_verification.py::test_an_access_token_ends_with_its_party_and_not_after",
    ),
    mutant(
        "access token: allows what is no longer granted",
        f"{_PACKAGE}/bearer.py",
        "grants.intersection(party.grants)",
        "grants",
        "presentation/test_verification.py::test_what_is_no_longer_granted_no_access_token_allows",
    ),
    mutant(
        "access token: good for an endpoint of another grant",
        f"{_PACKAGE}/bearer.py",
        "if view.grant not in access.grants:",
        "if not access.grants:",
        "presentation/test_verification.py::test_an_access_token_for_something_else_is_not_enough",
    ),
    mutant(
        "public keys: a private key is registered",
        "presentation/relying_parties/metadata/public_keys.py",
        "    if any(_PRIVATE & jwk.keys() for jwk in keys):\n",
        "    if not keys and any(_PRIVATE & jwk.keys() for jwk in keys):\n",
        f"{_TESTS}/test_fetched_keys.py::test_a_private_key_spoils_a_published_set_too",
    ),
    mutant(
        "public keys: those that are no longer published live on",
        f"{_PACKAGE}/fetched_keys.py",
        "            if not self.is_fresh():\n                self.keys = {}\n",
        "            self.fetched_at = now\n",
        f"{_TESTS}/test_fetched_keys.py::test_a_failing_server_is_called_once_a_minute_and_its_cached_keys_expire",
    ),
)
