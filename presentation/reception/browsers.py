"""A browser brings a request, itself or where it is to be found (RFC 9101 §5, RFC 9126 §4)."""

from datetime import datetime

from django.utils.translation import gettext_lazy as _

from presentation.clients.fetched_keys import KeysUnderWayError
from presentation.errors import InvalidRequestObjectError, UntrustedRequestError
from presentation.reception import pushed_requests, signed_requests
from presentation.registration import mistaken, usable
from presentation.requests.arrival import Arrival
from presentation.requests.parameters import Parameters
from presentation.requests.request_object import RequestObjectError


def receive(parameters: Parameters, *, address: str, now: datetime) -> Arrival:
    """The request that the address of the authorization endpoint means.

    With `request` or `request_uri`, nothing beside it counts but `client_id`. address: the network address
    that limits count by. Raises `UntrustedRequestError`.
    """
    carriers = parameters.carriers()
    if not carriers:
        return Arrival(parameters)
    client_id = usable(parameters, "client_id")
    if len(carriers) > 1:
        raise mistaken("request and request_uri must not be sent together")
    (carrier,) = carriers
    value = usable(parameters, carrier)
    try:
        if carrier == "request":
            return signed_requests.sent_along(value, client_id=client_id, now=now)
        if value.startswith(pushed_requests.HANDLE):
            return pushed_requests.recall(value, client_id=client_id, now=now)
        return signed_requests.published_at(value, client_id=client_id, address=address, now=now)
    except KeysUnderWayError as error:
        raise UntrustedRequestError(
            _("The application that sent you here is being checked. Please try again in a few seconds."),
            "the keys at jwks_uri are being fetched just now",
        ) from error
    except RequestObjectError as error:
        if error.said is None:
            raise mistaken(str(error)) from error
        return Arrival(error.said, signed=True, problem=InvalidRequestObjectError(str(error)))
