from flask import Flask, session
from flask_pyoidc import OIDCAuthentication
from flask_pyoidc.provider_configuration import ClientMetadata, ProviderConfiguration
from flask_pyoidc.user_session import UserSession

app = Flask(__name__)
app.config["SECRET_KEY"] = "<32 random characters>"
app.config["OIDC_REDIRECT_URI"] = "https://shop.example/redirect_uri"
wallet = ProviderConfiguration(
    issuer="{base_url}",
    client_metadata=ClientMetadata(
        client_id="<client ID>",
        client_secret="<client secret>",
        # for ES256
        id_token_signed_response_alg="ES256",
    ),
    auth_request_params={"scope": ["openid", "profile", "email"]},
)
auth = OIDCAuthentication({"wallet": wallet}, app)


@app.get("/me")
@auth.oidc_auth("wallet")
def me():
    return UserSession(session).userinfo


@auth.error_view
def not_signed_in(error=None, error_description=None):
    return {"error": error}, 403
