"""What every page that lists rows costs PostgreSQL: the plans that `auto_explain` reports for each.

Run as a module in the service's environment, with a client ID, a holder's address and their cookies as JSON;
prints JSON.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

import django

LARGE = 10_000  # rows: a table that a page should not read whole
SETTINGS = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_buffers = on",
    "SET auto_explain.log_format = json",
    "SET auto_explain.log_level = notice",
    "SET statement_timeout = '20s'",  # instead of the service's, so that a slow page is measured, too
)


@dataclass
class Page:
    """A page: its slowest statement, all of them, and the large tables that it reads whole."""

    name: str
    status: int
    slowest: float = 0.0  # milliseconds in the executor
    all: float = 0.0
    blocks: int = 0  # of 8 kB, from the cache or the disk
    whole: tuple[str, ...] = ()
    statement: str = ""  # the slowest


def measure(client_id: str, email: str, cookies: dict[str, str]) -> list[Page]:
    """Every page is opened twice: the second time counts, when its blocks are in the cache."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client

    settings.OPERATOR_SECOND_FACTOR = False
    settings.METRICS_TOKEN = "metrics"
    connection.ensure_connection()
    notices: list[str] = []
    connection.connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    with connection.cursor() as cursor:
        for setting in SETTINGS:
            cursor.execute(setting)
    operator, holder = Client(raise_request_exception=False), Client(raise_request_exception=False)
    operator.force_login(get_user_model().objects.get_or_create(username="lists", is_superuser=True)[0])
    get_user_model().objects.update(is_staff=True, is_active=True)
    holder.cookies.load(cookies)
    machine = {"authorization": f"Bearer {settings.METRICS_TOKEN}"}
    found = []
    pages = [("operator", operator, address) for address in of_operators(client_id, email)]
    pages += [("holder", holder, address) for address in of_holders(client_id, email)]
    pages += [("machine", Client(headers=machine), "/metrics"), ("machine", Client(), "/health/ready")]
    for who, client, address in pages:
        for _ in range(2):
            print(address, file=sys.stderr)
            notices.clear()
            response = client.get(address, secure=True, headers={"host": settings.BASE_URL[8:]})
            b"".join(response)  # a download makes its queries now
        found.append(_read(Page(f"{who} {address}", response.status_code), notices))
    return found


def of_operators(client_id: str, email: str) -> Iterator[str]:
    """The start page, and each list: as it opens, its last page, and by each filter, order and search."""
    from django.contrib import admin
    from django.urls import reverse

    yield reverse("admin:index")
    for model, own in admin.site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        yield address
        some = model._default_manager.first()
        terms = (some.pk if some else client_id, email, client_id, "Acme Ba")
        queries = [f"?{urlencode({'q': term})}" for term in terms]
        queries = [*_choices(own), *_orders(own), *(queries if own.search_fields else ())]
        yield from (f"{address}{query}" for query in queries)


def _changelist(own: Any) -> Any:
    from django.contrib.auth import get_user_model
    from django.test import RequestFactory

    request = RequestFactory().get("/")
    request.user = get_user_model().objects.get(username="lists")
    return own.get_changelist_instance(request)


def _choices(own: Any) -> Iterator[str]:
    """The addresses of all choices of all filters, and of the last page."""
    changelist = _changelist(own)
    for spec in changelist.filter_specs:
        yield from (choice["query_string"] for choice in list(spec.choices(changelist))[1:])
    if changelist.paginator.num_pages > 1:
        yield f"?p={changelist.paginator.num_pages}"


def _orders(own: Any) -> Iterator[str]:
    """The columns by which operators can sort, each ascending and descending."""
    changelist = _changelist(own)
    for number, name in enumerate(changelist.list_display):
        if name in changelist.sortable_by and changelist.get_ordering_field(name):
            yield from (f"?o={number}", f"?o=-{number}")


def of_holders(client_id: str, email: str) -> Iterator[str]:
    """The receipts from the newest to the oldest, with searches; what requesters know; the downloads."""
    from consent.receipts import Cursor
    from wallet.models import Wallet

    decided = Wallet.objects.get(email=email).consents.filter(decided_at__isnull=False)
    middle, oldest = decided.order_by("decided_at")[decided.count() // 2], decided.earliest("decided_at")
    yield "/wallet/history/"
    for query in (
        {"older": Cursor.of(middle)},
        {"newer": Cursor.of(oldest)},
        {"requester": "acme"},
        {"requester": "nobody"},
        {"since": "2026-01-01", "until": "2026-06-30"},
    ):
        yield f"/wallet/history/?{urlencode(query)}"
    yield f"/wallet/history/{middle.pk}/"
    yield from ("/wallet/", "/wallet/requesters/", f"/wallet/requesters/{client_id}/")
    yield from (f"/wallet/requesters/{client_id}/deletion/", "/wallet/security/", "/wallet/data/")
    yield from ("/wallet/data/json/", "/wallet/close/", "/what-is-kept/")


def _read(page: Page, notices: list[str]) -> Page:
    for notice in notices:
        head, _, explained = notice.partition("plan:\n")
        if not explained:
            continue
        milliseconds, found = float(head.split()[1]), json.loads(explained)
        page.all += milliseconds
        if milliseconds > page.slowest:
            page.slowest, page.statement = milliseconds, found["Query Text"]
        page.blocks += sum(found["Plan"][f"Shared {kind} Blocks"] for kind in ("Hit", "Read"))
        page.whole = tuple(sorted({*page.whole, *_read_whole(found["Plan"])}))
    return page


def _read_whole(plan: dict[str, Any]) -> Iterator[str]:
    rows = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    if rows > LARGE and "Scan" in plan["Node Type"]:
        yield plan.get("Relation Name") or plan.get("Index Name", "")
    for below in plan.get("Plans", ()):
        yield from _read_whole(below)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps([asdict(page) for page in measure(*json.loads(sys.argv[1]))]))
