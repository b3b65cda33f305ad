from fastapi import FastAPI, Request
from fastapi_sso.sso.base import OpenID
from fastapi_sso.sso.generic import create_provider

ENDPOINTS = {
    "authorization_endpoint": "{base_url}/verifiable-credentials/v1/presentation/authorize",
    "token_endpoint": "{base_url}/oauth/v2/token",
    "userinfo_endpoint": "{base_url}/openid-connect/userinfo",
}


def account(claims, _client):
    return OpenID(id=claims["sub"], display_name=claims["name"])


Wallet = create_provider(
    default_scope=["openid", "profile"], discovery_document=ENDPOINTS, response_convertor=account
)
Wallet.uses_pkce = True
wallet = Wallet(
    "<client ID>",
    "<client secret>",
    "https://shop.example/callback",
    allow_insecure_http="https://shop.example".startswith("http:"),
)
app = FastAPI()


@app.get("/login")
async def login():
    async with wallet:
        return await wallet.get_login_redirect()


@app.get("/callback")
async def callback(request: Request):
    async with wallet:
        return await wallet.verify_and_process(request)
