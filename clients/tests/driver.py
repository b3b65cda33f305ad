"""Drives the installed Python library: reads a command a line, and prints an answer a line."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import credential_presentation as library
from credential_presentation.testing import fields_of, holder


class Driver:
    wallet: library.Wallet

    def open(self, documents: dict[str, str] | None = None, now: float | None = None, **facts: Any) -> str:
        def fetch(request: library.Request) -> library.Response:
            if request.url not in (documents or {}):
                return library.Response(404, b"")
            return library.Response(200, documents[request.url].encode(), {"cache-control": "max-age=0"})

        if documents is not None:
            facts |= {"fetch": fetch, "clock": lambda: now}
        self.wallet = library.Wallet(**facts)
        return library.__file__

    def request(self, **asking: Any) -> dict[str, Any]:
        url, pending = self.wallet.request(**asking)
        return {"url": url, "pending": json.loads(pending.to_json()), "nonce_sha256": pending.nonce_sha256}

    def finish(self, pending: dict[str, Any], fields: dict[str, str]) -> dict[str, Any]:
        return self.told(self.wallet.finish(library.Pending.from_json(json.dumps(pending)), fields))

    def through_a_cookie(self, pending: dict[str, Any], key: str, keys: list[str]) -> dict[str, Any]:
        text = library.Pending.from_json(json.dumps(pending)).sealed(key)
        return {"text": text, "pending": json.loads(library.Pending.opened(text, *keys).to_json())}

    def opened(self, text: str, keys: list[str]) -> dict[str, Any]:
        return dict(json.loads(library.Pending.opened(text, *keys).to_json()))

    def archived(self, pending: dict[str, Any], fields: dict[str, str], data: list[str]) -> str:
        result = self.wallet.finish(library.Pending.from_json(json.dumps(pending)), fields)
        return result.archive(data) if data else result.archive()

    def verify(self, vp_token: Any, **expected: Any) -> dict[str, Any]:
        return self.told(self.wallet.verify(vp_token, **expected))

    def vectors(self, file: str) -> dict[str, str]:
        """What each case of the file is refused for; "" where the answer and its archive are accepted."""
        return {name: self.refused(**case) for name, case in json.loads(Path(file).read_text()).items()}

    def refused(self, wallet: Any, pending: Any, fields: Any, failing: Any) -> str:
        try:
            self.open(**wallet)
        except ValueError as error:
            if "root" not in str(error):
                raise
            return "root"
        try:
            found = self.finish(pending, fields)
            archived = self.archive(found["archive"], wallet["root"])
        except library.Rejected as error:
            return error.check
        except library.Unavailable:
            return "unavailable"
        return "" if archived["claims"] == [found["claims"]] else "another archive"

    def told(self, result: library.Result) -> dict[str, Any]:
        assert not any(str(value) in repr(result) for value in result.claims.values())
        return {"claims": result.claims, "vp_token": result.vp_token, "archive": result.archive()}

    def archive(self, document: str, root: str) -> dict[str, Any]:
        return dict(vars(library.verify_archive(document, root)))

    def webhook(self, headers: dict[str, str], body: str, secrets: list[str]) -> dict[str, Any]:
        return library.read_webhook(headers, body.encode(), *secrets)

    def state_of(self, fields: dict[str, str]) -> str:
        return library.state_of(fields)

    def holder(self, url: str, **choices: Any) -> dict[str, Any]:
        address = holder(url, **choices)
        return {"address": address, "fields": fields_of(address)}

    def milliseconds(self, **command: Any) -> float:
        begun = time.perf_counter()
        for _ in range(50):
            self.finish(**command)
        return (time.perf_counter() - begun) * 20


driver = Driver()
for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = {"answer": getattr(driver, command.pop("do"))(**command)}
    except (library.Denied, library.Rejected, library.Unavailable, ValueError) as error:
        kind, text = type(error).__name__, f"{error} {getattr(error, 'reference', '')}"
        answer = {"error": kind, "code": getattr(error, "code", getattr(error, "check", "")), "text": text}
    print(json.dumps(answer), flush=True)
