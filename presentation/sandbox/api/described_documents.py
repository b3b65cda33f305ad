"""The public documents that relying applications fetch, as developers read about them."""

from django.utils.translation import gettext_lazy as _

from presentation.dcql.queries import SCOPES
from presentation.sandbox.api.description import HTML, JSON, PLAIN, Answer, Described, Schema, members, text
from presentation.sandbox.wording import Text

KEYS = _("Keys and metadata")


def document(path: str, name: str, summary: Text, schema: Schema, media: str = JSON) -> Described:
    """A public document that is fetched."""
    answers = [Answer(200, _("The document; cache it as Cache-Control says."), schema, media)]
    if path.startswith(("trust/", "status-lists/")):
        answers += [Answer(404, _("There is none."), text(), PLAIN), Answer(404, "", text(), HTML)]
    if path.startswith("openid-connect/"):
        answers += [Answer(503, _("There is no key yet."), text(), PLAIN)]
    return Described(path, "get", name, KEYS, summary, answers)


DISCOVERY = members(
    "issuer authorization_endpoint token_endpoint jwks_uri scopes_supported",
    issuer=text(format="uri"),
    authorization_endpoint=text(format="uri"),
    token_endpoint=text(format="uri"),
    jwks_uri=text(format="uri"),
    scopes_supported={"type": "array", "items": text(), "examples": [list(SCOPES)]},
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
        _("The same, where clients of OAuth look for it (RFC 8414)"),
        DISCOVERY,
    ),
    document(
        ".well-known/jwt-vc-issuer",
        "credential_issuer",
        _("Where the keys of the credential's issuer are"),
        members("issuer jwks_uri", issuer=text(format="uri"), jwks_uri=text(format="uri")),
    ),
    document(
        "openid-connect/jwks",
        "jwks",
        _("The keys that sign credentials"),
        members(
            "keys",
            keys={
                "type": "array",
                "items": members(
                    "kty kid use x5c crv x y",
                    kty=text(enum=["EC"]),
                    kid=text(),
                    use=text(enum=["sig"]),
                    x5c={"type": "array", "items": text()},
                    crv=text(enum=["P-256"]),
                    x=text(),
                    y=text(),
                ),
            },
        ),
    ),
    document(
        "credential-types/identity/v1",
        "credential_type",
        _("The type of the credential: its claims and what they are called"),
        members("vct claims", vct=text(format="uri"), claims={"type": "array", "items": {"type": "object"}}),
    ),
    document(
        "status-lists",
        "status_list_aggregation",
        _("Every status list there is"),
        members("status_lists", status_lists={"type": "array", "items": text(format="uri")}),
    ),
    document(
        "status-lists/<int:number>",
        "status_list",
        _("One status list: which presented credentials were taken back"),
        text(_("A signed JWT (Token Status List).")),
        "application/statuslist+jwt",
    ),
    document(
        "trust/root.pem", "root_pem", _("The sandbox's root certificate"), text(), "application/x-pem-file"
    ),
    document(
        "trust/root.der",
        "root_der",
        _("The same as DER"),
        text(contentMediaType="application/pkix-cert"),
        "application/pkix-cert",
    ),
]
