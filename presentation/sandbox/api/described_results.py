"""What becomes of requests, as developers read about it: a presentation verified, how a request went."""

from django.utils.translation import gettext_lazy as _

from presentation.outcomes import Delivery, State
from presentation.requests.authorization_request import SHORTEST_NONCE
from presentation.requests.parameters import LIMITS
from presentation.sandbox.api.described_claims import CREDENTIAL, DISCLOSED
from presentation.sandbox.api.description import (
    ALWAYS,
    JSON,
    NOT_GRANTED,
    NOT_YOU,
    REQUESTS,
    WITH_BODY,
    Answer,
    Described,
    members,
    refused,
    text,
)

_CHECK = members(
    "name result",
    name=text(),
    result=text(enum=["passed", "failed", "not reached"]),
    reason=text(_("Of the one that failed.")),
)

RESULTS = [
    Described(
        "verifiable-credentials/v1/presentation/verify",
        "post",
        "verify",
        REQUESTS,
        _("Have a presentation verified"),
        [
            Answer(
                200,
                _("What came out, also when it is not valid. It is looked at as one that was made for you."),
                members(
                    "valid checks",
                    valid={"type": "boolean"},
                    checks={"type": "array", "items": _CHECK},
                    status=text(_("Of the credential: valid, suspended, …; if it came to that.")),
                    credential=CREDENTIAL,
                    claims=DISCLOSED,
                ),
            ),
            NOT_YOU,
            NOT_GRANTED,
            *WITH_BODY,
        ],
        about=_("Instead of verifying it yourself."),
        body={
            JSON: members(
                "vp_token nonce",
                vp_token={
                    "type": ["string", "object"],
                    "minLength": 1,
                    "minProperties": 1,
                    "description": _("As it came in the answer."),
                },
                nonce=text(_("As it was in the request."), minLength=1, maxLength=512),
                transaction_data={
                    "type": "array",
                    "items": text(),
                    "description": _("The strings that were sent, in their order."),
                },
            )
        },
        auth=("access_token",),
    ),
    Described(
        "verifiable-credentials/v1/presentation/outcome",
        "get",
        "outcome",
        REQUESTS,
        _("Ask how a request of yours went"),
        [
            Answer(
                200,
                _("How it stands. Of several browsers that brought it, the one that got a token counts."),
                members(
                    "state begun_at",
                    state=text(enum=[state.value for state in State]),
                    begun_at=text(_("When a browser brought it."), format="date-time"),
                    answered_at=text(_("When it was answered."), format="date-time"),
                    error=text(_("What was sent home, if it was an error.")),
                    delivery=text(_("Of an answer that is posted."), enum=[each.value for each in Delivery]),
                    status=text(
                        _("Of what was presented, until it ends."), enum=["valid", "invalid", "suspended"]
                    ),
                ),
            ),
            NOT_YOU,
            NOT_GRANTED,
            refused(404, _("You made no such request, no browser has brought it yet, or it is forgotten.")),
            *ALWAYS,
        ],
        about=_("Says nothing of the person, and nothing of what was shared."),
        query={
            "nonce": (
                _("As it was in the request."),
                text(minLength=SHORTEST_NONCE, maxLength=LIMITS["nonce"], pattern="^[!-~]+$", required=True),
            )
        },
        auth=("access_token",),
    ),
]
