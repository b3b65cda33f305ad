"""The template context of every page."""

from django.conf import settings
from django.http import HttpRequest

from wallet.pages import TRY_AGAIN


def environment(request: HttpRequest) -> dict[str, object]:
    """`environment_banner`: the word of the banner on every page, empty in production.

    `languages`: those of the switch in the footer, which pages for operators and developers do not have;
    `this_page`: where the choice of a language leads back to.
    `operator`: whose service this is, see `config.operator`.
    `wallet_closes_at`: when the wallet of the signed-in holder closes, if it is about to (`wallet.sessions`).
    `try_again`: True if the page is shown because its form was refused (`views.csrf_failure`).
    """
    return {
        "wallet_closes_at": getattr(request, "wallet_closes_at", None),
        "environment_banner": settings.ENVIRONMENT_BANNER,
        "languages": settings.LANGUAGES if getattr(request, "page_language", "") else (),
        "this_page": request.get_full_path(),
        "operator": settings.OPERATOR,
        "try_again": request.method == "GET" and TRY_AGAIN in request.GET,
    }
