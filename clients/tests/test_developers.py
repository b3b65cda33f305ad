"""What developers write with the installed packages: types, the example applications, the READMEs."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from email.parser import Parser
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse
from django.utils import timezone

import credential_presentation
from clients.tests.packages import HOME, MAIL, Installed, clean, in_node, run
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


EXAMPLES = ROOT / "docs" / "examples"
SERVED = {
    "flask": ["-m", "flask", "--app", str(EXAMPLES / "flask_shop.py"), "run", "--port"],
    "django": [str(EXAMPLES / "django_shop.py"), "runserver", "--noreload"],
    "fastapi": ["-m", "uvicorn", "--app-dir", str(EXAMPLES), "fastapi_shop:app", "--port"],
}


BUNDLED = """
import assert from "node:assert/strict";
import { CALLBACK_PAGE, CALLBACK_SCRIPT, sealPending, Wallet } from "credential-presentation";
const wallet = new Wallet("https://w.example", "id", "https://s.example/callback", { root: ROOT });
wallet.request().then(({ url, pending }) => {
  assert.equal(new URL(url).hostname, "w.example");
  assert.ok(sealPending(pending, "k".repeat(32)).length < 3500);
  console.log(CALLBACK_PAGE + CALLBACK_SCRIPT);
});
"""


@pytest.mark.parametrize("form", ["esm", "cjs"])
def test_the_library_for_node_works_in_a_bundle(installed: Installed, tmp_path: Path, form: str) -> None:
    """Nothing but the bundle is there: no folder of the package, and in CommonJS no address of the module."""
    source, ending = installed.node / "bundled.mjs", {"esm": "mjs", "cjs": "cjs"}[form]
    source.write_text(BUNDLED.replace("ROOT", json.dumps(ROOT_PEM)))
    out = tmp_path / f"bundle.{ending}"
    options = {"entryPoints": [source.name], "outfile": str(out), "format": form, "bundle": True}
    (installed.node / "build.mjs").write_text(
        f'import {{ buildSync }} from "esbuild"; buildSync({json.dumps(options | {"platform": "node"})});'
    )
    run("node", "build.mjs", cwd=installed.node)
    done = subprocess.run(["node", out], cwd=tmp_path, env=clean(), capture_output=True, text=True)
    folder = ROOT / "clients" / "node" / "callback"
    texts = "".join((folder / name).read_text() for name in ("callback.html", "callback.js"))
    assert (done.stdout, done.stderr) == (f"{texts}\n", "")


def test_types_are_also_in_the_folder_from_which_it_is_installed(installed: Installed) -> None:
    """`clients/types clients/node` writes them."""
    folder, packed = ROOT / "clients" / "node" / "types", installed.node / "node_modules" / PACKAGE / "types"
    kept, made = ({path.name: path.read_text() for path in types.glob("*.ts")} for types in (folder, packed))
    assert "index.d.ts" in made
    assert kept == made


PACKAGE = "credential-presentation"


def test_both_packages_say_what_their_indexes_want(installed: Installed) -> None:
    """Licence, authors, repository, changelog: an owner publishes with `twine upload` and `npm publish`."""
    (wheel,), (tarball,) = (list(installed.built.glob(f"*.{ending}")) for ending in ("whl", "tgz"))
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        said = Parser().parsestr(archive.read(file).decode())
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    assert said["License-Expression"].startswith("LicenseRef-")
    assert said["Author"]
    assert {url.partition(",")[0] for url in said.get_all("Project-URL") or []} >= {"Repository", "Changelog"}
    with tarfile.open(tarball) as packed:
        names, file_in_it = set(packed.getnames()), packed.extractfile("package/package.json")
        assert file_in_it
        package = json.loads(file_in_it.read())
    assert names >= {
        f"package/{name}" for name in ("LICENSE", "CHANGELOG.md", "README.md", "types/index.d.ts")
    }
    assert package.keys() >= {"license", "author", "repository", "homepage", "bugs"}
    assert "private" not in package


@pytest.fixture(params=[*SERVED, "express", "hono"])
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
        "SECRET_KEY": "0123456789abcdef" * 4,
    }
    if request.param in SERVED:
        command = [installed.python, *SERVED[request.param], str(urlsplit(address).port)]
    else:
        script = EXAMPLES / f"{request.param}_shop.mjs"
        command = ["node", Path(shutil.copy(script, installed.node))]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=clean() | variables, **silent) as running:
        for _ in range(600):
            with suppress(OSError), urllib.request.urlopen(address, timeout=1):
                break
            sleep(0.1)
        yield address
        running.terminate()


def answered_by_holder(page: Any, shop: str, link: str = "Prove your age", **choices: Any) -> str:
    """Begins at the shop; the sandbox's holder answers. Returns where the browser is to go."""
    with page.expect_request(lambda request: "/presentation/authorize?" in request.url) as leaving:
        page.goto(shop)
        page.get_by_role("link", name=link).click()
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
    page.goto(answered_by_holder(page, example, "Pay for green tea"))
    page.get_by_text("Welcome, Alice! Your tea is paid for.").wait_for()


@pytest.mark.browser
def test_the_cookie_of_an_example_shows_nothing_of_a_payment(page: Any, example: str) -> None:
    answered_by_holder(page, example, "Pay for green tea")
    (cookie,) = (each for each in page.context.cookies(f"{example}/callback") if "wallet-" in each["name"])
    assert re.fullmatch("[A-Za-z0-9_-]{300,3500}", cookie["value"])
    assert b"tea" not in decode(cookie["value"])
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"
    assert cookie["path"] == "/callback"


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
    for _ in range(60):  # for some seconds the library leaves a service alone that failed
        page.reload()
        if page.get_by_text("Welcome, Alice!").is_visible():
            break
        page.wait_for_timeout(200)
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


@pytest.mark.parametrize("asking", [{"scope": "basic urn:example:drinks"}, {"dcql_query": {}}])
def test_a_request_whose_claims_are_not_known_is_a_clear_mistake(asking: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="are not known: list them .known: basic, age-over-18,"):
        Wallet("https://w.example", "client", HOME, root=ROOT_PEM).request(**asking)
    said = mistake_in_node("{ root }", f"await wallet.request({json.dumps(asking)})")
    named = "dcql_query" if "dcql_query" in asking else "basic,urn:example:drinks"
    assert f"TypeError: the claims of {named} are not known: name them (known: basic,age-over" in said


QUERY = {"credentials": [{"id": "one", "claims": [{"path": ["given_name"]}, {"path": ["email"]}]}]}
TWO = {"credentials": [{"id": "one"}, {"id": "two"}]}
# What `finish` would reject whatever the person does, and a word of what both libraries say.
VAIN: list[tuple[dict[str, Any], str]] = [
    ({"scope": "basic", "claims": ["given_name"]}, "claims lacks family_name"),
    ({"scope": "basic contact", "claims": ["given_name", "family_name", "email"]}, "lacks age_equal_or_over"),
    (
        {"scope": "basic", "claims": ["given_name", "family_name", "age_equal_or_over", "email"]},
        "does not hold email",
    ),
    ({"scope": "urn:x basic", "claims": ["drinks"]}, "lacks given_name"),
    ({"scope": "basic basic"}, "a name twice"),
    ({"scope": ""}, "scope is empty"),
    ({"scope": ["basic"]}, "scope is a text"),
    ({"claims": "given_name"}, "claims is a(n array| list) of names"),
    ({"claims": [7]}, "claims is a(n array| list) of names"),
    ({"claims": []}, "claims has no name"),
    ({"scope": "urn:x", "claims": [""]}, "claims has no name, or an empty one"),
    ({"dcql_query": QUERY, "claims": ["given_name"]}, "claims lacks email"),
    ({"dcql_query": json.dumps(QUERY), "claims": ["given_name", "email", "x"]}, "does not hold x"),
    ({"dcql_query": TWO, "claims": ["given_name"]}, "exactly one credential"),
    ({"dcql_query": "{", "claims": ["given_name"]}, "dcql_query is (not the JSON of )?an object"),
    ({"dcql_query": 7, "claims": ["given_name"]}, "dcql_query is an object or its JSON"),
    ({"response_mode": "query"}, "response_mode is none of fragment, direct_post"),
    ({"transaction_data": "payment"}, "is an object, or a(n array| list) of them"),
    ({"transaction_data": ["payment"]}, "is an object, or a(n array| list) of them"),
    *(
        ({name: "mine"}, f"{name}")
        for name in ("state", "nonce", "client_id", "redirect_uri", "response_uri", "response_type")
    ),
    *(({name: "mine"}, f"{name}") for name in ("client_metadata", "client_secret", "request", "loginHint")),
]


@pytest.mark.parametrize(("asking", "said"), VAIN)
def test_what_every_answer_would_be_rejected_for_is_refused_before_anybody_is_asked(
    asking: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Wallet("https://w.example", "client", HOME, root=ROOT_PEM).request(**asking)
    camel = {{"transaction_data": "transactionData"}.get(name, name): value for name, value in asking.items()}
    in_node = mistake_in_node("{ root }", f"await wallet.request({json.dumps(camel)})")
    assert re.search(rf"TypeError: .*{said}", in_node), in_node


CHOICE = {
    "id": "one",
    "claims": [{"id": "a", "path": ["given_name"]}, {"id": "b", "path": ["email"]}],
    "claim_sets": [["a", "b"], ["a"]],
}


@pytest.mark.parametrize(
    "requested",
    [
        {"dcql_query": {"credentials": [CHOICE]}},
        {"dcql_query": {"credentials": [{"id": "one"}]}},
        {"scope": "identity"},  # an operator may have changed it
        {"scope": "contact urn:x"},
    ],
)
def test_where_only_the_service_knows_which_claims_come_those_that_are_named_are_expected(
    requested: dict[str, Any],
) -> None:
    asking: dict[str, Any] = {**requested, "claims": ["given_name"]}
    _, pending = Wallet("https://w.example", "client", HOME, root=ROOT_PEM).request(**asking)
    assert pending.claims == ["given_name"]
    said = mistake_in_node(
        "{ root }",
        f"const asked = await wallet.request({json.dumps(asking)}); console.error(asked.pending.claims);",
    )
    assert said.strip() == "[ 'given_name' ]"


def test_a_name_that_is_spelt_wrongly_is_named() -> None:
    said = mistake_in_node("{ root }", 'await wallet.request({ loginHint: "sam@example.org" })')
    assert "TypeError: loginHint is no option: did you mean login_hint?" in said
    said = mistake_in_node('{ root, Secret: "s" }', "")
    assert "TypeError: Secret is no option: did you mean secret?" in said


@pytest.mark.parametrize(
    ("base_url", "redirect_uri", "options", "said"),
    [
        ("wallet.example", HOME, {}, "base_?url is no address"),
        ("https://wallet.example/?x", HOME, {}, "base_?url is no address"),
        ("https://w.example", "", {}, "redirect_?uri is empty"),
        ("https://w.example", f"{HOME}#x", {}, "redirect_?uri is empty, or has a fragment"),
        ("https://w.example", HOME, {"lifetime": 0}, "lifetime is no time"),
    ],
)
def test_a_wallet_that_could_finish_nothing_is_not_made(
    base_url: str, redirect_uri: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Wallet(base_url, "client", redirect_uri, root=ROOT_PEM, **options)
    given = f"{json.dumps(base_url)}, 'client', {json.dumps(redirect_uri)}"
    root = json.dumps({"root": ROOT_PEM, **options})
    assert re.search(f"TypeError: {said}", in_node(f"new library.Wallet({given}, {root});"), re.IGNORECASE)


@pytest.mark.parametrize(
    ("value", "python", "node"),
    [
        ("date(2026, 1, 31)", r"payload.due is a date or time: .* '2026-01-31'", ""),
        ("time(12)", r"payload.due is a date or time", ""),
        ("Decimal('NaN')", "payload.due is no finite number", ""),
        ("Decimal('0.12345678901234567890')", "payload.due has more digits", ""),
        ("float('inf')", "payload.due is no finite number", "Infinity"),
        ("{1: 2}", "payload.due has a name that is no text: 1", ""),
        ("{1, 2}", "payload.due is set, which JSON does not have", "new Set([1])"),
        ("b'x'", "payload.due is bytes", "Buffer.from('x')"),
        ("[object()]", r"payload.due\[0\] is object", "[Symbol('x')]"),
        ("None", "", "undefined"),
        ("None", "", "7n"),
        ("None", "", "() => 7"),
        ("None", "", "new Date()"),
        ("None", "", "[new Map()]"),
    ],
)
def test_what_json_would_change_in_a_payment_is_named(value: str, python: str, node: str) -> None:
    wallet = Wallet("https://w.example", "client", HOME, root=ROOT_PEM)
    names = {"date": date, "time": time, "Decimal": Decimal}
    payment = {"payload": {"due": eval(value, names)}}
    if python:
        with pytest.raises((TypeError, ValueError), match=rf"transaction_data\.{python}"):
            wallet.request(transaction_data=[payment])
    if node:
        asked = f"await wallet.request({{ transactionData: {{ payload: {{ due: {node} }} }} }});"
        said = mistake_in_node("{ root }", asked)
        assert re.search(r"TypeError: transactionData\.payload\.due(\[0\])? is ", said), said


def test_one_object_to_be_approved_needs_no_list() -> None:
    wallet = Wallet("https://w.example", "client", HOME, root=ROOT_PEM)
    _, one = wallet.request(transaction_data={"payload": {"title": "é"}})
    _, listed = wallet.request(transaction_data=[{"payload": {"title": "é"}}])
    assert one.transaction_data == listed.transaction_data
    said = mistake_in_node(
        "{ root }",
        "const asked = await wallet.request({ transactionData: { a: 1 } });"
        "console.error(asked.pending.transactionData.map(atob));",
    )
    assert """[ '{"a":1}' ]""" in said


def test_node_reads_what_the_web_has() -> None:
    """`FormData`, `URLSearchParams`, `Headers` and `ArrayBuffer`, as Next.js and Hono have them."""
    said = in_node("""
const { createHmac } = await import("node:crypto");
for (const fields of [new FormData(), new URLSearchParams()]) {
  fields.append("state", "abc");
  console.error(library.stateOf(fields));
  fields.append("state", "other");
  try { library.stateOf(fields); } catch (error) { console.error(error.message); }
}
const key = Buffer.alloc(32), body = new TextEncoder().encode('{"type": "x"}');
const moment = Math.floor(Date.now() / 1000);
const signature = createHmac("sha256", key).update(`1.${moment}.`).update(body).digest("base64");
const headers = { "Webhook-Id": "1", "Webhook-Timestamp": moment, "Webhook-Signature": `v1,${signature}` };
console.error(library.readWebhook(new Headers(headers), body.buffer, `whsec_${key.toString("base64")}`).type);
""")
    assert said.split("\n")[:-1] == ["abc", "structure: a field is there twice"] * 2 + ["x"]


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
