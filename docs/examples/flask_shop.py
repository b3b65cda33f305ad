"""A shop: pip install flask, begin as docs/integrate.md says, then flask --app flask_shop run -p 5000."""

import os
from pathlib import Path

from flask import Flask, redirect, request, session

from credential_presentation import CALLBACK, Denied, Pending, Rejected, Unavailable, Wallet, state_of

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:5000")  # its port is the one after -p
url, root = os.environ.get("WALLET_URL", "http://localhost:8000"), os.environ.get("WALLET_ROOT", "root.pem")
client_id, secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
KEY = os.environ["SECRET_KEY"]  # 32 characters or more, such as those of: openssl rand -hex 32
wallet = Wallet(url, client_id, f"{SHOP}/callback", root=Path(root).read_text(), secret=secret)
app = Flask(__name__, static_folder=CALLBACK, static_url_path="")  # callback.js
app.config |= {"SECRET_KEY": KEY, "SESSION_COOKIE_SAMESITE": "Lax"}
COOKIE = {"path": "/callback", "httponly": True, "samesite": "Lax", "secure": SHOP.startswith("https")}
POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
LINKS = '<a href="/start">Prove your age</a> <a href="/pay">Pay for green tea</a>'
HOME = f'<!doctype html><html lang="en"><title>Shop</title><main>{LINKS}</main>'
TYPE = "urn:service:params:vc:transaction-data:payment-itemized:v1"
ITEMS = [{"quantity": 1, "unit_cost": 12.5, "label": "Green tea"}]
TEA = {"type": TYPE, "credential_ids": ["basic"], "payload": {"currency": "EUR", "items": ITEMS}}
app.add_url_rule("/", "home", lambda: HOME)
app.add_url_rule("/start", "start", lambda: begin(()))
app.add_url_rule("/pay", "pay", lambda: begin(TEA))
app.add_url_rule("/callback", "callback", lambda: app.send_static_file("callback.html"))
app.add_url_rule("/result", "result", lambda: (session.get("result", "Start again."), TEXT))
app.register_error_handler(Denied, lambda _: ("You were not let in.", TEXT))
app.register_error_handler(Rejected, lambda _: ("We cannot accept this answer.", 400, TEXT))
app.register_error_handler(Unavailable, lambda _: ("Please reload this page in a minute.", 503, TEXT))


@app.after_request
def with_headers(response):
    response.headers["Content-Security-Policy"] = f"{POLICY}; require-trusted-types-for 'script'"
    response.headers.update({"Referrer-Policy": "same-origin", "Cache-Control": "no-store"})
    return response


def begin(transaction_data):
    url, pending = wallet.request("basic", None, transaction_data, login_hint="sam@example.org")
    response = redirect(url, 303)
    response.set_cookie(f"wallet-{pending.state}", pending.sealed(KEY), 7200, **COOKIE)  # one for each tab
    return response


@app.post("/callback")
def answer():
    name = f"wallet-{state_of(request.form)}"
    if name not in request.cookies:
        return "Please start again.", 400, TEXT
    result = wallet.finish(Pending.opened(request.cookies[name], KEY), request.form)
    paid = " Your tea is paid for." if result.transaction_data_hashes else ""
    welcome = f"Welcome, {result.claims['given_name'] or result.claims['family_name']}!{paid}"
    session["result"] = welcome if result.claims["age_equal_or_over"]["18"] else "You are too young."
    response = redirect("/result", 303)
    response.delete_cookie(name, **COOKIE)  # if the service was unavailable, it stays for a reload
    return response
