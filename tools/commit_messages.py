"""`python -m tools.commit_messages`: checks the messages of the commits that are not on the main branch yet.

CONTRIBUTING.md says what a message has. Without Git, or without a main branch to compare with, nothing is
checked.
"""

import re
import subprocess
import sys
from collections.abc import Iterator

# The main branch as the remotes have it: that of a clone or fork, and that of the project beside a fork.
MAIN_BRANCHES = ("origin/main", "upstream/main")
LONGEST_SUBJECT = 60
# Verbs in the imperative that end like other forms.
IMPERATIVES = {"Alias", "Bias", "Bring", "Embed", "Focus", "Ping", "Shed", "String"}
OTHER_FORM = re.compile(r"(?<!e)ed$|(?<!s)s$|ing$")
SENTENCE = re.compile(r"\w+(\s+\S+){3,}[.!?]")
# Lines of a body that no reader needs: trailers, and what `git revert` writes.
NOT_PROSE = re.compile(r"^([A-Za-z]+-[A-Za-z-]+: |This reverts commit ).*$", re.M)


def faults(message: str) -> Iterator[str]:
    """Each rule that this message breaks, in words."""
    subject, _, rest = message.strip().partition("\n")
    if not re.match(r'Revert ".', subject):  # `git revert` repeats another subject
        yield from subject_faults(subject)
    between, _, body = rest.partition("\n")
    if between.strip():
        yield "an empty line separates the subject from the body"
    if not SENTENCE.search(NOT_PROSE.sub("", body)):
        yield "the body says why, in a complete sentence at least"


def subject_faults(subject: str) -> Iterator[str]:
    """Each rule that this subject breaks, in words."""
    verb = subject.partition(" ")[0]
    if not verb[:1].isupper():
        yield "the subject begins with a capital letter"
    if OTHER_FORM.search(verb) and verb not in IMPERATIVES:
        yield f"the subject begins with a verb in the imperative, not with “{verb}”"
    if len(subject) > LONGEST_SUBJECT:
        yield f"the subject has {len(subject)} characters, and at most {LONGEST_SUBJECT} are allowed"
    if subject.endswith("."):
        yield "the subject ends without a full stop"
    if ";" in subject:
        yield "the subject names one thing, without “;”"


def unmerged(folder: str = ".") -> dict[str, str] | None:
    """The messages of the commits that are on no main branch yet, by ID, without merges. None: unknown."""
    known = [name for name in MAIN_BRANCHES if _git(folder, "rev-parse", "--verify", "--quiet", name)]
    if not known:
        return None
    log = _git(folder, "log", "-z", "--no-merges", "--format=%h %B", "HEAD", "--not", *known)
    commits = (commit.partition(" ") for commit in (log or "").split("\0") if commit)
    return {id_: message for id_, _, message in commits}


def _git(folder: str, *arguments: str) -> str | None:
    """What Git prints. None: there is no Git, no repository, or not what was asked for."""
    try:
        return subprocess.run(
            ["git", "-C", folder, *arguments], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def main() -> int:
    """Prints what is wrong with the commits of this branch. The exit status is 1 if anything is."""
    messages = unmerged()
    if messages is None:
        print("There is no main branch to compare with: no messages of commits are checked.")
        return 0
    wrong = [f"{id_}: {fault}" for id_, message in messages.items() for fault in faults(message)]
    if wrong:
        print(*wrong, "CONTRIBUTING.md says what a commit message has.", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
