"""Settings, headers and limits of the service as a whole."""

from tests.mutants.mutant import mutant

_SETTINGS, _LIMITS = "config/settings.py", "infra/limits.py"

MUTANTS = (
    mutant(
        "environment: a missing one means sandbox",
        _SETTINGS,
        '_environment = os.environ.get("ENVIRONMENT", "")',
        '_environment = os.environ.get("ENVIRONMENT") or "sandbox"',
        "config/test_settings.py::test_nothing_starts_while_the_environment_is_forgotten",
    ),
    mutant(
        "environment: production installs the sandbox",
        _SETTINGS,
        '    *(["sandbox"] if _sandbox else []),\n',
        '    "sandbox",\n',
        "config/test_settings.py::test_production_has_no_sandbox_pages_and_no_debug",
    ),
    mutant(
        "environment: production verifies identities with the sandbox's provider",
        _SETTINGS,
        'values.get("type", "").startswith("sandbox.")',
        'values.get("type", "").startswith("elsewhere.")',
        "config/test_settings.py::test_production_refuses_what_would_be_wrong",
    ),
    mutant(
        "environment: production runs on the database of a sandbox",
        "infra/database/database_mark.py",
        "if mark and mark != settings.DATABASE_MARK:",
        "if mark and not settings.DATABASE_MARK:",
        "infra/test_database_mark.py::test_a_connection_to_a_foreign_database_is_closed_and_so_is_the_next",
    ),
    mutant(
        "environment: production without TLS",
        _SETTINGS,
        "if BASE_URL and not _https and not _sandbox:",
        "if not BASE_URL and not _https and not _sandbox:",
        "config/test_settings.py::test_production_refuses_what_would_be_wrong",
    ),
    mutant(
        "cookies: not bound to the host",
        _SETTINGS,
        '_host_prefix = "__Host-" if _https else ""',
        '_host_prefix = ""',
        "config/test_settings.py::test_production_cookies_are_bound_to_the_host_and_to_tls",
    ),
    mutant(
        "proxies: a header of the client decides whether TLS was used",
        _SETTINGS,
        "if TRUSTED_PROXY_COUNT:\n    SECURE_PROXY_SSL_HEADER",
        "if TRUSTED_PROXY_COUNT >= 0:\n    SECURE_PROXY_SSL_HEADER",
        "config/test_settings.py::test_whether_a_request_came_by_tls_is_believed_only_of_a_proxy_that_is_there",
    ),
    mutant(
        "CSP: not sent",
        "config/middleware.py",
        'headers.setdefault("Content-Security-Policy", self.policy if own is None else serialise(own))',
        "pass",
        "config/test_request_log.py::test_every_page_is_sent_with_the_strict_policy",
    ),
    mutant(
        "CSP: pages may be framed",
        _SETTINGS,
        '    "frame-ancestors": ["\'none\'"],\n',
        "",
        "presentation/requests/test_browser_safety.py::test_no_page_can_be_framed_or_tells_others_where_people_were",
    ),
    mutant(
        "caches: keep what operators see",
        "config/middleware.py",
        '        response.headers.setdefault("Cache-Control", "no-store")\n',
        "",
        "config/test_admin_addresses.py::test_no_cache_keeps_what_the_admin_answers",
    ),
    mutant(
        "caches: keep answers of machine endpoints",
        "presentation/endpoints.py",
        '"Cache-Control": "no-store", "Pragma": "no-cache"',
        '"Pragma": "no-cache"',
        "presentation/relying_parties/test_token_endpoint.py::test_a_secret_in_the_header_gives_a_token_of_rfc_9068",
    ),
    mutant(
        "machine endpoints: a body of any length",
        "presentation/endpoints.py",
        "int(length) > self.longest_body",
        "int(length) < 0",
        "presentation/relying_parties/test_token_endpoint.py::test_a_body_that_is_too_long_is_not_read",
    ),
    mutant(
        "machine endpoints: parameters in the address, where logs keep them",
        "presentation/endpoints.py",
        'if django_request.META.get("QUERY_STRING"):',
        'if django_request.META.get("ANOTHER_NAME"):',
        "presentation/relying_parties/test_token_endpoint.py::test_parameters_in_the_address_are_refused",
    ),
    mutant(
        "limit: once more than it says",
        _LIMITS,
        "SET count = wallet_allowance.count + 1 WHERE wallet_allowance.count < %s",
        "SET count = wallet_allowance.count + 1 WHERE wallet_allowance.count <= %s",
        "infra/test_limits.py::test_as_often_as_it_says_and_not_once_more",
    ),
    mutant(
        "limit: a rolling one has a slot too many",
        _LIMITS,
        "for number in range(self.most)]",
        "for number in range(self.most + 1)]",
        "infra/test_limits.py::test_a_rolling_limit_allows_as_many_in_any_window_wherever_it_begins",
    ),
    mutant(
        "limit: two requests at once take the same slot",
        _LIMITS,
        "    WHERE wallet_allowance.expires_at <= %s\n",
        "    WHERE wallet_allowance.expires_at <= %s OR TRUE\n",
        "infra/test_limits.py::test_a_race_takes_exactly_what_a_rolling_limit_allows_and_gives_back_exactly_that",
    ),
    mutant(
        "limit: wrong sign-in codes of other browsers do not count",
        "wallet/sign_in.py",
        "            taken.pop_all()\n            raise WrongCodeError(",
        "            raise WrongCodeError(",
        "wallet/test_sign_in_allowances.py::test_only_wrong_codes_of_strangers_count_for_their_client_address",
    ),
    mutant(
        "limit: operators' passwords are guessed without a limit",
        "config/operator_sign_in.py",
        "                limit.take(subject, now=now)\n",
        "                limit.left(subject, now=now)\n",
        "config/test_operator_sign_in.py::test_after_too_many_attempts_the_status_says_so_and_when_to_come_again",
    ),
)
