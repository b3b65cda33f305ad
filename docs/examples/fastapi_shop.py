"""A shop: pip install fastapi[standard] itsdangerous; begin as docs/integrate.md says; fastapi run THIS."""

import os
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.middleware.sessions import SessionMiddleware

import credential_presentation as library
from credential_presentation import Denied, Rejected, Unavailable

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:8001")
url, root = os.environ.get("WALLET_URL", "http://localhost:8000"), os.environ.get("WALLET_ROOT", "root.pem")
client_id, secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
KEY = os.environ["SECRET_KEY"]  # 32 characters or more, such as those of: openssl rand -hex 32
own = {"root": Path(root).read_text(), "secret": secret}
wallet = library.AsyncWallet(library.Wallet(url, client_id, f"{SHOP}/callback", **own))
COOKIE = {"path": "/callback", "httponly": True, "samesite": "lax", "secure": SHOP.startswith("https")}
POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
LINKS = '<a href="/start">Prove your age</a> <a href="/pay">Pay for green tea</a>'
HOME = f'<!doctype html><html lang="en"><title>Shop</title><main>{LINKS}</main>'
TYPE = "urn:service:params:vc:transaction-data:payment-itemized:v1"
ITEMS = [{"quantity": 1, "unit_cost": 12.5, "label": "Green tea"}]
TEA = {"type": TYPE, "credential_ids": ["basic"], "payload": {"currency": "EUR", "items": ITEMS}}
TEXTS = {Denied: (200, "You were not let in."), Rejected: (400, "We cannot accept this answer.")}
TEXTS[Unavailable] = (503, "Please reload this page in a minute.")
app = FastAPI(exception_handlers={kind: lambda _, error: text(*TEXTS[type(error)]) for kind in TEXTS})
app.add_middleware(SessionMiddleware, secret_key=KEY, https_only=COOKIE["secure"])
app.get("/")(lambda: HTMLResponse(HOME))
app.get("/callback")(lambda: FileResponse(f"{library.CALLBACK}/callback.html"))
app.get("/callback.js")(lambda: FileResponse(f"{library.CALLBACK}/callback.js"))


def text(status, words):
    return PlainTextResponse(words, status)


@app.get("/result")
def result(request: Request):
    return text(200, request.session.get("result", "Start again."))


@app.middleware("http")
async def with_headers(request, call_next):
    response = await call_next(request)
    response.headers["Content-Security-Policy"] = f"{POLICY}; require-trusted-types-for 'script'"
    response.headers.update({"Referrer-Policy": "same-origin", "Cache-Control": "no-store"})
    return response


async def begin(transaction_data):
    url, pending = await wallet.request("basic", None, transaction_data, login_hint="sam@example.org")
    response = RedirectResponse(url, 303)
    response.set_cookie(f"wallet-{pending.state}", pending.sealed(KEY), 7200, **COOKIE)  # one for each tab
    return response


app.get("/start")(partial(begin, ()))
app.get("/pay")(partial(begin, TEA))


@app.post("/callback")
async def answer(request: Request):
    form = await request.form()
    name = f"wallet-{library.state_of(form)}"
    if name not in request.cookies:
        return text(400, "Please start again.")
    result = await wallet.finish(library.Pending.opened(request.cookies[name], KEY), form)
    paid = " Your tea is paid for." if result.transaction_data_hashes else ""
    welcome = f"Welcome, {result.claims['given_name'] or result.claims['family_name']}!{paid}"
    request.session["result"] = welcome if result.claims["age_equal_or_over"]["18"] else "You are too young."
    response = RedirectResponse("/result", 303)
    response.delete_cookie(name, **COOKIE)  # if the service was unavailable, it stays for a reload
    return response
