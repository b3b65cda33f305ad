"""A shop: pip install django, begin as docs/integrate.md says, then python django_shop.py runserver 5000."""

import os
from pathlib import Path

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path
from django.views import static

from credential_presentation import CALLBACK, Denied, Pending, Rejected, Unavailable, Wallet, state_of

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:5000")
url, root = os.environ.get("WALLET_URL", "http://localhost:8000"), os.environ.get("WALLET_ROOT", "root.pem")
client_id, secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
KEY = os.environ["SECRET_KEY"]  # 32 characters or more, such as those of: openssl rand -hex 32
wallet = Wallet(url, client_id, f"{SHOP}/callback", root=Path(root).read_text(), secret=secret)
MIDDLEWARE = ("security.SecurityMiddleware", "clickjacking.XFrameOptionsMiddleware")
settings.configure(ROOT_URLCONF="__main__", SECRET_KEY=KEY, ALLOWED_HOSTS=["127.0.0.1", "localhost"])
settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
settings.MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware"]
# The first also sends Referrer-Policy: same-origin, with which the form of the callback has an origin.
settings.MIDDLEWARE += [f"django.middleware.{name}" for name in MIDDLEWARE]
COOKIE = {"path": "/callback", "httponly": True, "samesite": "Lax", "secure": SHOP.startswith("https")}
HOME = '<title>Shop</title><a href="/start">Prove your age</a> <a href="/pay">Pay for green tea</a>'
TYPE = "urn:service:params:vc:transaction-data:payment-itemized:v1"
ITEMS = [{"quantity": 1, "unit_cost": 12.5, "label": "Green tea"}]
TEA = {"type": TYPE, "credential_ids": ["basic"], "payload": {"currency": "EUR", "items": ITEMS}}
TEXTS = {Denied: ("You were not let in.", 200), Rejected: ("We cannot accept this answer.", 400)}
TEXTS[Unavailable] = ("Please reload this page in a minute.", 503)


def text(words, status=200):
    return HttpResponse(words, "text/plain; charset=utf-8", status, headers={"Cache-Control": "no-store"})


def begin(transaction_data):
    url, pending = wallet.request("basic", None, transaction_data, login_hint="sam@example.org")
    response = HttpResponseRedirect(url)
    response.set_cookie(f"wallet-{pending.state}", pending.sealed(KEY), 7200, **COOKIE)  # one for each tab
    return response


def callback(request):
    if request.method != "POST":
        return static.serve(request, "callback.html", CALLBACK)
    try:
        name = f"wallet-{state_of(request.POST)}"
        if name not in request.COOKIES:
            return text("Please start again.", 400)
        result = wallet.finish(Pending.opened(request.COOKIES[name], KEY), request.POST)
    except tuple(TEXTS) as error:
        return text(*TEXTS[type(error)])
    paid = " Your tea is paid for." if result.transaction_data_hashes else ""
    welcome = f"Welcome, {result.claims['given_name'] or result.claims['family_name']}!{paid}"
    request.session["result"] = welcome if result.claims["age_equal_or_over"]["18"] else "You are too young."
    response = HttpResponseRedirect("/result")
    response.delete_cookie(name, path="/callback")  # if the service was unavailable, it stays for a reload
    return response


urlpatterns = [
    path("", lambda _: HttpResponse(HOME)),
    path("start", lambda _: begin(())),
    path("pay", lambda _: begin(TEA)),
    path("callback", callback),
    path("callback.js", static.serve, {"document_root": CALLBACK, "path": "callback.js"}),
    path("result", lambda request: text(request.session.get("result", "Start again."))),
]
execute_from_command_line()
