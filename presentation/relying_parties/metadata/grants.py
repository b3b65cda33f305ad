"""The grants of relying parties: scopes of access tokens (RFC 6749 §3.3). Pure."""

from django.utils.translation import gettext_lazy as _

VERIFY = "presentation:verify"
PUSH = "presentation:push"
READ = "presentation:read"

GRANTS = {
    VERIFY: _("have this service verify the presentations it was given"),
    PUSH: _("push requests ahead of sending the browser"),
    READ: _("read how its own requests went"),
}
