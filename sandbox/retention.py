"""The personal data in the sandbox's tables, why it is stored, and for how long."""

from infra.retention import Clearing, expired, table
from sandbox.desk import recording
from sandbox.models import PlaygroundAnswer, Step
from sandbox.playground import posted_answers
from sandbox.self_service import self_registrations

ENTRIES = table(
    """
sandbox.SelfRegistration: owner | sandbox only: a developer’s e-mail address | in clear | to know whose the
    registration is | as long as the registration: {registered} after it was last saved or used |
    registrations
sandbox.Step: error sentence answer | sandbox only: steps of requests, without values | in clear | their
    developer reads what went wrong | {steps}; 500 for each relying party at most | steps
sandbox.PlaygroundAnswer: code_digest handle sealed_form | sandbox only: an answer that the playground
    received | sealed | the page of the playground fetches it | until it is read, {posted} at most |
    received answers
sandbox.Letter: recipient subject text | sandbox only: the mailbox with codes and links | in clear | pages
    show it in place of sending it | until 500 newer letters were written
""",
    periods={"registered": self_registrations.KEPT, "posted": posted_answers.KEPT, "steps": recording.KEPT},
    clear={
        "registrations": Clearing(self_registrations.clear, self_registrations.expired),
        "steps": expired(Step.objects.all(), kept=recording.KEPT, by="at"),
        "received answers": expired(PlaygroundAnswer.objects.all()),
    },
)
