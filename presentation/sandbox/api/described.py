"""Every endpoint for machines and the authorization endpoint, as developers read about them (OpenAPI 3.1).

To add one, add a `Described` to `ENDPOINTS`: its path as in `config/urls.py`, and what goes in and comes out.
The tests compare the paths with those that are routed, and what is said with what a running server answers.
"""

from django.utils.translation import gettext_lazy as _

from presentation.client_metadata.grants import GRANTS
from presentation.reception import browsers
from presentation.requests.parameters import LIMITS
from presentation.responses.return_address import RESPONSE_MODES
from presentation.sandbox.api.described_documents import DOCUMENTS
from presentation.sandbox.api.described_results import RESULTS
from presentation.sandbox.api.description import (
    FORM,
    HTML,
    JSON,
    NEEDED_UNLESS,
    NOT_GRANTED,
    NOT_YOU,
    REQUESTS,
    WITH_BODY,
    Answer,
    Described,
    Schema,
    members,
    text,
)
from presentation.sandbox.holder_call import CHOICES, LONGEST_URL
from presentation.sandbox.wording import PARAMETERS, Text

TESTS = _("For tests, in the sandbox only")
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_MORE_PARAMETERS: dict[str, Text] = {
    "response_mode": _(
        "How the answer comes. Left out: in the fragment. Otherwise it is posted to response_uri."
    ),
    "response_uri": _("Instead of redirect_uri, where the answer is posted. It must equal a registered one."),
    "client_metadata": _("For direct_post.jwt: a JSON object with the key to encrypt to, in jwks."),
    "dcql_query": _("Instead of scope: a DCQL query that names single claims (OpenID4VP 1.0 §6)."),
    "request": _("Instead of all but client_id: the same as a JWT you signed (RFC 9101)."),
    "request_uri": _(
        "Instead of all but client_id: the handle of a pushed request, or where a signed one is."
    ),
    "request_uri_method": _(
        "How a signed request is fetched from request_uri: get, as when this is left out, or post, with a "
        "wallet_nonce that it must repeat (OpenID4VP 1.0 §5.10)."
    ),
}
# What else says it, where a parameter is left out.
_NEEDED_UNLESS: dict[str, list[str]] = {
    **{name: [] for name in ("response_type", "login_hint", "nonce")},
    "redirect_uri": ["response_uri"],
    "scope": ["dcql_query"],
}
_ONE_OF: dict[str, list[str]] = {
    "response_type": ["vp_token"],
    "response_mode": list(RESPONSE_MODES),
    "request_uri_method": [browsers.GET, browsers.POST],
}
NOT_PUSHED = {"request_uri", "request_uri_method"}


_CLIENT = {
    "client_id": text(_("Needed here, if it is not in the header."), maxLength=LIMITS["client_id"]),
    "client_secret": text(_("If it is not in the header.")),
    "client_assertion_type": text(enum=[ASSERTION]),
    "client_assertion": text(
        _("Instead of a secret: a JWT you signed with ES256, with the issuer as audience.")
    ),
}


def _authorization_parameter(name: str) -> tuple[Text, Schema]:
    schema = text(maxLength=LIMITS[name])
    if name in _ONE_OF:
        schema["enum"] = _ONE_OF[name]
    if name == "nonce":
        schema |= {"minLength": 16, "pattern": "^[!-~]+$"}
    if name in _NEEDED_UNLESS:
        schema[NEEDED_UNLESS] = [*_NEEDED_UNLESS[name], "request", "request_uri"]
    about = (PARAMETERS | _MORE_PARAMETERS).get(name, "")
    return about, schema | ({"required": True} if name == "client_id" else {})


def _pushed_parameters() -> dict[str, Schema]:
    """What the authorization endpoint takes, as members of a form."""
    known = {name: _authorization_parameter(name) for name in LIMITS if name not in NOT_PUSHED}
    return {name: schema | {"description": about} for name, (about, schema) in known.items()} | _CLIENT


ENDPOINTS: list[Described] = [
    Described(
        "verifiable-credentials/v1/presentation/authorize",
        "get",
        "authorize",
        REQUESTS,
        _("Ask a person, by sending their browser here"),
        [
            Answer(
                303,
                _(
                    "On to the next page for the person; or, when the request is wrong, home to "
                    "redirect_uri with error, error_description, iss and state in the fragment."
                ),
                headers=("Location",),
            ),
            Answer(
                400,
                _(
                    "A page, never a redirect: nobody has proven where an answer could go; or what is wrong "
                    "was posted to response_uri."
                ),
                text(),
                HTML,
            ),
            Answer(414, _("The address is longer than 8 kB.")),
            Answer(
                429,
                _(
                    "A page: the browser’s network address had too many signed requests fetched. Retry-After "
                    "says how many seconds to wait."
                ),
                text(),
                HTML,
                ("Retry-After",),
            ),
            Answer(
                503,
                _(
                    "A page: too many calls to applications are under way, so the signed request or its keys "
                    "were not fetched, or what is wrong was not posted. The same request can be sent again "
                    "after as many seconds as Retry-After says."
                ),
                text(),
                HTML,
                ("Retry-After",),
            ),
        ],
        about=_(
            "Not called by your server. In the end the browser comes back to redirect_uri with vp_token "
            "and state in the fragment, or with error; or those are posted to response_uri."
        ),
        query={name: _authorization_parameter(name) for name in LIMITS},
    ),
    Described(
        "oauth/v2/token",
        "post",
        "token",
        REQUESTS,
        _("Get an access token for your application"),
        [
            Answer(
                200,
                _("The token. Keep it for as long as it is good."),
                members(
                    "access_token token_type expires_in scope",
                    access_token=text(_("Send it in the Authorization header, after the word Bearer.")),
                    token_type=text(enum=["Bearer"]),
                    expires_in={"type": "integer", "description": _("Seconds.")},
                    scope=text(_("What it is good for.")),
                ),
            ),
            NOT_YOU,
            *WITH_BODY,
        ],
        about=_(
            "Client credentials (RFC 6749 §4.4). Your application proves who it is in one of three ways: by "
            "client_id and client_secret in the Authorization header, by the same in the body, or by a "
            "client_assertion in the body."
        ),
        body={
            FORM: members(
                "grant_type",
                grant_type=text(enum=["client_credentials"]),
                scope=text(_("Left out: everything granted. Else some of: ") + ", ".join(GRANTS)),
                **_CLIENT,
            )
        },
        auth=("client_secret", ""),
    ),
    Described(
        "verifiable-credentials/v1/presentation/par",
        "post",
        "push",
        REQUESTS,
        _("Push a request ahead of the browser"),
        [
            Answer(
                201,
                _("Send the browser to the authorization endpoint with this and your client_id only."),
                members(
                    "request_uri expires_in",
                    request_uri=text(),
                    expires_in={"type": "integer", "description": _("Seconds.")},
                ),
            ),
            NOT_YOU,
            NOT_GRANTED,
            *WITH_BODY,
        ],
        about=_(
            "Keeps e-mail addresses and payments out of addresses and histories (RFC 9126). "
            "Authenticate as at the token endpoint, or with an access token."
        ),
        body={FORM: members("", **_pushed_parameters())},
        auth=("client_secret", "access_token", ""),
    ),
    *RESULTS,
    *DOCUMENTS,
    Described(
        "sandbox/holder",
        "post",
        "act_as_holder",
        TESTS,
        _("Let the sandbox play the person"),
        [
            Answer(
                200,
                _("Where the browser is sent; or, when it is left on a page of the service, that page."),
                members(
                    "redirect_to",
                    redirect_to={"type": ["string", "null"]},
                    page=members(
                        "status heading text", status={"type": "integer"}, heading=text(), text=text()
                    ),
                ),
            ),
            *WITH_BODY,
        ],
        about=_(
            "Opens an authorization request as a browser would, signs in, is verified as a persona, decides."
        ),
        body={
            JSON: members(
                "authorize_url",
                authorize_url=text(
                    _("The address your application sends the browser to."), maxLength=LONGEST_URL
                ),
                **{name: text(enum=list(choices), default=choices[0]) for name, choices in CHOICES.items()},
            )
            | {"additionalProperties": False}
        },
    ),
]
