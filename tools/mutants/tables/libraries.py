"""The client libraries verify what strangers send them."""

from tools.mutants.mutant import Mutant

_PYTHON, _NODE = "clients/python/src/credential_presentation", "clients/node"
_CHAINS = "test_chains.py::test_service_and_libraries_believe_the_same_chains"
_SIGNATURES = "test_chains.py::test_service_and_libraries_believe_the_same_signatures"
_NEW_ROOT = "test_chains.py::test_the_runbook_of_a_new_root_leaves_no_moment_without_an_answer"
_VECTORS = "test_offline.py::test_both_libraries_decide_the_one_file_of_vectors_rightly"
_ARCHIVES = "test_offline.py::test_no_part_of_an_archive_can_be_changed"


def _mutant(name: str, file: str, text: str, replacement: str, test: str) -> Mutant:
    return Mutant(f"libraries: {name}", file, text, replacement, (f"clients/tests/{test}",))


MUTANTS = (
    _mutant(
        "Python takes a header with an extension (crit)",
        f"{_PYTHON}/jose.py",
        'plain = not {"crit", "b64"} & self.header.keys()',
        'plain = not {"b64"} & self.header.keys()',
        _VECTORS,
    ),
    _mutant(
        "Node takes a header with an extension (crit)",
        f"{_NODE}/jose.js",
        'const plain = !Object.hasOwn(header, "crit") && !Object.hasOwn(header, "b64");',
        'const plain = !Object.hasOwn(header, "b64");',
        _VECTORS,
    ),
    _mutant(
        "Python takes signatures of other lengths",
        f"{_PYTHON}/jose.py",
        '        demand(len(self.signature) == 64, check, "the signature has not 64 bytes")\n',
        "",
        _SIGNATURES,
    ),
    _mutant(
        "Python believes a leaf that may not sign",
        f"{_PYTHON}/certificates.py",
        "if not usage.digital_signature or usage.key_cert_sign:",
        "if usage.key_cert_sign:",
        _CHAINS,
    ),
    _mutant(
        "Python believes a leaf that may certify",
        f"{_PYTHON}/certificates.py",
        "if not usage.digital_signature or usage.key_cert_sign:",
        "if not usage.digital_signature:",
        _CHAINS,
    ),
    _mutant(
        "Python believes a leaf that is an authority",
        f"{_PYTHON}/certificates.py",
        "    if constraints is not None and constraints.ca:\n        raise ValueError\n",
        "    return\n",
        _CHAINS,
    ),
    _mutant(
        "Python believes an authority that may not certify",
        f"{_PYTHON}/certificates.py",
        "    if not usage.key_cert_sign:\n        raise ValueError\n",
        "    return\n",
        _CHAINS,
    ),
    _mutant(
        "Python believes an authority for servers",
        f"{_PYTHON}/certificates.py",
        "if purposes is not None and PURPOSES.isdisjoint(purposes):",
        "if purposes is None:",
        _CHAINS,
    ),
    _mutant(
        "Python believes certificates out of order",
        f"{_PYTHON}/certificates.py",
        "linked = lower.issuer == upper.subject and not",
        "linked = not",
        _CHAINS,
    ),
    _mutant(
        "Python believes a certificate that another key issued",
        f"{_PYTHON}/certificates.py",
        "    return named not in (None, own)",
        "    return False",
        _CHAINS,
    ),
    _mutant(
        "Python believes an authority with a weak key",
        f"{_PYTHON}/certificates.py",
        'demand(strong, check, "an authority has a weak key")',
        "assert authorities",
        _CHAINS,
    ),
    _mutant(
        "Node.js believes a certificate that another key issued",
        f"{_NODE}/certificates.js",
        "issuer === subject && [undefined, ownKey].includes(issuersKey)",
        "issuer === subject",
        _CHAINS,
    ),
    _mutant(
        "Node.js ignores constraints on subjects",
        f"{_NODE}/certificates.js",
        "some(({ tag }) => tag === DIRECTORY)) return false;",
        "some(({ tag }) => tag === DIRECTORY)) return true;",
        _CHAINS,
    ),
    _mutant(
        "Python believes a certificate for another host",
        f"{_PYTHON}/certificates.py",
        '        demand(named, check, "the certificate is for another host")\n',
        "",
        _CHAINS,
    ),
    _mutant(
        "Python reads the first root of several",
        f"{_PYTHON}/certificates.py",
        "self._roots = reduce(add, map(x509.load_pem_x509_certificates, octets))",
        "self._roots = [x509.load_pem_x509_certificate(octets[0])]",
        _NEW_ROOT,
    ),
    _mutant(
        "Node reads the first root of several",
        f"{_NODE}/certificates.js",
        "  return begun.map((block) => {",
        "  return begun.slice(0, 1).map((block) => {",
        _NEW_ROOT,
    ),
    _mutant(
        "Node believes a leaf that may not sign",
        f"{_NODE}/certificates.js",
        "  usage?.includes(SIGN) && !usage.includes(CERTIFY)",
        "  !usage?.includes(CERTIFY)",
        _CHAINS,
    ),
    _mutant(
        "Node believes a leaf that is an authority",
        f"{_NODE}/certificates.js",
        "&& !constraints?.ca && !nameConstraints",
        "&& !nameConstraints",
        _CHAINS,
    ),
    _mutant(
        "Node believes an authority that may not certify",
        f"{_NODE}/certificates.js",
        "constraints?.ca && usage?.includes(CERTIFY) && fits",
        "constraints?.ca && fits",
        _CHAINS,
    ),
    _mutant(
        "Node believes authorities below a path length of zero",
        f"{_NODE}/certificates.js",
        "&& fits && !deep && !unknown",
        "&& fits && !unknown",
        _CHAINS,
    ),
    _mutant(
        "Node believes an authority with an unknown critical extension",
        f"{_NODE}/certificates.js",
        "&& fits && !deep && !unknown",
        "&& fits && !deep",
        _CHAINS,
    ),
    _mutant(
        "Node does not look at name constraints",
        f"{_NODE}/certificates.js",
        "certified(last, upper) && allows(upper, below);",
        "certified(last, upper);",
        _CHAINS,
    ),
    _mutant(
        "Node believes a certificate that has ended",
        f"{_NODE}/certificates.js",
        "  const isTime = ({ notBefore, notAfter }) => notBefore <= now && now <= notAfter;\n",
        "  const isTime = ({ notBefore }) => notBefore <= now;\n",
        _CHAINS,
    ),
    _mutant(
        "Python archives a credential twice",
        f"{_PYTHON}/archive.py",
        '    demand(len(issued) == len(given), "structure", "a credential is presented twice")\n',
        "",
        _ARCHIVES,
    ),
    _mutant(
        "Node archives a credential twice",
        f"{_NODE}/verification.js",
        '  demand(issued.size === given.length, "structure", "a credential is presented twice");\n',
        "",
        _ARCHIVES,
    ),
)
