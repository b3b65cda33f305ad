"""A shop: pip install flask, begin as docs/integrate.md says, then flask --app flask_shop run -p 5000."""

import os
import secrets
from pathlib import Path

from flask import Flask, redirect, request, session

from credential_presentation import CALLBACK, Denied, Pending, Rejected, Unavailable, Wallet, state_of

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:5000")  # its port is the one after -p
url, root = os.environ.get("WALLET_URL", "http://localhost:8000"), os.environ.get("WALLET_ROOT", "root.pem")
client_id, secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
wallet = Wallet(url, client_id, f"{SHOP}/callback", root=Path(root).read_text(), secret=secret)
waiting, results = {}, {}  # by session, on the server; in production a table
app = Flask(__name__, static_folder=CALLBACK, static_url_path="")  # callback.js
app.config |= {"SESSION_COOKIE_SAMESITE": "Lax", "SESSION_COOKIE_SECURE": SHOP.startswith("https")}
app.config["SECRET_KEY"] = secrets.token_bytes(32)
POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
HOME = '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>'
app.add_url_rule("/", "home", lambda: HOME)
app.add_url_rule("/callback", "callback", lambda: app.send_static_file("callback.html"))
app.add_url_rule("/result", "result", lambda: (results.get(session.get("result"), "Start again."), TEXT))
app.register_error_handler(Denied, lambda _: ("You were not let in.", TEXT))
app.register_error_handler(Rejected, lambda _: ("We cannot accept this answer.", 400, TEXT))
app.register_error_handler(Unavailable, lambda _: ("Please reload this page in a minute.", 503, TEXT))


@app.after_request
def with_headers(response):
    response.headers["Content-Security-Policy"] = f"{POLICY}; require-trusted-types-for 'script'"
    response.headers.update({"Referrer-Policy": "same-origin", "Cache-Control": "no-store"})
    return response


@app.get("/start")
def start():
    url, pending = wallet.request("basic", login_hint="sam@example.org")
    number = session.setdefault("number", secrets.token_urlsafe(32))  # Flask's session is a readable cookie
    waiting[number, pending.state] = pending.to_json()  # one for each tab
    return redirect(url, 303)


@app.post("/callback")
def answer():
    number, state = session.get("number"), state_of(request.form)
    pending = waiting.pop((number, state), None)  # each request is used once
    if pending is None:
        return "Please start again.", 400, TEXT
    try:
        claims = wallet.finish(Pending.from_json(pending), request.form).claims
    except Unavailable:
        waiting[number, state] = pending  # a reload verifies the same answer again
        raise
    welcome = f"Welcome, {claims['given_name'] or claims['family_name']}!"
    session["result"] = secrets.token_urlsafe(32)  # no number that came with the browser shows it
    results[session["result"]] = welcome if claims["age_equal_or_over"]["18"] else "You are too young."
    return redirect("/result", 303)
