"""What developers write with the installed packages: types, the example applications, the READMEs."""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse
from django.utils import timezone

import credential_presentation
from clients.tests.packages import HOME, LANGUAGES, MAIL, Installed, clean, in_node, run
from clients.tests.vectors import pem
from credential_presentation import Wallet, verify_archive
from credential_presentation.jose import decode
from credential_presentation.testing import fields_of, holder
from infra.published.documents import PublishedDocument
from presentation.relying_parties.authentication import client_secrets
from tests.barriers import assert_no_barriers
from tests.forgery import Forger
from tests.people import register
from tests.ports import free_port
from tests.project_copy import ROOT

pytestmark = [pytest.mark.node, pytest.mark.slow]
ROOT_PEM = pem(Forger().root)

TYPESCRIPT = """
import { Wallet, Denied, verifyArchive, readWebhook } from "credential-presentation";
import type { Pending, Result } from "credential-presentation";
import { holder, fieldsOf } from "credential-presentation/testing";
const wallet = new Wallet("https://w.example", "id", "https://s.example/", { root: "pem", secret: "s" });
export async function done(fields: Record<string, string>): Promise<string | undefined> {
  const begun: { url: string; pending: Pending } = await wallet.request({ login_hint: "a@b.example" });
  const { url, pending } = begun;
  const kept: Pending = JSON.parse(JSON.stringify(pending));
  try {
    const answer = fieldsOf(await holder(url, { decision: "share" }));
    const result: Result = await wallet.finish(kept, answer);
    const { time }: { time: number } = await verifyArchive(result.archive(), "pem");
    const told: string = readWebhook(fields, new Uint8Array(), "whsec_").type;
    return `${result.claims["given_name"]} ${time} ${told}`;
  } catch (error) {
    if (error instanceof Denied) return error.code;
    throw error;
  }
}
// @ts-expect-error: the root is demanded
new Wallet("https://w.example", "id", "https://s.example/callback", {});
// @ts-expect-error: claims are a list
await wallet.request({ claims: "given_name" });
"""
PYTHON = """
from credential_presentation import Denied, Pending, Result, Wallet, read_webhook, verify_archive
from credential_presentation.testing import fields_of, holder

wallet = Wallet("https://w.example", "id", "https://s.example/callback", root="pem", secret="s")

def done(fields: dict[str, str]) -> str:
    url, pending = wallet.request(login_hint="a@b.example")
    kept: Pending = Pending.from_json(pending.to_json())
    try:
        result: Result = wallet.finish(kept, fields_of(holder(url, decision="share")))
    except Denied as error:
        return error.code
    time: int = verify_archive(result.archive(), "pem").time
    return f"{time} {read_webhook(fields, b'', 'whsec_')['type']}"

Wallet("https://w.example", "id", "https://s.example/callback")  # type: ignore[call-arg]
wallet.request(claims=3)  # type: ignore[arg-type]
"""


def test_strict_types_of_a_users_file(installed: Installed) -> None:
    (installed.node / "use.mts").write_text(TYPESCRIPT)
    tsc = installed.node / "node_modules" / "typescript" / "bin" / "tsc"
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node"]
    run(tsc, *options, "use.mts", cwd=installed.node)
    (installed.built / "use.py").write_text(PYTHON)
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        installed.python,
    ]
    run(*mypy, "--cache-dir=/dev/null", "use.py", cwd=installed.built)


@pytest.fixture(params=LANGUAGES)
def example(
    request: pytest.FixtureRequest, installed: Installed, service: Any, root: str, tmp_path: Path
) -> Iterator[str]:
    """The address of a running example application."""
    address = f"http://127.0.0.1:{free_port()}"
    party = register("My Shop", f"{address}/callback")
    (tmp_path / "root.pem").write_text(root)
    variables = {
        "WALLET_URL": service.url,
        "CLIENT_ID": party.client_id,
        "CLIENT_SECRET": client_secrets.rotate(party, now=timezone.now()).text,
        "WALLET_ROOT": str(tmp_path / "root.pem"),
        "SHOP_URL": address,
    }
    examples = ROOT / "docs" / "examples"
    if request.param == "python":
        port = str(urlsplit(address).port)
        command = [
            installed.python,
            "-m",
            "flask",
            "--app",
            examples / "flask_shop.py",
            "run",
            "--port",
            port,
        ]
    else:
        command = ["node", Path(shutil.copy(examples / "express_shop.mjs", installed.node))]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=clean() | variables, **silent) as running:
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(address, timeout=1):
                break
            sleep(0.1)
        yield address
        running.terminate()


def answered_by_holder(page: Any, shop: str, **choices: Any) -> str:
    """Begins at the shop; the sandbox's holder answers. Returns where the browser is to go."""
    with page.expect_request(lambda request: "/presentation/authorize?" in request.url) as leaving:
        page.goto(shop)
        page.get_by_role("link", name="Prove your age").click()
    return str(holder(leaving.value.url, **choices))


@pytest.mark.browser
def test_the_examples_let_people_in_and_keep_others_out(page: Any, example: str) -> None:
    answer = answered_by_holder(page, example)
    page.goto(answer)
    page.get_by_text("Welcome, Alice!").wait_for()
    assert page.url == f"{example}/result"
    page.reload()
    page.get_by_text("Welcome, Alice!").wait_for()
    page.goto(answer)  # the answer is used once
    page.get_by_text("Please start again.").wait_for()
    page.goto(answered_by_holder(page, example, persona="under-18"))
    page.get_by_text("You are too young.").wait_for()
    page.goto(answered_by_holder(page, example, decision="decline"))
    page.get_by_text("You were not let in.").wait_for()
    page.goto(answered_by_holder(page, example).replace("vp_token=", "vp_token=x"))
    page.get_by_text("We cannot accept this answer.").wait_for()


@pytest.mark.browser
def test_each_tab_of_an_example_gets_its_own_answer(page: Any, example: str) -> None:
    for answer in [answered_by_holder(page, example) for _tab in range(2)]:
        page.goto(answer)
        page.get_by_text("Welcome, Alice!").wait_for()


@pytest.mark.browser
def test_an_example_has_no_result_and_takes_no_answer_for_another_browser(
    page: Any, browser: Any, example: str
) -> None:
    """Cookies that an attacker planted, or knows, lead to nothing."""
    attacker, stranger = browser.new_context(), browser.new_context()
    attacker.add_cookies([{"name": "session", "value": "undefined", "url": example}])
    nobodys = stranger.new_page()
    nobodys.goto(answered_by_holder(attacker.new_page(), example))
    nobodys.get_by_text("Please start again.").wait_for()
    answer = answered_by_holder(page, example)
    attacker.add_cookies(page.context.cookies())
    page.goto(answer)
    page.get_by_text("Welcome, Alice!").wait_for()
    reading = attacker.new_page()
    reading.goto(f"{example}/result")
    reading.get_by_text("Start again.").wait_for()
    attacker.close()
    stranger.close()


@pytest.mark.browser
def test_an_example_without_the_service_verifies_the_same_answer_later(
    page: Any, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answered_by_holder(page, example)
    with monkeypatch.context() as away:
        away.setattr(PublishedDocument, "__call__", lambda *_, **_names: HttpResponse(status=503))
        page.goto(answer)
        page.get_by_text("Please reload this page in a minute.").wait_for()
    page.reload()
    page.get_by_text("Welcome, Alice!").wait_for()


@pytest.mark.browser
def test_the_callback_page_has_words_for_everything_else(page: Any, browser: Any, example: str) -> None:
    page.goto(f"{example}/callback")
    assert page.get_by_role("status").inner_text() == "There is no answer here."
    assert page.get_by_role("link").inner_text() == "back to the start"
    page.goto("about:blank")
    page.add_init_script("HTMLFormElement.prototype.submit = () => {}")  # the submission fails
    page.goto(f"{example}/callback#vp_token=x&state=y&state=z&<img src=x onerror=alert(1)>=1")
    page.get_by_role("button", name="Continue").wait_for()
    assert page.get_by_role("status").inner_text() == "Your answer is being sent."
    assert page.url == f"{example}/callback"
    assert page.locator("input").evaluate_all("all => all.map(({ name }) => name)") == ["vp_token"]

    without = browser.new_context(java_script_enabled=False).new_page()
    without.goto(f"{example}/callback#vp_token=x&state=y")
    assert "your browser runs no scripts" in without.locator("main").inner_text()
    without.context.close()

    inspected = browser.new_context(bypass_csp=True).new_page()
    inspected.goto(f"{example}/callback")
    assert_no_barriers(inspected)
    inspected.context.close()


def snippets(language: str) -> list[str]:
    """The paragraphs of code in a library's README, in order."""
    folder, fence = ("python", "python") if language == "python" else ("node", "js")
    text = (ROOT / "clients" / folder / "README.md").read_text()
    blocks = re.findall(rf"```{fence}\n(.*?)```", text, re.DOTALL)
    return [paragraph for block in blocks for paragraph in block.split("\n\n")]


def test_the_code_in_the_readme_for_python_works(service: Any, root: str) -> None:
    names: dict[str, Any] = {
        "base_url": service.url,
        "client_id": register("My Shop", HOME).client_id,
        "redirect_uri": HOME,
    }
    names |= {"pem": root, "email": MAIL, "session": {}} | vars(credential_presentation)
    setup, request, answer, *testing = snippets("python")
    exec(f"{setup}\n{request}", names)
    names["posted_fields"] = fields_of(holder(names["url"]))
    exec("\n".join([answer, *testing]), names)
    assert names["claims"]["given_name"] == "Alice"


def test_the_code_in_the_readme_for_node_works(service: Any, root: str, installed: Installed) -> None:
    setup, request, answer, imported, testing = snippets("node")
    given = {
        "baseUrl": service.url,
        "clientId": register("My Shop", HOME).client_id,
        "redirectUri": HOME,
        "pem": root,
        "email": MAIL,
    }
    script = f"""
import assert from "node:assert/strict";
import {{ stateOf, Wallet }} from "credential-presentation";
{imported}
const {{ baseUrl, clientId, redirectUri, pem }} = {json.dumps(given)}, email = "{MAIL}", session = {{}};
{setup}
{{
  {request}
  const postedFields = fieldsOf(await holder(url));
  {answer}
  assert.equal(claims.given_name, "Alice");
}}
{testing}
"""
    (installed.node / "readme.mjs").write_text(script)
    run("node", "readme.mjs", cwd=installed.node)


def test_an_empty_secret_is_no_request_without_one() -> None:
    """The environment variable was forgotten; the request would be in an address."""
    with pytest.raises(ValueError, match="secret is empty"):
        Wallet("https://w.example", "client", HOME, root=ROOT_PEM, secret="")
    assert "secret is empty" in mistake_in_node('{ root, secret: "" }', "")


@pytest.mark.parametrize(
    "asking", [{"scope": "basic urn:example:drinks"}, {"dcql_query": {}}, {"claims": "given_name"}]
)
def test_a_request_whose_claims_are_not_known_is_a_clear_mistake(asking: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="are not known: list them .known: basic, age-over-18,"):
        Wallet("https://w.example", "client", HOME, root=ROOT_PEM).request(**asking)
    if "claims" not in asking:  # TypeScript notices that one
        said = mistake_in_node("{ root }", f"await wallet.request({json.dumps(asking)})")
        named = "dcql_query" if "dcql_query" in asking else "basic,urn:example:drinks"
        assert f"TypeError: the claims of {named} are not known: name them (known: basic,age-over" in said


@pytest.mark.parametrize("given", ["root.pem", None])
def test_a_root_that_is_no_certificate_is_a_clear_mistake(given: Any) -> None:
    for use in (
        lambda: Wallet("https://w.example", "client", HOME, root=given),
        lambda: verify_archive("{}", given),
    ):
        with pytest.raises(
            ValueError, match="root is not a certificate in PEM: give the content of the file"
        ):
            use()
    said = mistake_in_node(f"{{ root: {json.dumps(given)} }}", "")
    assert "TypeError: root is not a certificate in PEM: give the content of the file" in said


def mistake_in_node(options: str, then: str) -> str:
    """What Node.js says about this use of a wallet."""
    return in_node(f"""
const root = {json.dumps(ROOT_PEM)};
const wallet = new library.Wallet("https://w.example", "client", "{HOME}", {options});
{then}
""")


def test_amounts_may_be_decimals() -> None:
    amounts = [Decimal("4.50"), Decimal("1999.99"), Decimal("0.1")]
    wallet = Wallet("https://w.example", "client", HOME, root=ROOT_PEM)
    _, pending = wallet.request(transaction_data=[{"payload": {"unit_cost": each}} for each in amounts])
    sent = [json.loads(decode(each), parse_float=Decimal) for each in pending.transaction_data]
    assert [each["payload"]["unit_cost"] for each in sent] == amounts
