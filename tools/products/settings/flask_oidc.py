from flask import Flask, session
from flask_oidc import OpenIDConnect

app = Flask(__name__)
app.config["SECRET_KEY"] = "<32 random characters>"
app.config["OIDC_CLIENT_SECRETS"] = {
    "web": {
        "client_id": "<client ID>",
        "client_secret": "<client secret>",
        "issuer": "{base_url}",
        "auth_uri": "{base_url}/verifiable-credentials/v1/presentation/authorize",
        "token_uri": "{base_url}/oauth/v2/token",
        "userinfo_uri": "{base_url}/openid-connect/userinfo",
        "redirect_uris": ["https://shop.example/authorize"],
    }
}
app.config["OIDC_SCOPES"] = "openid profile email"
oidc = OpenIDConnect(app)
# for PKCE
oidc.oauth.oidc.client_kwargs["code_challenge_method"] = "S256"


@app.get("/me")
@oidc.require_login
def me():
    return session["oidc_auth_profile"]
