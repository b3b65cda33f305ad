"""The personal data in the sandbox's tables, why it is stored, and for how long."""

from infra.moments import in_words
from infra.retention import Clearing, Kept, expired
from sandbox.models import LoggedStep, PlaygroundAnswer
from sandbox.playground import posted_answers
from sandbox.request_log import recording
from sandbox.self_service import self_registrations

ENTRIES = (
    Kept(
        "sandbox.SelfRegistration",
        columns=("owner",),
        what="sandbox only: a developer’s e-mail address",
        how="in clear",
        why="to know whose the registration is",
        how_long=(
            f"as long as the registration: {in_words(self_registrations.KEPT)} after it was last saved or "
            "used"
        ),
        cleared_as="registrations",
        clear=Clearing(self_registrations.clear, self_registrations.expired),
    ),
    Kept(
        "sandbox.LoggedStep",
        columns=("error", "sentence", "answer"),
        what="sandbox only: steps of requests, without values",
        how="in clear",
        why="their developer reads what went wrong",
        how_long=f"{in_words(recording.KEPT)}; 500 for each relying party at most",
        cleared_as="steps",
        clear=expired(LoggedStep.objects.all(), kept=recording.KEPT, by="at"),
    ),
    Kept(
        "sandbox.PlaygroundAnswer",
        columns=("code_digest", "handle", "sealed_form"),
        what="sandbox only: an answer that the playground received",
        how="sealed",
        why="the page of the playground fetches it",
        how_long=f"until it is read, {in_words(posted_answers.KEPT)} at most",
        cleared_as="received answers",
        clear=expired(PlaygroundAnswer.objects.all()),
    ),
    Kept(
        "sandbox.MailboxEmail",
        columns=("recipient", "subject", "text"),
        what="sandbox only: the mailbox with codes and links",
        how="in clear",
        why="pages show it in place of sending it",
        how_long="until 500 newer e-mails were written",
    ),
)
