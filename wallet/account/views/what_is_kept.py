"""The public page that says what is kept about people, why, and for how long."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from infra import retention
from infra.reading import only_read

# The groups of the page, and how the models begin that belong to each; the first that fits counts.
GROUPS = (
    (
        _("Your wallet and your verified identity"),
        ("wallet.Credential", "wallet.IdentityMark", "wallet.Wallet"),
    ),
    (_("Identity checks"), ("wallet.Identity", "wallet.Picture")),
    (_("What you share"), ("consent.", "presentation.", "wallet.Status", "wallet.Subject")),
    (_("Signing in, and changing your address"), ("wallet.",)),
    (_("E-mails, limits, and what our people do"), ("",)),
)


@only_read
def what_is_kept(request: HttpRequest) -> HttpResponse:
    """One row for each kind of data in `retention` that concerns people, in GROUPS."""
    left, groups = retention.for_people(), []
    for title, beginnings in GROUPS:
        rows = [row for start in beginnings for row, model in left.items() if model.startswith(start)]
        left = {row: model for row, model in left.items() if row not in rows}
        groups.append((title, rows))
    return render(request, "wallet/account/what_is_kept.html", {"groups": groups})
