"""The public documents that relying applications fetch, as developers read about them."""

from django.utils.translation import gettext_lazy as _

from presentation.sandbox.api.description import (
    HTML,
    JSON,
    PLAIN,
    Answer,
    Described,
    Schema,
    members,
    text,
    texts,
)
from presentation.sandbox.wording import Text

KEYS = _("Keys and metadata")
CACHED = ("Cache-Control", "ETag")


def document(path: str, name: str, summary: Text, schema: Schema, media: str = JSON) -> Described:
    """A public document that is fetched."""
    answers = [Answer(200, _("The document; cache it as Cache-Control says."), schema, media, CACHED)]
    if path.startswith(("trust/", "status-lists/")):
        answers += [Answer(404, _("There is none."), text(), PLAIN), Answer(404, "", text(), HTML)]
    if path.startswith(("openid-connect/", "trust/", "status-lists")):
        away = _("It cannot be made at the moment; Retry-After says how many seconds to wait.")
        answers += [Answer(503, away, text(), PLAIN, ("Retry-After",))]
    return Described(path, "get", name, KEYS, summary, answers)


def _always(**properties: Schema) -> Schema:
    """An object whose members are all always there."""
    return members(" ".join(properties), **properties)


def _address(about: Text = "") -> Schema:
    return text(about, format="uri")


def _switch(about: Text) -> Schema:
    return {"type": "boolean", "description": about}


_ALGORITHMS = {
    "sd-jwt_alg_values": texts(_("What credentials are signed with.")),
    "kb-jwt_alg_values": texts(_("What key bindings are signed with.")),
}
DISCOVERY = _always(
    issuer=_address(_("The issuer of credentials and access tokens.")),
    authorization_endpoint=_address(_("Where browsers are sent.")),
    token_endpoint=_address(),
    jwks_uri=_address(_("The key set.")),
    pushed_authorization_request_endpoint=_address(),
    require_pushed_authorization_requests=_switch(_("Of some applications it is required.")),
    require_signed_request_object=_switch(_("Of some applications it is required.")),
    request_parameter_supported=_switch(_("Requests may be signed.")),
    request_uri_parameter_supported=_switch(_("Requests may be fetched.")),
    require_request_uri_registration=_switch(_("Where they are fetched from must be registered.")),
    request_object_signing_alg_values_supported=texts(_("What requests are signed with.")),
    response_types_supported=texts(),
    response_modes_supported=texts(_("How answers come.")),
    authorization_response_iss_parameter_supported=_switch(
        _("Errors, and answers in the OpenID4VP 1.0 wire format, name the issuer in iss.")
    ),
    authorization_encryption_alg_values_supported=texts(_("For direct_post.jwt.")),
    authorization_encryption_enc_values_supported=texts(_("For direct_post.jwt.")),
    grant_types_supported=texts(),
    token_endpoint_auth_methods_supported=texts(_("How your application proves who it is.")),
    token_endpoint_auth_signing_alg_values_supported=texts(_("For private_key_jwt.")),
    scopes_supported=texts(_("What may be asked of people, and of the token endpoint.")),
    client_id_prefixes_supported=texts(),
    status_list_aggregation_endpoint=_address(_("Every status list there is.")),
    vp_formats_supported=_always(**{"dc+sd-jwt": _always(**_ALGORITHMS)}),
)
KEY_SET = _always(
    keys={
        "type": "array",
        "items": _always(
            kty=text(enum=["EC"]),
            kid=text(_("As in the header of what it signed.")),
            use=text(enum=["sig"]),
            x5c=texts(_("Its certificate, the issuing CA, the root; base64 of DER.")),
            crv=text(enum=["P-256"]),
            x=text(),
            y=text(),
        ),
    }
)
CREDENTIAL_TYPE = _always(
    vct=_address(_("This address.")),
    name=text(),
    description=text(),
    display={"type": "array", "items": _always(locale=text(), name=text(), description=text())},
    claims={
        "type": "array",
        "items": _always(
            path=texts(_("As in a DCQL query.")),
            display={"type": "array", "items": _always(locale=text(), label=text(), description=text())},
            mandatory=_switch(_("Every credential has it.")),
            sd=text(_("Whether it can be withheld."), enum=["always", "never"]),
        ),
    },
)
DOCUMENTS = [
    document(
        ".well-known/openid-configuration",
        "discovery",
        _("Discovery: where everything is and what works"),
        DISCOVERY,
    ),
    document(
        ".well-known/oauth-authorization-server",
        "authorization_server",
        _("Discovery, where clients of OAuth look for it (RFC 8414)"),
        DISCOVERY,
    ),
    document(
        ".well-known/jwt-vc-issuer",
        "credential_issuer",
        _("Where the keys of the credential’s issuer are"),
        _always(issuer=_address(), jwks_uri=_address()),
    ),
    document(
        "openid-connect/jwks",
        "jwks",
        _("The keys that sign credentials"),
        KEY_SET,
    ),
    document(
        "credential-types/identity/v1",
        "credential_type",
        _("The type of the credential: its claims and what they are called"),
        CREDENTIAL_TYPE,
    ),
    document(
        "status-lists",
        "status_list_aggregation",
        _("Every status list there is"),
        _always(status_lists=texts(format="uri")),
    ),
    document(
        "status-lists/<int:number>",
        "status_list",
        _("One status list: which presented credentials were taken back"),
        text(_("A signed JWT (Token Status List).")),
        "application/statuslist+jwt",
    ),
    document(
        "trust/root.pem",
        "root_pem",
        _("The sandbox’s root certificate as PEM"),
        text(),
        "application/x-pem-file",
    ),
    document(
        "trust/root.der",
        "root_der",
        _("The sandbox’s root certificate as DER"),
        text(contentMediaType="application/pkix-cert"),
        "application/pkix-cert",
    ),
]
