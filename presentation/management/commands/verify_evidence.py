"""`manage.py verify_evidence`: checks the evidence of a verification, offline."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from infra.moments import moment
from keys.certificates import path
from keys.certificates.path import PathError
from keys.statements import time_of
from presentation.evidence import LONGEST, EvidenceError, checked

UNSTATED = "Genuine. What {iss} issued was shown to {aud}, valid on {at}. Not proven: that {iss} verified it."


class Command(BaseCommand):
    help = (
        "Check the evidence that the verification endpoint of a service gave, or the archive of a client "
        "library, with the root certificates of that service. Needs neither network nor database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the JSON document: the member `evidence`, or the archive")
        parser.add_argument(
            "--root", metavar="FILE", required=True, help="the root certificates, PEM: one, or old and new"
        )

    def handle(self, *args: Any, file: str, root: str, **options: Any) -> None:
        try:
            trusted = path.anchors_in(Path(root).read_bytes())
            with Path(file).open("rb") as opened:
                stated = checked(opened.read(LONGEST + 1), *trusted)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
        except PathError as error:
            raise CommandError(f"{root}: {error}.") from error
        except EvidenceError as error:
            raise CommandError(f"Not genuine: {error}.") from error
        said = "Genuine. {iss} stated for {aud} on {at}: {verdict}." if "checks" in stated else UNSTATED
        verdict = "valid" if stated["valid"] else "NOT valid"
        self.stdout.write(said.format(**stated, at=moment(time_of(stated)), verdict=verdict))
        for check in stated.get("checks", ()):
            self.stdout.write("  ".join(check.values()))
