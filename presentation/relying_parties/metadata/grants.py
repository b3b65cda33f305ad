"""What a relying application may do with an access token: scopes on the wire (RFC 6749 §3.3). Pure."""

from django.utils.translation import gettext_lazy as _

VERIFY = "presentation:verify"
PUSH = "presentation:push"
READ = "presentation:read"

GRANTS = {
    VERIFY: _("have this service verify the presentations it was given"),
    PUSH: _("push requests ahead of sending the browser"),
    READ: _("read how its own requests went"),
}


def chosen(scope: str, granted: list[str]) -> list[str] | None:
    """Which of the granted ones `scope` asks for, all when it is empty; None if one is not granted."""
    asked = list(dict.fromkeys(scope.split(" "))) if scope else granted
    return asked if set(asked) <= set(granted) else None
