"""Redirect tasks: the paths that they accept, and their expiry."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from tests.wallet.browser_redirect_tasks import make_redirect_task
from wallet import redirect_tasks
from wallet.models import RedirectTask
from wallet.redirect_tasks import RedirectTaskGoneError


@pytest.mark.parametrize("place", ["return_to", "leave_to"])
@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "/\\evil.example/", "///evil.example", "done/", ""],
)
def test_a_redirect_task_leads_to_paths_on_this_host_only(
    db: None, client: Client, now: datetime, place: str, address: str
) -> None:
    with pytest.raises(ValueError, match="must be paths on this host"):
        make_redirect_task(client, now=now, **{place: address})
    assert not RedirectTask.objects.exists()


def test_a_redirect_task_is_gone_from_the_instant_at_which_it_expires(redirect_task: RedirectTask) -> None:
    before = redirect_task.expires_at - timedelta(microseconds=1)
    assert redirect_tasks.load(redirect_task.id, redirect_task.browser, before) == redirect_task
    with pytest.raises(RedirectTaskGoneError) as gone:
        redirect_tasks.load(redirect_task.id, redirect_task.browser, redirect_task.expires_at)
    assert gone.value.redirect_task == redirect_task
