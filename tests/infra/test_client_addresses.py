"""The entries of proxies, as RFC 7239 §6 defines them and as proxies write them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import client_addresses

PORTS = ["", ":1", ":4711", ":65535", ":_port"]


@pytest.mark.parametrize(
    ("entry", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("\t 203.0.113.9 ", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),  # Azure, and AWS if it is told to keep ports
        ("203.0.113.9:_port", "203.0.113.9"),
        ('"203.0.113.9:4711"', "203.0.113.9"),
        ("[203.0.113.9]:4711", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"),
        ('"[2001:db8:1:2::6]:4711"', "2001:db8:1:2::/64"),
        ('"2001:db8:1:2::6"', "2001:db8:1:2::/64"),
        ("2001:db8:1:2:3:4:5:6:4711", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::6:4711", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ('for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::/64"),  # RFC 7239 §4
        ("For=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ('proto=https; host="wallet.example"; for=192.0.2.43', "192.0.2.43"),
        ("for=192.0.2.43:4711", "192.0.2.43"),
    ],
)
def test_an_address_is_read_however_a_proxy_writes_it(entry: str, client: str) -> None:
    assert client_addresses.read(entry) == client


@pytest.mark.parametrize(
    "entry",
    [
        *(
            "",
            " ",
            ",",
            '""',
            '"',
            "[]",
            "[]:80",
            ":80",
            ":",
            "-",
            "unknown",
            "Unknown:80",
            "unix:",
            "localhost",
        ),
        *("_hidden", "_SEVKISEK", '"_gazonk"', "_hidden:4711", "for=_mdn", "for=unknown", 'for=""', "for="),
        *("0.0.0.0", "::", "[::]:80", "0.0.0.0:80", "::ffff:0.0.0.0", "64:ff9b::"),
        *("203.0.113.09", "203.0.113.9.1", "203.0.113", "203.0.113.9/32", "0x7f.1", "2130706433", "٢.٢.٢.٢"),
        *(
            "203.0.113.9:",
            "203.0.113.9:port",
            "203.0.113.9:123456",
            "203.0.113.9:٢",
            "203.0.113.9 x",
            "[::1",
            "::1]",
        ),
        *(
            "203.0.113.9;proto=https",
            "for=6.6.6.6;for=203.0.113.9",
            "by=203.0.113.9",
            'for=203.0.113.9;host="a',
        ),
        *("for=203.0.113.9;x", 'for="203.0.113.9', "for==203.0.113.9", "203.0.113.9" + " " * 300 + "x"),
        *("'203.0.113.9'", '""203.0.113.9""', "[[::1]]", "203.0.113.9\n", "203.0.113.9\0"),
    ],
)
def test_what_names_no_address_is_nobody(entry: str) -> None:
    assert client_addresses.read(entry) is None


@pytest.mark.parametrize(
    "address",
    [
        "::ffff:192.0.2.1",
        "64:ff9b::192.0.2.1",
        "64:ff9b:1::192.0.2.1",
        "64:ff9b:1:7:8:9:192.0.2.1",
        "2002:c000:201::1",
        "2002:c000:201:7::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdfe",
        "2001:0:1:1:8000:63bf:3fff:fdfe",  # by another server
    ],
)
def test_an_ipv6_address_that_is_made_of_an_ipv4_address_counts_as_that(address: str) -> None:
    assert client_addresses.read(address) == "192.0.2.1"
    assert client_addresses.read(f"[{address}]:443") == "192.0.2.1"


@pytest.mark.parametrize(
    "address", ["64:ff9b:1:c000:2:100::", "64:ff9b:1:0:c0:2:100:0", "64:ff9b:1:7:108:9:c000:201"]
)
def test_where_nobody_can_tell_the_address_inside_the_whole_address_counts(address: str) -> None:
    neighbour = str(ipaddress.IPv6Address(address) + (1 << 24))

    assert client_addresses.read(address) == address
    assert client_addresses.read(neighbour) == neighbour


@pytest.mark.parametrize(
    "address", ["64:ff9b:0:1::c000:201", "64:ff9b:2::c000:201", "::192.0.2.1", "2003:c000:201::"]
)
def test_other_networks_have_no_address_inside(address: str) -> None:
    assert client_addresses.read(address) == str(ipaddress.ip_network((address, 64), strict=False))


@given(address=st.ip_addresses().filter(lambda a: not a.is_unspecified), port=st.sampled_from(PORTS))
def test_every_notation_of_an_address_is_the_same_client(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: str
) -> None:
    plain = client_addresses.read(str(address))
    node = f"[{address}]{port}" if address.version == 6 else f"{address}{port}"
    notations = (node, f'"{node}"', f" {node}\t", f'for="{node}"', f"for={node};proto=https", node.upper())

    assert {client_addresses.read(notation) for notation in notations} == {plain}


@given(entry=st.text(max_size=400) | st.text(alphabet='0123456789abcdef:.[]"_=;%for ', max_size=120))
def test_whatever_is_read_is_a_network_and_read_again_it_is_the_same(entry: str) -> None:
    client = client_addresses.read(entry)
    if client is not None:
        network = ipaddress.ip_network(client)
        assert client_addresses.read(str(network.network_address)) in (client, None)


@given(header=st.text(alphabet=st.sampled_from(',;="\\ a1.:'), max_size=5000), proxies=st.integers(1, 20))
def test_an_entry_comes_from_the_right(header: str, proxies: int) -> None:
    entries = header.split(",")
    expected = entries[-proxies] if len(entries) >= proxies else ""

    assert client_addresses.forwarded(header, proxies) == expected
