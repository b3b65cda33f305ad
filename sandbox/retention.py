"""The personal data in the sandbox's tables, why it is stored, and for how long."""

from infra.retention import Clearing, expired, table
from sandbox.models import PlaygroundAnswer
from sandbox.playground import posted_answers
from sandbox.self_service import self_registrations

ENTRIES = table(
    """
sandbox.SelfRegistration: owner | sandbox only: a developer’s e-mail address | in clear | to know whose the
    registration is | as long as the registration: {self_registrations} after it was last saved or used |
    registrations
sandbox.PlaygroundAnswer: code_digest handle sealed_form | sandbox only: an answer that the playground
    received | sealed | the page of the playground fetches it | until it is read, {posted_answers} at most |
    received answers
sandbox.Letter: recipient subject text | sandbox only: the mailbox with codes and links | in clear | pages
    show it in place of sending it | until 500 newer letters were written
""",
    periods={"self_registrations": self_registrations.KEPT, "posted_answers": posted_answers.KEPT},
    clear={
        "registrations": Clearing(self_registrations.clear, self_registrations.expired),
        "received answers": expired(PlaygroundAnswer.objects.all()),
    },
)
