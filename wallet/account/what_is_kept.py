"""The public page that says what is kept about people, why, and for how long."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from infra import retention
from infra.reading import only_read


@only_read
def what_is_kept(request: HttpRequest) -> HttpResponse:
    """One row for each kind of data in `retention` that concerns people."""
    return render(request, "wallet/account/what_is_kept.html", {"rows": retention.for_people()})
