"""Mutants of promises that no other table breaks."""

from tools.mutants.mutant import mutant

MUTANTS = (
    mutant(
        "sealing: values of earlier versions no longer open",
        "infra/sealing.py",
        'b"keys.sealing"',
        'b"infra.sealing"',
        "infra/test_sealing.py::test_a_value_that_version_0_1_0_sealed_opens",
    ),
    mutant(
        "contract: an endpoint moves to another address",
        "config/urls.py",
        'path(f"{PRESENTATION}/outcome"',
        'path(f"{PRESENTATION}/outcomes"',
        "presentation/test_api_description.py::test_every_endpoint_for_machines_is_described_and_none_that_is_not_there",
    ),
    mutant(
        "published document: gone as soon as it cannot be built anew",
        "infra/published/documents.py",
        "if self._current is None or not self._current.etag or monotonic() >= self._until:",
        "if True:",
        "infra/test_published.py::test_when_a_rebuild_fails_the_old_bytes_are_served_and_not_cached",
    ),
    mutant(
        "published document: served although it has expired",
        "infra/published/documents.py",
        "if self._current is None or not self._current.etag or monotonic() >= self._until:",
        "if self._current is None or not self._current.etag:",
        "infra/test_published.py::test_bytes_with_an_end_of_their_own_are_served_until_then",
    ),
    mutant(
        "issuer: the discovery document names another",
        "presentation/metadata.py",
        '            "issuer": settings.BASE_URL,\n            "token_endpoint"',
        '            "issuer": f"{settings.BASE_URL}/",\n            "token_endpoint"',
        "presentation/test_metadata.py::test_the_issuer_names_itself_and_its_keys",
        "presentation/test_api_description.py::"
        "test_the_discovery_documents_in_the_examples_are_those_that_are_served",
    ),
    mutant(
        "access_denied: the description says why",
        "presentation/errors.py",
        'super().__init__("The request was not granted.")',
        'super().__init__(__import__("sys")._getframe(1).f_code.co_name)',
        "test_attacks.py::test_a_query_does_not_reveal_whether_a_person_has_a_value",
    ),
    mutant(
        "logs: the row that the database refused",
        "config/logs.py",
        r'_ROW.sub(r"\1: (left out)", text)',
        "text",
        "test_attacks.py::test_a_row_that_the_database_refuses_is_not_logged",
    ),
    mutant(
        "logs: the secret in the path of a link",
        "config/logs.py",
        'record.getMessage().replace(request.path, "(path)")',
        "record.getMessage()",
        "config/test_request_log.py::test_the_log_never_says_the_path_because_links_carry_their_secrets",
    ),
)
