from flask import Flask, redirect, request
from idpyoidc.client.rp_handler import RPHandler

WALLET = {
    "issuer": "{base_url}",
    "client_id": "<client ID>",
    "client_secret": "<client secret>",
    "client_type": "oidc",
    "redirect_uris": ["https://shop.example/authz_cb/wallet"],
    "preference": {
        "response_types_supported": ["code"],
        "scopes_supported": ["openid", "profile", "email"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    },
    "add_ons": {
        "pkce": {
            "function": "idpyoidc.client.oauth2.add_on.pkce.add_support",
            "kwargs": {"code_challenge_length": 64, "code_challenge_method": "S256"},
        }
    },
}
handler = RPHandler("https://shop.example", client_configs={"wallet": WALLET})
app = Flask(__name__)


@app.get("/login")
def login():
    return redirect(handler.begin("wallet"))


@app.get("/authz_cb/wallet")
def callback():
    answer = handler.finalize("{base_url}", request.args.to_dict())
    if "error" in answer:
        return {"error": answer["error"]}, 403
    return answer["userinfo"].to_dict()
