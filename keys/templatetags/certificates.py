"""For the admin's templates: the certificates that end soon."""

from django import template
from django.utils.timezone import now

from keys.certificates.watch import Ending, ending_certificates

register = template.Library()


@register.simple_tag
def certificates_that_end() -> list[Ending]:
    """The certificates in use that end soon, the soonest first."""
    return ending_certificates(now=now())
