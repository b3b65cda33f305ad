"""`manage.py register_relying_party`: registers a relying party, for scripts, and prints it as JSON."""

import json
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, CharField
from django.utils import timezone
from django.utils.translation import gettext as _

from infra.audit.commands import RecordedCommand
from presentation.dcql.queries import BASIC
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.relying_parties import integration, registration
from presentation.relying_parties.as_json import FIELDS, as_json
from presentation.relying_parties.metadata import public_keys
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.relying_parties.recognition import NEEDED, SUB, Sub, must_choose
from presentation.scopes import catalogue
from presentation.scopes.choices import PERMISSIONS
from presentation.transaction_data.types import TYPES

# Options by the field that they set, with their help. Those of REPEATED may be given several times.
REPEATED = {
    "redirect_uris": ("--redirect-uri", "an address for answers"),
    "response_uris": ("--response-uri", "an address where answers may be posted (direct_post)"),
    "allowed_scopes": (
        "--scope",
        f"what it may ask for, such as {BASIC}",
    ),
    "allowed_claims": (
        "--claim",
        f"for dcql_query, instead of the claims of the scopes: {', '.join(dict(PERMISSIONS))}",
    ),
    "allowed_transaction_data_types": ("--transaction-data-type", f"instead of all: {', '.join(TYPES)}"),
    "minimum_assurance": (
        "--minimum-assurance",
        "how well holders must be verified, as trust framework and level; one of several is enough",
    ),
    "grants": ("--grant", f"what its access tokens may be for: {', '.join(GRANTS)}"),
}
_FIELDS = [RelyingParty._meta.get_field(name) for name in FIELDS.values()]
TEXTS = [
    model_field
    for model_field in _FIELDS
    if isinstance(model_field, CharField) and not model_field.choices and model_field.name != "name"
]
CHOICES = [
    model_field for model_field in _FIELDS if isinstance(model_field, CharField) and model_field.choices
]
FLAGS = [model_field for model_field in _FIELDS if isinstance(model_field, BooleanField)]
REQUIRED = {"--redirect-uri", "--scope"}


class Command(RecordedCommand):
    help = "Register a relying party and print its client ID and the addresses it needs, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        """One option for each field of a relying party."""
        parser.add_argument("--name", required=True, help="as holders know it; must be new")
        for field, (option, text) in REPEATED.items():
            parser.add_argument(
                option,
                dest=field,
                action="append",
                default=[],
                required=option in REQUIRED,
                help=f"{text}; may be repeated",
            )
        for model_field in TEXTS:
            parser.add_argument(
                _option(model_field.name),
                default="",
                help=str(model_field.help_text or model_field.verbose_name),
            )
        for flag in FLAGS:
            parser.add_argument(_option(flag.name), action="store_true", help=str(flag.help_text))
        for model_field in CHOICES:
            parser.add_argument(
                _option(model_field.name),
                default=model_field.get_default(),
                choices=[value for value, _label in model_field.flatchoices],
                help=str(model_field.help_text),
            )
        parser.add_argument(
            "--sub", choices=[*Sub], help=f"what sub is; OpenID Connect needs this choice. {_choices()}"
        )
        parser.add_argument("--jwks", default="", metavar="FILE", help="its public keys as a JWK set")

    def handle(self, *args: Any, name: str, sub: str | None, jwks: str, **options: Any) -> None:
        """Registers and prints; raises CommandError without registering anything."""
        options["allowed_transaction_data_types"] = options["allowed_transaction_data_types"] or list(TYPES)
        # An empty text makes an empty list.
        lists = {field: list(dict.fromkeys(filter(None, options[field]))) for field in REPEATED}
        others = {model_field.name: options[model_field.name] for model_field in (*TEXTS, *CHOICES, *FLAGS)}
        others["may_recognise"] = _recognises(sub, others["wire_format"], others["may_recognise"])
        keys = _read(jwks) if jwks else None
        try:
            with transaction.atomic():
                relying_party = registration.register(name=name, jwks=keys, **lists, **others)
                RelyingPartyEvent.record(
                    relying_party, _("Registered"), command="register_relying_party", now=timezone.now()
                )
        except ValidationError as error:
            problems = registration.in_words(error, _option)
            raise CommandError(f"Nothing was registered.\n{problems}") from None
        except IntegrityError:
            raise CommandError("Another registration with this name came first.") from None
        claims = sorted(".".join(path) for path in relying_party.claims_it_may_ask(catalogue.current()))
        answer = {**as_json(relying_party), "claims": claims, "service": integration.addresses()}
        self.stdout.write(json.dumps(answer, indent=2))


def _recognises(sub: str | None, wire_format: str, may_recognise: bool) -> bool:
    """Whether it may recognise people, as `--sub` or `--may-recognise` says; raises CommandError."""
    problem = ""
    if sub and not must_choose(wire_format):
        problem = "this is for --wire-format openid; for other formats use --may-recognise."
    elif sub == Sub.ANOTHER and may_recognise:
        problem = "another contradicts --may-recognise."
    elif must_choose(wire_format) and not (sub or may_recognise):
        problem = f"{NEEDED}\n{_choices()}"
    if problem:
        raise CommandError(f"Nothing was registered.\n--sub: {problem}")
    return may_recognise or sub == Sub.SAME


def _choices() -> str:
    return "\n".join(f"--sub {value}: {called}. {meaning}" for value, (called, meaning) in SUB.items())


def _read(path: str) -> Any:
    try:
        return public_keys.from_json(Path(path).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError):
        raise CommandError(f"Nothing was registered.\n--jwks: {path} cannot be read as JSON.") from None


def _option(field: str) -> str:
    return REPEATED[field][0] if field in REPEATED else f"--{field.replace('_', '-')}"
