"""The playground's endpoints: its response URI, and the one from which its page reads a posted answer, once.

Neither reads a cookie, so both are exempt from the cross-site check.
"""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse, UnreadablePostError
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from presentation.machine_errors import MachineError, for_machines
from presentation.requests.delivery.posting import CONTENT_TYPE
from presentation.requests.receiving import posted_form
from sandbox.playground import posted_answers


@for_machines
@csrf_exempt
@require_POST
@never_cache
def answers(request: HttpRequest) -> JsonResponse:
    """The response URI (OpenID4VP 1.0 §8.2): stores an answer, and returns the browser's next address."""
    now = timezone.now()
    try:
        posted_answers.POSTED.take(browser.address(request), now=now)
        if request.content_type != CONTENT_TYPE:
            raise posted_answers.NotAnAnswerError(f"The media type must be {CONTENT_TYPE}.")
        code = posted_answers.store(_body(request), now=now)
    except LimitReachedError as limit:
        refused = _refused("Too many answers came from one network address.", status=429)
        return again_after(limit.retry_after(now), refused)
    except posted_answers.NotAnAnswerError as error:
        return _refused(str(error), status=400)
    redirect_uri = f"{settings.BASE_URL}{reverse('playground_callback')}?response_code={code}"
    return JsonResponse({"redirect_uri": redirect_uri})


@for_machines
@csrf_exempt
@require_POST
@never_cache
def read(request: HttpRequest) -> JsonResponse:
    """Returns `form` as it was posted, once, to a client that sends its `response_code` and `state`."""
    try:
        fields = posted_form.read(_body(request)[: posted_answers.LONGEST])
    except (posted_answers.NotAnAnswerError, MachineError) as error:
        return _refused(str(error), status=400)
    code, state = fields.get("response_code", ""), fields.get("state", "")
    form = posted_answers.take(code, state, now=timezone.now())
    return (
        JsonResponse({"form": form}) if form is not None else _refused("There is no such answer.", status=404)
    )


def _body(request: HttpRequest) -> bytes:
    """The body. Raises NotAnAnswerError for errors that Django would answer with an HTML page."""
    try:
        return request.body
    except (RequestDataTooBig, UnreadablePostError):
        raise posted_answers.NotAnAnswerError("The body is too long, or ended too soon.") from None


def _refused(description: str, *, status: int) -> JsonResponse:
    return JsonResponse({"error": "invalid_request", "error_description": description}, status=status)
