"""Keys, certificates and sealed values."""

from tools.mutants.mutant import mutant

_CHAIN = "keys/certificates/chain.py"
_COMMAND_TESTS = "keys/test_certificate_command.py"
_CHAIN_TESTS = "keys/test_certificate_chain.py"
_UNFIT = (
    f"{_CHAIN_TESTS}::test_a_chain_that_does_not_fit_does_not_exist_and_the_reason_names_the_certificates"
)

MUTANTS = (
    mutant(
        "sealing: a value opens in another row",
        "infra/sealing.py",
        "AESGCM(okm[:32])",
        # The context goes neither into the encryption nor into the decryption.
        "(lambda cipher: __import__('types').SimpleNamespace(\n"
        "        encrypt=lambda nonce, plain, _: cipher.encrypt(nonce, plain, b''),\n"
        "        decrypt=lambda nonce, sealed, _: cipher.decrypt(nonce, sealed, b''),\n"
        "    ))(AESGCM(okm[:32]))",
        "infra/test_sealing.py::test_a_value_moved_to_another_row_does_not_open",
    ),
    mutant(
        "certificate command: it sees the environment of the service",
        "keys/certificates/command.py",
        'env={"PATH": PATH,',
        'env={**os.environ, "PATH": PATH,',
        f"{_COMMAND_TESTS}::test_the_program_sees_the_request_and_nothing_of_our_secrets",
    ),
    mutant(
        "certificate command: others may replace the program",
        "keys/certificates/command.py",
        "status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)",
        "status.st_mode & (stat.S_IWGRP & stat.S_IWOTH)",
        f"{_COMMAND_TESTS}::test_the_start_refuses_a_program_that_others_could_replace",
    ),
    mutant(
        "certificate command: what it started stays",
        "keys/certificates/command.py",
        "os.killpg(running.pid, signal.SIGKILL)",
        "os.kill(running.pid, signal.SIGKILL)",
        f"{_COMMAND_TESTS}::test_a_program_that_hangs_is_ended_with_all_that_it_started",
    ),
    mutant(
        "certificate command: its answer may have any length",
        "keys/certificates/command.py",
        "if len(answer) > MAX_PEM:",
        "if len(answer) > 2 * MAX_PEM:",
        f"{_COMMAND_TESTS}::test_an_answer_of_exactly_the_greatest_length_is_read_whole",
    ),
    mutant(
        "sealing: the same nonce each time",
        "infra/sealing.py",
        "nonce = os.urandom(_NONCE)",
        "nonce = bytes(_NONCE)",
        "infra/test_sealing.py::test_sealing_twice_gives_different_bytes_without_the_plain_text",
    ),
    mutant(
        "sealing: the identity is bound to no row",
        "wallet/models/identity.py",
        '"wallet_credential.sealed_identity:{pk}"',
        '"wallet_credential.sealed_identity"',
        "wallet/test_credentials.py::test_the_identity_is_sealed_and_good_for_its_own_row_only",
    ),
    mutant(
        "x5c chain: a certificate valid at the instant it ends",
        _CHAIN,
        "if at >= certificate.not_valid_after_utc:",
        "if at > certificate.not_valid_after_utc:",
        f"{_CHAIN_TESTS}::test_dates_are_held_to_the_second",
    ),
    mutant(
        "x5c chain: a leaf of another key",
        _CHAIN,
        "if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != public_key:",
        "if not public_key:",
        f"{_CHAIN_TESTS}::test_the_leaf_must_be_for_this_signing_key",
    ),
    mutant(
        "x5c chain: the leaf is an authority",
        _CHAIN,
        "    if constraints and constraints.ca:\n",
        "    if constraints and constraints.ca and not constraints:\n",
        _UNFIT,
    ),
    mutant(
        "x5c chain: an issuer that is no authority",
        _CHAIN,
        "    if not constraints or not constraints.ca:\n",
        "    if constraints is None:\n",
        _UNFIT,
    ),
    mutant(
        "x5c chain: the path length is ignored",
        _CHAIN,
        "constraints.path_length < below:",
        "constraints.path_length < 0:",
        _UNFIT,
    ),
    mutant(
        "x5c chain: a signature by another key",
        _CHAIN,
        "        except InvalidSignature:\n            raise BrokenChainError(",
        "        except InvalidSignature:\n            return\n            raise BrokenChainError(",
        f"{_CHAIN_TESTS}::test_a_root_that_only_claims_to_have_signed_itself_is_refused",
        _UNFIT,
    ),
    mutant(
        "x5c chain: an unknown critical extension",
        _CHAIN,
        "if extension.critical and isinstance(extension.value, x509.UnrecognizedExtension):",
        "if not extension.oid:",
        _UNFIT,
    ),
    mutant(
        "x5c: the trust anchor is sent along",
        _CHAIN,
        "return self.x5c_with_root[:-1]",
        "return self.x5c_with_root",
        f"{_CHAIN_TESTS}::test_a_chain_that_fits_exists_and_gives_what_headers_and_key_sets_need",
    ),
    mutant(
        "key set: a withdrawn key is still known",
        "keys/key_set.py",
        "state__in=_PUBLISHED, certified_at__isnull=False",
        "certified_at__isnull=False",
        "presentation/test_verification.py::test_a_token_signed_by_a_withdrawn_key_is_refused",
    ),
)
