"""Calls to addresses that relying parties register, and limits of what is read."""

from tools.mutants.mutant import mutant

_CALLS, _TARGETS, _TESTS = "infra/outbound/calls.py", "infra/outbound/targets.py", "infra/test_outbound.py"

MUTANTS = (
    mutant(
        "outbound: private networks are called",
        _TARGETS,
        "return address.is_global and not (address.is_multicast or address.is_reserved)",
        "return not (address.is_loopback or address.is_multicast)",
        f"{_TESTS}::test_an_address_that_is_not_of_the_public_internet_is_not_called",
    ),
    mutant(
        "outbound: multicast addresses are called",
        _TARGETS,
        "address.is_global and not (address.is_multicast or address.is_reserved)",
        "address.is_global",
        f"{_TESTS}::test_an_address_that_is_not_of_the_public_internet_is_not_called",
    ),
    mutant(
        "outbound: a private address behind a translator (NAT64)",
        _TARGETS,
        "return is_public(IPv4Address(int(address) & 0xFFFFFFFF))",
        "return True",
        f"{_TESTS}::test_an_address_that_is_not_of_the_public_internet_is_not_called",
    ),
    mutant(
        "outbound: one public address excuses the others",
        _CALLS,
        "if not all(allowed(as_address(address)) for address in addresses):",
        "if not any(allowed(as_address(address)) for address in addresses):",
        f"{_TESTS}::test_one_address_that_is_not_public_spoils_the_others",
    ),
    mutant(
        "outbound: the name is resolved again to connect (DNS rebinding)",
        _CALLS,
        "socket.create_connection((address, target.port),",
        "socket.create_connection((self._resolve(target.host, target.port)[0], target.port),",
        f"{_TESTS}::test_a_name_that_is_bound_anew_in_between_leads_nowhere_else",
    ),
    mutant(
        "outbound: a redirect counts as an answer",
        _CALLS,
        "if 300 <= response.status < 400:",
        "if 300 < response.status < 301:",
        f"{_TESTS}::test_a_redirect_is_not_followed",
    ),
    mutant(
        "outbound: without TLS",
        _TARGETS,
        'if tls and parts.scheme != "https":',
        'if tls and parts.scheme not in ("http", "https"):',
        f"{_TESTS}::test_what_is_no_plain_https_address_is_not_called",
    ),
    mutant(
        "outbound: user information in the address",
        _TARGETS,
        'if "@" in parts.netloc or "#" in url:',
        'if "#" in url:',
        f"{_TESTS}::test_what_is_no_plain_https_address_is_not_called",
    ),
    mutant(
        "outbound: http on this machine where that is not allowed",
        _TARGETS,
        "tls = not (loopback and parts.scheme",
        "tls = not (parts.scheme",
        "infra/test_outbound_loopback.py::test_http_to_this_machine_is_not_called_otherwise",
    ),
    mutant(
        "outbound: a certificate of another name",
        _CALLS,
        "return (self._tls or _of_the_system()).wrap_socket",
        "tls = self._tls or _of_the_system()\n            tls.check_hostname = False\n"
        "            return tls.wrap_socket",
        f"{_TESTS}::test_a_certificate_of_another_name_is_not_believed",
    ),
    mutant(
        "outbound: an answer of any length",
        _CALLS,
        "    if len(body) > longest:\n        raise",
        "    if len(body) > 2 * longest:\n        raise",
        f"{_TESTS}::test_a_call_to_a_slow_or_endless_server_ends",
    ),
    mutant(
        "outbound: headers smuggle other headers",
        _CALLS,
        'if text.count("\\n") != len(lines) + 1:',
        'if text.count("\\n") < len(lines) + 1:',
        f"{_TESTS}::test_a_header_cannot_smuggle_another",
    ),
    mutant(
        "JSON from outside: a name twice",
        "infra/strict_json.py",
        "        if name in names:\n",
        "        if name in names and not name:\n",
        "presentation/dcql/test_dcql_parsing.py::test_what_is_no_unambiguous_json_is_refused",
    ),
    mutant(
        "client address: a header that no proxy of ours wrote is believed",
        "infra/client_addresses.py",
        'return entries[-proxies] if len(entries) >= proxies else ""',
        "return entries[0]",
        "infra/test_browser.py::test_forwarded_addresses_are_believed_as_far_as_our_proxies_wrote_them",
    ),
    mutant(
        "client address: every IPv6 address has limits of its own",
        "infra/client_addresses.py",
        "return str(IPv6Network((int(address), 64), strict=False))",
        "return str(address)",
        "infra/test_client_addresses.py::test_an_address_is_read_however_a_proxy_writes_it",
    ),
    mutant(
        "client address: an entry that cannot be read makes all people one client",
        "infra/limits.py",
        "        if subject is not None:\n",
        "        if (subject := subject or '') is not None:\n",
        "infra/test_limits.py::test_where_no_address_can_be_read_nothing_is_counted_and_the_doctor_learns_of_it",
    ),
)
