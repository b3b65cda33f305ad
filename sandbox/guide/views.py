"""The views of the guide: the pages of docs/ for developers of relying applications."""

from functools import cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import mark_safe

from infra.reading import only_read
from presentation.models import RelyingParty
from sandbox.guide.document import Document, rendered
from sandbox.self_service import developer_sign_in, self_registrations

GUIDE, CALLBACK = "integrate", "http://127.0.0.1:5000/callback"
PAGES = (GUIDE, "openid-connect", "protocol", "transaction-data", "credential-status")


@only_read
def guide(request: HttpRequest, name: str = GUIDE) -> HttpResponse:
    """One page of the guide; 404 if `name` is not one of `PAGES`.

    The code has the client ID and the first redirect URI of the developer's own application: of the one that
    `client_id` names, or of the newest. On the first page, those of OpenID Connect do not count.
    """
    if name not in PAGES:
        raise Http404
    document = _document(name, settings.BASE_URL)
    owner, want = developer_sign_in.current(request), request.GET.get("client_id")
    own = list(self_registrations.registered_by(owner)) if owner else []
    if name == GUIDE:
        own = [
            relying_party
            for relying_party in own
            if relying_party.wire_format != RelyingParty.WireFormat.OPENID_CONNECT
        ]
    party = min(own, key=lambda relying_party: relying_party.client_id != want, default=None)
    html = document.html
    if party:
        callback = party.redirect_uris.values_list("uri", flat=True).first() or CALLBACK
        html = html.replace("your-client-id", party.client_id).replace(CALLBACK, escape(callback))
    # Safe: `rendered` escapes all text and adds only its own tags.
    facts = {
        "title": document.title,
        "contents": [(anchor, mark_safe(title)) for anchor, title in document.contents],  # noqa: S308
        "html": mark_safe(html),  # noqa: S308
        "party": party,
        "others": [relying_party for relying_party in own if relying_party != party],
        "is_guide": name == GUIDE,
    }
    return render(request, "developer/guide.html", facts)


@cache
def _document(name: str, base_url: str) -> Document:
    text = (settings.BASE_DIR / "docs" / f"{name}.md").read_text()
    return rendered(text, base_url=base_url, link_to=_address)


def _address(name: str) -> str | None:
    if name not in PAGES:
        return None
    return reverse("guide") if name == GUIDE else reverse("guide_page", args=[name])
