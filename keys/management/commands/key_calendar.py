"""`manage.py key_calendar`: what happens to keys and certificates within a year, and what to do then."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from keys.management.key_command import KeyCommand
from keys.rotation.calendar import calendar


class Command(KeyCommand):
    help = (
        "List what happens to the keys and certificates within a year, and what an operator has to do. "
        "Changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON; docs/keys.md documents it")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        dates = calendar(now=now())
        if json:
            self.stdout.write(_as_json([date.facts() for date in dates]))
            return
        for date in dates:
            planned = " (planned)" if date.planned else ""
            self.stdout.write(f"{date.at:%d %b %Y}  {date.what}{planned}\n{'':13}{date.to_do}")


def _as_json(dates: list[dict[str, str | bool]]) -> str:
    return json.dumps(dates, indent=2, ensure_ascii=False)
