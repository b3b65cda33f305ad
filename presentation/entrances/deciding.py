"""Stages at the address of an interaction: its rows are read, and the form of the consent page acts."""

from django.http import HttpRequest, HttpResponse

from consent.views import question as consent_page
from consent.views.question import MORE_TIME, SHARE, CodeWantedError, on_to
from infra import browser
from infra.paths import path_with_id
from presentation.entrances.context import ResumeContext
from presentation.entrances.sending import send
from presentation.requests import answers, interactions, more_time
from presentation.requests.fast_path.reading import read_interaction_rows
from presentation.requests.interactions import InteractionGoneError
from wallet.sign_in import sessions
from wallet.sign_in.decorators import NOT_ME, page_of


def read_rows(context: ResumeContext) -> None:
    """Reads the interaction and the session of the browser; for a yes also a free index in a status list."""
    request = context.request
    context.rows = read_interaction_rows(
        context.interaction_id,
        session_digest=sessions.digest_in(request),
        wants_index=_decision(request) == SHARE,
        now=context.now,
    )
    sessions.was_read(request, context.rows.session)


def open_interaction(context: ResumeContext) -> None:
    """Takes the interaction up again, if it is open and this browser's."""
    context.opened = interactions.open_interaction(
        context.rows.interaction,
        browser=browser.digest(context.request),
        registered_uris=context.rows.registered_uris,
        now=context.now,
    )


def give_more_time(context: ResumeContext) -> HttpResponse | None:
    """Gives more time, if the person asks for it, and leads back; where it cannot be, the page says why."""
    if _decision(context.request) != MORE_TIME:
        return None
    row = context.opened.row
    given = more_time.give(context.opened, now=context.now)
    page = page_of(row.redirect_task_id, context.request.POST.get("page", ""))
    if given and not page and row.consent_id:
        page = path_with_id("consent_review", row.consent_id)
    if given and page:
        return on_to(f"{page}?{MORE_TIME}=1")
    return on_to(page or interactions.path_of(row))


def read_choice(context: ResumeContext) -> HttpResponse | None:
    """Reads what the holder chose; a page or a redirect if the form decides nothing."""
    session, consent = context.session, context.opened.row.consent
    if session is None or consent is None:
        return None
    try:
        choice = consent_page.read_choice(context.request, consent, session, now=context.now)
    except CodeWantedError:
        context.confirms_by_code = True
        return None
    if isinstance(choice, HttpResponse):
        return choice
    context.choice = choice
    return None


def answer_at_once(context: ResumeContext) -> HttpResponse | None:
    """Stores a yes together with its answer, and sends that; None where it has to go step by step."""
    session, choice = context.session, context.choice
    if session is None or choice is None or not choice.shares:
        return None
    answer = answers.answer_at_once(
        context.opened, session, context.rows.free_index, switched_on=choice.switched_on, now=context.now
    )
    return None if answer is None else send(context.opened, answer)


def store_choice(context: ResumeContext) -> HttpResponse | None:
    """Stores what the holder chose; a page if the question was decided otherwise meanwhile."""
    session, consent, choice = context.session, context.opened.row.consent, context.choice
    if session is None or consent is None or choice is None:
        return None
    return consent_page.store_choice(context.request, consent, session, choice, now=context.now)


def sign_out_late(context: ResumeContext, gone: InteractionGoneError) -> HttpResponse | None:
    """Signs the holder out if they say "Not me", in any browser, also after the end of the interaction.

    No other decision counts any more.
    """
    row, session = gone.interaction, context.session
    if session is None or row is None or row.consent is None or _decision(context.request) != NOT_ME:
        return None
    answer = consent_page.read_choice(context.request, row.consent, session, now=context.now)
    return answer if isinstance(answer, HttpResponse) else None


def _decision(request: HttpRequest) -> str:
    return request.POST.get("decision", "") if request.method == "POST" else ""
