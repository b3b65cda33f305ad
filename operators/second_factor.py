"""Whether a session of an operator has proved a second factor, and which.

A session that has proved only the password reaches no other page of the admin (`ServiceAdminSite`).
"""

from typing import cast

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from infra import second_factors
from infra.models import SecondFactor
from wallet.account.fresh import FRESH_FOR

MARK = "second_factor"  # in the session: the enrolment of the factor that was proved
PROVED_AT = "second_factor_proved_at"  # in the session: when, in seconds since 1970
PROVED_AT_PROVIDER = "second_factor_at_provider"  # in the session: single sign-on proved one already


def is_proved(request: HttpRequest) -> bool:
    """Whether this session has proved the operator's present second factor, and so may use the admin.

    It also may if single sign-on has proved one, where the settings allow that, and always in a sandbox.
    """
    if not settings.OPERATOR_SECOND_FACTOR:
        return True
    if request.session.get(PROVED_AT_PROVIDER) is True:
        return True
    mark = request.session.get(MARK)
    factor = second_factors.of(cast(AbstractUser, request.user)) if mark else None
    return factor is not None and factor.enrolment == mark


def fresh_factor(request: HttpRequest) -> SecondFactor | None:
    """The operator's present factor, if this session proved it within the last minutes."""
    factor = second_factors.of(cast(AbstractUser, request.user))
    new = timezone.now().timestamp() - request.session.get(PROVED_AT, 0) < FRESH_FOR.total_seconds()
    return factor if factor and new and factor.enrolment == request.session.get(MARK) else None


def address(request: HttpRequest) -> str:
    """The address of the second step, which afterwards leads to the page that was requested."""
    wanted = request.GET.get("next") or request.POST.get("next") or request.get_full_path()
    return f"{reverse('admin:second_factor')}?{urlencode({'next': wanted})}"
