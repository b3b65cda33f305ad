"""A shop: pip install flask, begin as docs/integrate.md says, then flask --app flask_shop run."""

import os
import secrets
from pathlib import Path

from flask import Flask, redirect, request, send_from_directory, session

from credential_presentation import CALLBACK, Denied, Pending, Rejected, Unavailable, Wallet

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:5000")
url, root = os.environ.get("WALLET_URL", "http://localhost:8000"), os.environ.get("WALLET_ROOT", "root.pem")
client_id, secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
wallet = Wallet(url, client_id, f"{SHOP}/callback", root=Path(root).read_text(), secret=secret)
sessions = {}  # on the server; in production a table
app = Flask(__name__)
app.config |= {"SESSION_COOKIE_SAMESITE": "Lax", "SESSION_COOKIE_SECURE": SHOP.startswith("https")}
app.config["SECRET_KEY"] = secrets.token_bytes(32)
POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
HOME = '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>'
app.add_url_rule("/", view_func=lambda: HOME)


@app.after_request
def with_headers(response):
    response.headers["Content-Security-Policy"] = f"{POLICY}; require-trusted-types-for 'script'"
    response.headers.update({"Referrer-Policy": "same-origin", "Cache-Control": "no-store"})
    return response


@app.get("/start")
def start():
    url, pending = wallet.request("basic", login_hint="sam@example.org")
    session["number"] = secrets.token_urlsafe(32)  # Flask's own session is a readable cookie
    sessions[session["number"]] = pending.to_json()
    return redirect(url, 303)


@app.get("/<any('callback', 'callback.js'):name>")
def callback_page(name):
    return send_from_directory(CALLBACK, name if name.endswith(".js") else "callback.html")


@app.post("/callback")
def answer():
    pending = sessions.pop(session.pop("number", None), None)  # each request is used once
    if pending is None:
        return "Please start again.", 400, TEXT
    try:
        claims = wallet.finish(Pending.from_json(pending), request.form).claims
    except Denied:
        return "You were not let in.", TEXT
    except Rejected:
        return "We cannot accept this answer.", 400, TEXT
    except Unavailable:
        return "Please try again later.", 503, TEXT
    said = f"Welcome, {claims['given_name']}!"
    return said if claims["age_equal_or_over"]["18"] else "You are too young.", TEXT
