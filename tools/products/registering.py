"""Registers clients by the commands that an operator uses, all in one process. Reads and prints JSON."""

import json
import os
import sys
from io import StringIO
from typing import Any

import django
from django.core.management import call_command


def main() -> None:
    """Reads the words of each registration from standard input and prints client IDs and secrets."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps([_registered(words) for words in json.load(sys.stdin)]))


def _registered(words: list[str]) -> dict[str, Any]:
    party = _answer("register_relying_party", *words)
    return {**_answer("rotate_client_secret", party["client_id"]), "client_id": party["client_id"]}


def _answer(*words: str) -> dict[str, Any]:
    printed = StringIO()
    call_command(*words, stdout=printed)
    answer: dict[str, Any] = json.loads(printed.getvalue())
    return answer


if __name__ == "__main__":
    main()
