"""The base address must be spelt as browsers spell it."""

import json
import subprocess
from urllib.parse import urlsplit

import pytest
from django.http.request import split_domain_port, validate_host
from hypothesis import given
from hypothesis import strategies as st

from config.origins import LONGEST, fault

GOOD = [
    "https://wallet.example",
    "https://wallet.example:8443",
    "http://localhost:8000",
    "https://xn--wllet-gra.example",
    "https://192.0.2.1",
    "https://[2001:db8::1]:8443",
    "http://[::1]:8000",
    "https://1a.example",
]
BAD = [
    "",
    "wallet.example",
    "ftp://wallet.example",
    "https://",
    "https:///wallet.example",
    "https://Wallet.example",
    "HTTPS://wallet.example",
    "https://wället.example",
    "https://wallet.example.",
    "https://.wallet.example",
    "https://wallet..example",
    "https://-wallet.example",
    "https://wallet_one.example",
    "https://wallet.example:443",
    "http://wallet.example:80",
    "https://wallet.example:",
    "https://wallet.example:0",
    "https://wallet.example:08443",
    "https://wallet.example:65536",
    "https://wallet.example:port",
    "https://wallet.example/",
    "https://wallet.example?",
    "https://wallet.example#",
    "https://wallet.example;a",
    "https://@wallet.example",
    "https://user@wallet.example",
    "https://user:password@wallet.example",
    "https://wallet.example\n",
    " https://wallet.example",
    "https://wal\tlet.example",
    "https://192.0.2",
    "https://192.0.2.01",
    "https://192.0.2.256",
    "https://0xc0000201",
    "https://wallet.0x1",
    "https://[2001:DB8::1]",
    "https://[2001:db8:0::1]",
    "https://[::ffff:192.0.2.1]",
    "https://[fe80::1%25eth0]",
    "https://[]",
    "https://[::1",
    "https://*.example",
    "https://" + "a" * 64 + ".example",
    "https://" + "a." * 200 + "example",
]


@pytest.mark.parametrize("url", GOOD)
def test_an_origin_as_browsers_write_it_is_taken(url: str) -> None:
    assert fault(url) == ""


@pytest.mark.parametrize("url", BAD)
def test_everything_else_is_refused_with_the_end_of_a_sentence(url: str) -> None:
    assert fault(url).startswith("must ")


@pytest.mark.node
def test_a_browsers_url_parser_agrees() -> None:
    program = (
        "const origin = u => { try { return new URL(u).origin } catch { return 'none' } };"
        "console.log(JSON.stringify(JSON.parse(process.argv[1]).map(origin)))"
    )
    printed = subprocess.run(
        ["node", "-e", program, json.dumps([*GOOD, *BAD])], capture_output=True, text=True, check=True
    )
    origins = json.loads(printed.stdout)

    assert origins[: len(GOOD)] == GOOD
    # Browsers accept these, but Django does not, or no certificate can contain them.
    tolerated = {"ftp://wallet.example", "https://wallet.example.", "https://wallet_one.example"}
    tolerated |= {"https://wallet.example:0", "https://wallet.example;a"}
    tolerated |= {"https://.wallet.example", "https://wallet..example", "https://-wallet.example"}
    tolerated |= {url for url in BAD if "*" in url or len(url) > 70}
    assert {url for url, origin in zip(BAD, origins[len(GOOD) :], strict=True) if url == origin} <= tolerated


PARTS = st.sampled_from(
    ["https://", "http://", "wallet", ".", "-", ":", "8443", "443", "[", "]", "::1", "@", "/", "1", "0x1"]
)


@given(st.one_of(st.text(max_size=LONGEST + 50), st.lists(PARTS, max_size=12).map("".join)))
def test_what_is_taken_is_a_host_that_django_answers_to(url: str) -> None:
    if fault(url):
        return
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    assert url == f"{parts.scheme}://{host}{port}"
    domain, _port = split_domain_port(f"{host}{port}")
    assert validate_host(domain, [str(host)])
