"""Stages of every browser with an open interaction: they find its next step and lead there."""

from django.http import HttpResponse
from django.urls import reverse

from consent.views.question import on_to
from infra import log_context
from infra.paths import path_with_id
from presentation import error_pages
from presentation.entrances.context import Context
from presentation.entrances.sending import send
from presentation.errors import AccessDeniedError
from presentation.requests import answers, counters, interactions
from presentation.requests.next_step import Step, insert_step_rows, next_step
from wallet.sign_in import sessions
from wallet.sign_in.decorators import NOT_ME


def find_session(context: Context) -> None:
    """Looks up who is signed in in this browser. From here on the response may depend on it.

    So an error of a new request is not sent from here on without a click: see `refusing.at_authorize`.
    """
    context.is_personal = True
    context.session = sessions.current(context.request, now=context.now)


def find_next_step(context: Context) -> None:
    """Computes what must happen next from the request, the holder and the decision."""
    context.following = next_step(
        context.opened, context.session, now=context.now, by_code=context.confirms_by_code
    )


def refuse_after_no(context: Context) -> None:
    """Ends the request with `access_denied` if the holder declined."""
    if context.following.step is Step.REFUSE:
        raise AccessDeniedError


def send_answer(context: Context) -> HttpResponse | None:
    """Presents the credential after a yes, closes the interaction, and sends the answer."""
    if context.following.step is not Step.ANSWER:
        return None
    answer = answers.answer(context.opened, context.following, context.session, now=context.now)
    return send(context.opened, answer)


def say_nothing_matches(context: Context) -> HttpResponse | None:
    """Shows that no credential meets the request; at the address of the interaction only."""
    if context.following.step is Step.UNAVAILABLE and not context.opened.is_new:
        return error_pages.unavailable(context.request, context.opened)
    return None


def insert_rows(context: Context) -> HttpResponse | None:
    """Inserts what the step needs: the question or the redirect task, and a new interaction itself.

    Where another tab was first, the browser comes again, and finds what that tab did.
    """
    opened, following = context.opened, context.following
    asked_before = opened.row.consent_id
    if not insert_step_rows(opened, following, now=context.now):
        return on_to(interactions.path_of(opened.row))
    client_id = opened.relying_party.client_id
    if opened.is_new:
        counters.count_request(client_id, following.step)
        log_context.bind(first_step=following.step, client_id=client_id)
    elif opened.row.consent_id != asked_before:
        log_context.bind(asked=True, client_id=client_id)
    if opened.row.consent_id != asked_before:
        counters.count_question(client_id)
    return None


def lead_to_step(context: Context) -> HttpResponse:
    """Redirects to the page of the step."""
    signed_out = context.following.step is Step.SIGN_IN and NOT_ME in context.request.GET
    return on_to(address_of_step(context) + (f"?{NOT_ME}=1" if signed_out else ""))


def address_of_step(context: Context) -> str:
    """The page of the step, for which `insert_rows` has inserted the row that it needs."""
    row = context.opened.row
    match context.following.step:
        case Step.SIGN_IN:
            return reverse("wallet_sign_in", args=[row.redirect_task_id])
        case Step.ENROLL:
            return reverse("wallet_identity", args=[row.redirect_task_id])
        case Step.CONSENT:
            return path_with_id("consent_review", row.consent_id)  # type: ignore[arg-type]
        case _:
            return interactions.path_of(row)
