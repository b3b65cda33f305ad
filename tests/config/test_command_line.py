"""The command line: no command takes a part of an option for the option."""

import ast
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from config.command_line import CommandLine
from tests.deployment_check import production_environment
from tests.own_databases import manage
from tests.project_copy import ROOT


@pytest.mark.parametrize("name", sorted(get_commands()))
def test_no_command_of_ours_or_of_django_takes_an_abbreviated_option(name: str) -> None:
    parser = CommandLine(["manage.py"]).fetch_command(name).create_parser("manage.py", name)
    for each in (*parser._actions, *parser._mutually_exclusive_groups):
        each.required = False  # what the command needs is not the question here

    _, unknown = parser.parse_known_args(["--force-colo"])

    assert unknown == ["--force-colo"]


def test_an_option_that_a_command_lacks_is_refused_and_no_other_option_is_meant() -> None:
    refused = manage(production_environment(), "list_signing_keys", "--for", "statements")

    assert refused.returncode == 2
    assert "unrecognized arguments: --for statements" in refused.stderr


def test_an_option_in_full_is_taken() -> None:
    done = manage(production_environment(), "check", "--no-color", "--fail-level", "WARNING")

    assert done.returncode == 0, done.stderr


def test_every_other_program_with_options_wants_them_in_full() -> None:
    tracked = subprocess.check_output(["git", "ls-files", "*.py", "deploy", "clients"], cwd=ROOT, text=True)
    parsers = []
    for path in {ROOT / line for line in tracked.splitlines()}:
        if path.suffix == ".py" or is_python(path):
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            parsers += [(path, call) for call in calls if ast.unparse(call.func).endswith("ArgumentParser")]

    taking = [
        path
        for path, call in parsers
        if not [word for word in call.keywords if ast.unparse(word) == "allow_abbrev=False"]
    ]
    assert {ROOT / "deploy" / "setup", ROOT / "tools" / "drills" / "__main__.py"} <= {
        path for path, _ in parsers
    }
    assert taking == []


def is_python(path: Path) -> bool:
    """Whether a program without an ending is one in Python."""
    return not path.suffix and path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")
