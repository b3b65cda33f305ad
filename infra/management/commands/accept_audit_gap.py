"""`manage.py accept_audit_gap`: two operators say why the audit record has a gap, and it is signed again."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from infra import second_factors
from infra.audit import gaps, heads, verification
from infra.audit.recording import record
from infra.files import FileError
from infra.limits import LimitReachedError
from infra.reasons import visible
from infra.second_factors import WrongCodeError


class Command(BaseCommand):
    help = (
        "Sign what is wrong with the audit record, and why, so that it is signed again from here on. Two "
        "operators prove that they agree, each with a code of their second factor. The gap stays in the "
        "record, in AUDIT_FOLDER and in verify_audit_record for ever."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("first", help="the user name of an operator")
        parser.add_argument("second", help="the user name of another operator")
        parser.add_argument("--reason", required=True, help="for the record and for auditors; no names")

    def handle(self, *args: Any, first: str, second: str, reason: str, **options: Any) -> None:
        if not visible(reason):
            raise CommandError("Say why the record has a gap.")
        if not settings.AUDIT_FOLDER:
            raise CommandError("AUDIT_FOLDER is not set: nothing is signed.")
        operators = [_operator(first), _operator(second)]
        if operators[0] == operators[1]:
            raise CommandError("It takes two operators.")
        for operator in operators:
            _prove(operator)
        try:
            key = heads.private_key(settings.AUDIT_KEY_FILE)
            gap = verification.accept_gap(
                Path(settings.AUDIT_FOLDER),
                key,
                operators=tuple(operator.pk for operator in operators),
                reason=reason,
                now=timezone.now(),
            )
        except FileError as error:
            raise CommandError(str(error)) from None
        if gap is None:
            raise CommandError("The audit record has no fault, so there is nothing to accept.")
        for operator in operators:
            record(operator, gaps.ACCEPTED, f"gap {gap.number}", reason)
        faults = f"faults {len(gap.faults)}, up to line {gap.head.seq}"
        self.stdout.write(f"Gap {gap.number} is signed: {faults}. Copy AUDIT_FOLDER to where it is kept.")


def _operator(username: str) -> AbstractUser:
    operator = get_user_model().objects.filter(username=username, is_active=True, is_staff=True).first()
    if operator is None:
        raise CommandError(f"There is no active operator {username}.")
    return operator


def _prove(operator: AbstractUser) -> None:
    """Asks for a code of the operator's second factor, or a recovery code; raises CommandError."""
    name = operator.get_username()
    try:
        second_factors.count_try(operator, timezone.now())
        code = input(f"Code of {name}: ")
        second_factors.prove(second_factors.of(operator), code, now=timezone.now())
    except LimitReachedError:
        raise CommandError(f"{name} has tried too many codes. Wait a while.") from None
    except (WrongCodeError, EOFError):
        raise CommandError(f"That is no code of {name}.") from None
