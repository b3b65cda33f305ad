from authlib.integrations.flask_client import OAuth, OAuthError
from flask import Flask, redirect, session

app = Flask(__name__)
app.secret_key = "<32 random characters>"
oauth = OAuth(app)
oauth.register(
    "wallet",
    client_id="<client ID>",
    client_secret="<client secret>",
    server_metadata_url="{base_url}/.well-known/openid-configuration",
    client_kwargs={
        "scope": "openid profile",
        # for PKCE
        "code_challenge_method": "S256",
    },
)


@app.get("/login")
def login():
    return oauth.wallet.authorize_redirect("https://shop.example/callback")


@app.get("/callback")
def callback():
    session["user"] = oauth.wallet.authorize_access_token()["userinfo"]
    return redirect("/me")


@app.errorhandler(OAuthError)
def not_signed_in(error):
    return {"error": error.error}, 403


@app.get("/me")
def me():
    return session["user"]
