"""Content Security Policy (W3C CSP Level 3): what a page may load, and where its forms may lead."""

from collections.abc import Mapping, Sequence

from django.http import HttpResponse

HEADER = "Content-Security-Policy"
Policy = Mapping[str, Sequence[str]]  # sources by directive


def written(policy: Policy) -> str:
    """The policy as the value of the header."""
    return "; ".join([f"{directive} {' '.join(sources)}" for directive, sources in policy.items()])


def give(response: HttpResponse, policy: Policy) -> HttpResponse:
    """Gives the response a policy of its own, in the place of that of all pages; returns it."""
    response.headers[HEADER] = written(policy)
    return response
