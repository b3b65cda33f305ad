"""What machines call: the token endpoint that discovery advertises (RFC 6749 §3.2)."""

from django.http import QueryDict
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response


@api_view(["POST"])
@parser_classes([FormParser])
def token(request: Request) -> Response:
    """Answers every grant with the error of RFC 6749 §5.2: no grant is offered yet.

    The contract has the address in discovery; presentations themselves never need it.
    """
    grant_types = request.data.getlist("grant_type") if isinstance(request.data, QueryDict) else []
    if len(grant_types) != 1:
        body = {"error": "invalid_request", "error_description": "grant_type is needed exactly once."}
    else:
        body = {"error": "unsupported_grant_type", "error_description": "No grant type is offered."}
    return Response(body, status=400, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})
