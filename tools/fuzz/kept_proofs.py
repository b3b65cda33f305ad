"""Scenarios of what is kept as a proof: receipts of holders, and evidence of relying parties."""

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cryptography import x509

from tools.fuzz.machines import NOTHING
from tools.fuzz.requests import JSON_TYPE, PRESENTATION, bearer

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

CHECK = "/receipt-check/"
_RECEIPT = re.compile(r'href="(/wallet/history/[0-9a-f-]{36}/)"')


def receipts(browser: "Browser") -> None:
    """A holder saves receipts as statements, and somebody has them checked, changed or not."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    browser.cookies["holder"] = dataset.holder_cookie(rng.choice(dataset.holders))
    found = _RECEIPT.findall(browser.get("/wallet/history/").text)
    statements = ["", "e30.e30.AA"]
    for address in rng.sample(found, min(2, len(found))):
        browser.get(address)
        reply = browser.get(f"{address}statement/")
        if reply.status == 200 and reply.header("Content-Type") == "application/jwt":
            browser.runner.account.reached["receipts saved"] += 1
            statements.append(reply.text)
    browser.cookies.pop("holder")
    for statement in statements[-3:]:
        sent = browser.mutator.segments(statement) if browser.mutator.turns(0.7) else statement
        reply = browser.post(CHECK, [("statement", sent)])
        browser.runner.account.reached["receipts found genuine"] += bool(statement) and reply.status == 200
    browser.get(CHECK, [("statement", "x")])


def evidence(browser: "Browser") -> None:
    """Evidence and archives are checked offline, by the service's command and by the Python library."""
    from presentation.evidence import EvidenceError, checked
    from tools.fuzz.verifiers import load_library

    rng, runner, known = browser.mutator.rng, browser.runner, browser.runner.dataset.presentations
    one = rng.choice(known) if known else {"party": rng.choice(runner.dataset.parties), "body": NOTHING}
    wanted = one["body"] | {"evidence": rng.choice((True, True, True, False, 1, "true", None))}
    path, headers = PRESENTATION + "verify", bearer(browser, one["party"])
    reply = browser.send("POST", path, browser.mutator.json(wanted), JSON_TYPE, **headers)
    root = browser.get("/trust/root.pem").body
    try:
        given = json.loads(reply.body)["evidence"]
        trusted = x509.load_pem_x509_certificate(root)
    except (ValueError, KeyError, TypeError):
        return
    runner.account.reached["evidence given"] += 1
    library = load_library()
    for _ in range(4):
        text = changed(browser, given).encode("utf-8", "surrogatepass")
        stated = runner.tried(
            browser.scenario, "verify_evidence", EvidenceError, text, checked, text, trusted
        )
        runner.account.reached["evidence found genuine"] += stated is not None
        pem = root.decode()
        archived = runner.tried(
            browser.scenario, "verify_archive", library.Rejected, text, library.verify_archive, text, pem
        )
        runner.account.reached["archives found genuine"] += archived is not None


def changed(browser: "Browser", given: dict[str, Any]) -> str:
    """Evidence or an archive, unchanged or with a part that is missing, there twice, or damaged."""
    mutator, rng = browser.mutator, browser.mutator.rng
    parts = {name: list(texts) if isinstance(texts, list) else texts for name, texts in given.items()}
    if rng.random() < 0.5:
        parts.pop("statement", None)  # as the archive of a library
    if rng.random() < 0.4:
        return json.dumps(parts)
    name = rng.choice([name for name, texts in parts.items() if texts])
    texts = parts[name] if isinstance(parts[name], list) else [parts[name]]
    with suppress(IndexError):
        place = rng.randrange(len(texts))
        match rng.randrange(4):
            case 0:
                texts.append(texts[place])
            case 1:
                del texts[place]
            case _:
                texts[place] = mutator.segments(texts[place])
    parts[name] = texts if name != "statement" else "".join(texts)
    return mutator.json(parts)
