"""The pages of operators' second factors: the second step of the sign-in, own passkeys, and the reset."""

from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any, cast

import segno
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from infra import second_factors
from infra.audit.recording import record
from infra.limits import LimitReachedError
from infra.models import SecondFactor
from infra.reasons import ReasonField
from infra.sealing import SealError, seal, unseal
from infra.second_factors import WrongCodeError
from infra.typed_digits import LONGEST, PlainField
from operators import passkeys
from operators.second_factor import MARK, PROVED_AT, address, fresh_factor, is_proved
from operators.sign_in import next_page, sign_in_step
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.problem_page import POSTED

TEMPLATE = "admin/second_factor.html"
_WRONG_CODE = _("That is not the code of this moment, or it was used already.")
_NOT_ACCEPTED = _("Your passkey was not accepted. Try again, or use a code.")
_NEW = "new_second_factor"  # in the session: the sealed secret that is being set up


class CodeForm(forms.Form):
    """A code of the app; once it is set up also a recovery code."""

    code = PlainField(
        label=_("Code"),
        max_length=LONGEST,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True}),
    )
    reset_code = PlainField(
        label=_("Code of the reset"),
        help_text=_("The colleague who reset your second factor has it. It works for a day."),
        max_length=LONGEST,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class ResetForm(forms.Form):
    """Asks for the reason."""

    reason = ReasonField(help_text=_("For the audit record. Do not type names."))


def step(request: HttpRequest) -> HttpResponse:
    """The page that asks for the code, or sets up the app of an operator who has none."""
    operator = cast(AbstractUser, request.user)
    if not (operator.is_active and operator.is_staff):
        return HttpResponseRedirect(reverse("admin:login"))
    now, factor = timezone.now(), second_factors.of(operator)
    good = fresh_factor(request) or next_page(request) != reverse("admin:own_passkeys")
    if is_proved(request) and factor and good:
        return HttpResponseRedirect(next_page(request))
    form, posted = CodeForm(request.POST or None), bool(request.POST.get(POSTED))
    form.fields["code"].required = not posted
    status, seconds = 200, 0
    if form.is_valid():
        try:
            second_factors.count_try(operator, now)
            return _accepted(request, operator, form.cleaned_data, now)
        except LimitReachedError as reached:
            status, seconds = 429, max(1, int((reached.retry_at - now).total_seconds()) + 1)
            form.add_error(None, _("Too many attempts. Try again later, or ask a superuser to reset it."))
        except (WrongCodeError, PasskeyError):
            status, field = 403, None if posted else "code"
            record(request, "second_factor_refused")
            form.add_error(field, _NOT_ACCEPTED if posted else _WRONG_CODE)
    return _page(request, form, factor, status, seconds)


@require_POST
def options(request: HttpRequest) -> HttpResponse:
    """What scripts ask an authenticator: in the second step, or with `?add` on the page of `own_passkeys`."""
    adding = "add" in request.GET
    factor = fresh_factor(request) if adding else second_factors.of(cast(AbstractUser, request.user))
    if factor is None:
        raise PermissionDenied
    return passkeys.options_for(request, factor, adding=adding)


def own_passkeys(request: HttpRequest) -> HttpResponse:
    """The operator's passkeys, to add and remove, and the removal of the app. Needs a fresh second factor."""
    factor, now = fresh_factor(request), timezone.now()
    if factor is None:
        return HttpResponseRedirect(address(request))
    if request.method == "POST":
        try:
            change = passkeys.add if request.POST.get(POSTED) else passkeys.remove
            change(request, factor, now=now)
            messages.success(request, _("Your second factor is changed."))
        except (PasskeyError, ValidationError, SecondFactor.DoesNotExist):
            messages.error(request, _("Nothing was changed. Your browser may have been too slow: try again."))
        return HttpResponseRedirect(reverse("admin:own_passkeys"))
    context = {**admin.site.each_context(request), "factor": factor, "title": _("Your second factor")}
    return TemplateResponse(request, "admin/own_passkeys.html", context)


def reset(request: HttpRequest, user_id: int) -> HttpResponse:
    """Removes the factor of another operator and signs them out; superusers only, and never for oneself."""
    operator = cast(AbstractUser, request.user)
    other = get_object_or_404(get_user_model(), pk=user_id)
    if not operator.is_superuser or other.pk == operator.pk:
        raise PermissionDenied
    back = reverse("admin:auth_user_change", args=[other.pk])
    form, code = ResetForm(request.POST or None), ""
    if form.is_valid():
        with transaction.atomic():
            code = second_factors.reset(other, now=timezone.now())
            record(request, "second_factor_reset", other, form.cleaned_data["reason"])
    context = {**admin.site.each_context(request), "form": form, "other": other, "back": back, "code": code}
    title = _("Reset the second factor")
    return TemplateResponse(request, "admin/second_factor_reset.html", {**context, "title": title})


def _accepted(
    request: HttpRequest, operator: AbstractUser, typed: dict[str, str], now: datetime
) -> HttpResponse:
    """Checks the passkey or code and marks the session as proved; shows new recovery codes.

    Raises PasskeyError or WrongCodeError.
    """
    signed = passkeys.signature(request, now=now) if request.POST.get(POSTED) else None
    with transaction.atomic():
        factor = second_factors.of(operator)
        codes: list[str] = []
        if signed:
            factor, action = passkeys.prove(operator, signed, now=now), "passkey_used"
        elif factor is None:
            secret = _secret(request, operator)
            factor, codes = second_factors.set_up(
                operator, secret, typed["code"], now=now, reset_code=typed["reset_code"]
            )
            request.session.pop(_NEW, None)
            action = "second_factor_set_up"
        else:
            action = second_factors.prove(factor, typed["code"], now=now)
        record(request, action)
        request.session.cycle_key()
        request.session[MARK], request.session[PROVED_AT] = factor.enrolment, now.timestamp()
    if not codes:
        return HttpResponseRedirect(next_page(request))
    title, go_on = _("Your recovery codes"), next_page(request)
    return sign_in_step(request, TEMPLATE, title=title, codes=codes, go_on=go_on)


def _page(
    request: HttpRequest, form: CodeForm, factor: SecondFactor | None, status: int = 200, seconds: int = 0
) -> HttpResponse:
    operator = cast(AbstractUser, request.user)
    shown: dict[str, Any] = {"title": _("Second step"), "form": form, "next": next_page(request)}
    if factor is None:
        secret = _secret(request, operator)
        uri = second_factors.address(secret, operator, str(settings.OPERATOR.name))
        shown |= {"title": _("Set up your second factor"), "typed": second_factors.typed(secret)}
        shown["needs_reset_code"] = second_factors.needs_reset_code(operator)
        shown |= {"picture": segno.make_qr(uri, error="m").svg_data_uri(scale=5, light="#fff")}
    if form.errors:
        shown["title"] = _("Error: %(title)s") % {"title": shown["title"]}
    return sign_in_step(request, TEMPLATE, status=status, seconds=seconds, factor=factor, **shown)


def _secret(request: HttpRequest, operator: AbstractUser) -> bytes:
    """The secret that this session is setting up; no other session with the password gets it."""
    context = f"session.{_NEW}:{operator.pk}"
    try:
        return unseal(b64decode(request.session.get(_NEW, "")), context=context)
    except SealError:
        secret = second_factors.new_secret()
        request.session[_NEW] = b64encode(seal(secret, context=context)).decode()
        return secret
