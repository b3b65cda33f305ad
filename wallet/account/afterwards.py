"""Work that is done after the answer was sent, so that nobody waits for it."""

from collections.abc import Callable

from django.http import HttpResponse


def after(response: HttpResponse, work: Callable[[], object]) -> None:
    """Calls `work` once the server has sent `response` and closes it (PEP 3333); its errors are ignored.

    The same thread does the work, so the work must end soon. A process that is killed meanwhile does not do
    it.
    """
    response._resource_closers.append(work)  # type: ignore[attr-defined]
