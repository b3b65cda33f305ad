"""A shop: pip install flask credential-presentation, set the variables, flask --app flask_shop run."""

import os
import secrets
from pathlib import Path

from flask import Flask, Response, redirect, request, send_from_directory, session

from credential_presentation import CALLBACK, Denied, Pending, Rejected, Unavailable, Wallet

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:5000")
root = Path(os.environ["WALLET_ROOT"]).read_text()  # the certificate's file, from the operator
given = {"root": root, "secret": os.environ.get("CLIENT_SECRET")}
wallet = Wallet(os.environ["WALLET_URL"], os.environ["CLIENT_ID"], f"{SHOP}/callback", **given)
sessions = {}  # on the server; in production a table
app = Flask(__name__)
app.secret_key = secrets.token_bytes(32)
app.config.update(SESSION_COOKIE_SAMESITE="Lax", SESSION_COOKIE_SECURE=SHOP.startswith("https"))
POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


def on_server():
    """The person's session on the server. Flask's own is a readable cookie, so it holds the number only."""
    return sessions.setdefault(session.setdefault("number", secrets.token_urlsafe(32)), {})


@app.after_request
def with_headers(response):
    response.headers["Content-Security-Policy"] = f"{POLICY}; require-trusted-types-for 'script'"
    response.headers.update({"Referrer-Policy": "same-origin", "Cache-Control": "no-store"})
    return response


@app.get("/")
def home():
    return (
        '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>'
    )


@app.get("/start")
def start():
    url, pending = wallet.request(scope="basic", login_hint="sam@example.org")
    on_server()["wallet"] = pending.to_json()
    return redirect(url, 303)


@app.get("/callback")
@app.get("/callback.js")
def callback_page():
    return send_from_directory(CALLBACK, "callback.js" if request.path.endswith(".js") else "callback.html")


@app.post("/callback")
def answer():
    pending = on_server().pop("wallet", None)  # each request is used once
    if pending is None:
        return Response("Please start again.", 400, mimetype="text/plain")
    try:
        claims = wallet.finish(Pending.from_json(pending), request.form).claims
    except (Denied, Rejected, Unavailable) as error:
        words = {Denied: "You were not let in.", Rejected: "We cannot accept this answer."}
        return Response(words.get(type(error), "Please try again later."), 400, mimetype="text/plain")
    of_age = claims["age_equal_or_over"]["18"]
    said = f"Welcome, {claims['given_name']}!" if of_age else "You are too young."
    return Response(said, mimetype="text/plain")
