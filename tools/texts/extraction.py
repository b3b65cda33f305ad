"""Finds the texts that holders read in the source, and merges them into the catalogues."""

import os
import tempfile
from fcntl import LOCK_EX, flock
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from django.core.management.commands import makemessages

from tools.texts import ROOT

# What only operators, developers and machines read stays in English.
OTHER_READERS = (
    *("*/admin.py", "*/admin/*", "admin/*", "*/management/*", "*/models/*", "*/models.py", "*/migrations/*"),
    *(
        "keys/*",
        "deploy/*",
        "docs/*",
        "tests/*",
        "tools/*",
        "var/*",
        "locale/*",
        ".venv/*",
        ".ci/*",
        "requirements/*",
    ),
    *("infra/outbound/*", "operators/*"),
    *("infra/checks.py", "infra/operations.py"),
    *("presentation/relying_parties/*", "presentation/webhooks/*", "presentation/metadata.py"),
    *(
        "wallet/operations/*",
        "wallet/status_lists/*",
        "wallet/identity/dossier.py",
    ),
    "wallet/identity/review.py",
    *("sandbox/api/*", "sandbox/checks.py", "sandbox/context.py", "sandbox/guide/*", "sandbox/holder/*"),
    *("sandbox/mailbox.py", "sandbox/playground/*", "sandbox/self_service/*", "sandbox/static/*"),
    *("templates/admin/*", "templates/developer/*", "templates/playground/*"),
    "templates/sandbox/mailbox.html",
)


class _Command(makemessages.Command):
    """Django's `makemessages`, which also knows the name `_t` and keeps its template of a catalogue."""

    xgettext_options = [
        *makemessages.Command.xgettext_options,
        *("--keyword=_t", "--keyword=_lazy", "--keyword=translated:1"),
    ]
    found = b""

    def write_po_file(self, potfile: str, locale: str) -> None:
        type(self).found = Path(potfile).read_bytes()


def texts() -> Catalog:
    """The texts of the source in English: singular and plural forms, files, comments for translators."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        with (ROOT / "manage.py").open() as locked:
            flock(locked, LOCK_EX)  # the command writes into the project; another process may, too
            _Command().run_from_argv(_arguments())
    finally:
        os.chdir(before)
    with tempfile.TemporaryFile() as file:
        file.write(
            _Command.found.replace(b"nplurals=INTEGER; plural=EXPRESSION;", b"nplurals=2; plural=n != 1;")
        )
        file.seek(0)
        return read_po(file, ignore_obsolete=True)


def _arguments() -> list[str]:
    ignored = [f"--ignore={pattern}" for pattern in OTHER_READERS]
    return [
        *("manage.py", "makemessages", "--locale=es", "--no-default-ignore", "--add-location=full"),
        *("--no-wrap", "--extension=html,txt,py", "--verbosity=0", *ignored),
    ]
