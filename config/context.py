"""What every page may show about where it runs."""

from django.conf import settings
from django.http import HttpRequest


def environment(request: HttpRequest) -> dict[str, str]:
    """`environment_banner`: the word of the banner on every page, empty in production."""
    return {"environment_banner": settings.ENVIRONMENT_BANNER}
