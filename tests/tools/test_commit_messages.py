"""What `make lint` demands of commit messages, and of which commits."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.commit_messages import faults, unmerged

WHY = "\n\nReaders of the history want to know why.\n"


@pytest.mark.parametrize(
    "message",
    [
        "Say why each commit was made" + WHY,
        "Need a reason" + WHY,
        "Pass the moment as an argument" + WHY,
        "Bring the receipts along" + WHY,
        "A" * 60 + WHY,
        "Name it\n\nThe first line is short\nand the sentence ends on the next one.\n\nReviewed-by: Nora",
        f'Revert "Find {"x" * 60}"\n\nThis reverts commit 0a1b2c3.\n\nIt slowed every sign-in by half.\n',
    ],
)
def test_a_message_that_says_what_and_why_has_no_fault(message: str) -> None:
    assert list(faults(message)) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("say why" + WHY, "capital letter"),
        ("Added a check" + WHY, "imperative, not with “Added”"),
        ("Adds a check" + WHY, "imperative, not with “Adds”"),
        ("Adding a check" + WHY, "imperative, not with “Adding”"),
        ("A" * 61 + WHY, "61 characters"),
        ("Add a check." + WHY, "full stop"),
        ("Add a check; mend another" + WHY, "“;”"),
        ("Add a check\nReaders want to know why.", "empty line"),
        ("Add a check", "says why"),
        ("Add a check\n\nSigned-off-by: Nora Neu the Second <nora@example.org> of Berlin.", "says why"),
        ("Add a check\n\nno sentence", "says why"),
        ('Revert "Add a check"\n\nThis reverts commit 0a1b2c3 of the main branch.', "says why"),
        ("Revert the checks; mend another" + WHY, "“;”"),
        ("", "capital letter"),
    ],
)
def test_each_broken_rule_is_named(message: str, fault: str) -> None:
    assert any(fault in found for found in faults(message))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose one commit is on its origin's main branch."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path, "old history; without a body")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    people = {f"GIT_{role}_{part}": "nora" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **people, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=environment)


def commit(folder: Path, message: str) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)


def test_only_commits_that_are_not_on_the_main_branch_are_read(repository: Path) -> None:
    assert unmerged(str(repository)) == {}

    commit(repository, "Add one\n\nThe first line of two.\n\nAnd the last.")

    assert list((unmerged(str(repository)) or {}).values()) == [
        "Add one\n\nThe first line of two.\n\nAnd the last.\n"
    ]


def test_merges_are_not_read_and_what_they_bring_is(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "branch")
    commit(repository, "Add one")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-ff", "--message", "merge; of a branch", "branch")

    assert list((unmerged(str(repository)) or {}).values()) == ["Add one\n"]


def test_what_the_project_has_beside_a_fork_is_not_read(repository: Path) -> None:
    commit(repository, "merged there")
    git(repository, "update-ref", "refs/remotes/upstream/main", "HEAD")

    assert unmerged(str(repository)) == {}


def test_without_a_main_branch_or_a_repository_nothing_is_known(repository: Path, tmp_path: Path) -> None:
    git(repository, "update-ref", "-d", "refs/remotes/origin/main")

    assert unmerged(str(repository)) is None
    assert unmerged(str(tmp_path / "nowhere")) is None
