"""The stages of the entrances, in their order: the whole way of a request on one screen.

A stage is a function of the context, to which it adds what it finds out. It returns None, and the next stage
follows; or the response, which ends the request; or it raises a refusal, which the view hands to `refusing`.

A stage that may refuse for a reason that has nothing to do with the person stands before `find_session`: an
error that is raised later reaches the relying party only after a click.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from presentation.entrances import arriving, deciding, exchanging, going_on, pushing

ContextT = TypeVar("ContextT")
ResponseT = TypeVar("ResponseT")

# An authorization request comes in the address of a browser (RFC 6749 §4.2.1, OpenID4VP 1.0 §5).
AUTHORIZE = (
    arriving.read_parameters,
    arriving.receive_request,  # from the address, a signed object or a pushed request, with all rows
    arriving.identify_client,  # the relying party and where its answer goes
    arriving.answer_head,
    arriving.begin_interaction,  # checks the request; the same request again goes on
    going_on.find_session,
    arriving.count_stranger,
    going_on.find_next_step,
    going_on.refuse_after_no,
    going_on.send_answer,
    going_on.say_nothing_matches,
    going_on.insert_rows,  # the interaction, and the question or the redirect task
    arriving.ask_at_once,  # the consent page, for a holder who is signed in
    arriving.lead_new_to_step,
)

# A browser comes back from sign-in, enrolment or the consent page.
RESUME = (
    deciding.read_rows,
    going_on.find_session,
    deciding.open_interaction,
    going_on.find_next_step,
    going_on.refuse_after_no,
    going_on.send_answer,
    going_on.say_nothing_matches,
    going_on.insert_rows,
    going_on.lead_to_step,
)

# The form of the consent page is submitted.
DECIDE = (
    deciding.read_rows,
    going_on.find_session,
    deciding.open_interaction,
    deciding.give_more_time,
    deciding.read_choice,
    deciding.answer_at_once,  # stores the yes with the answer, where one statement can
    deciding.store_choice,
    going_on.find_next_step,
    going_on.refuse_after_no,
    going_on.send_answer,
    going_on.say_nothing_matches,
    going_on.insert_rows,
    going_on.lead_to_step,
)

# A relying party pushes a request (RFC 9126).
PUSH = (
    pushing.count_address,
    pushing.authenticate_client,
    pushing.count_client,
    pushing.read_pushed_request,
    pushing.check_request,
    pushing.keep_request,
)

# A relying party exchanges a code (OpenID Connect Core 1.0 §3.1.3); the playground has proved who it is.
REDEEM = (
    exchanging.find_code,
    exchanging.sign_id_token,
    exchanging.use_code,
)
EXCHANGE = (
    exchanging.count_address,
    exchanging.authenticate_client,
    exchanging.count_client,
    *REDEEM,
)


def go_through(stages: Iterable[Callable[[ContextT], ResponseT | None]], context: ContextT) -> ResponseT:
    """The response of the first stage that gives one; raises what a stage raises."""
    for stage in stages:
        response = stage(context)
        if response is not None:
            return response
    raise RuntimeError("the last stage gave no response")
