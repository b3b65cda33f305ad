"""`manage.py register_relying_party`: what the admin does, for scripts. Prints the new client as JSON."""

import json
from argparse import _ArgumentGroup as ArgumentGroup
from pathlib import Path
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from presentation.dcql.queries import SCOPES
from presentation.models import RelyingParty
from presentation.relying_parties import history, integration
from presentation.relying_parties import registration as admission
from presentation.relying_parties.metadata import public_keys
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.transaction_data.types import TYPES
from wallet.claims import NAMES


class Command(BaseCommand):
    help = "Register a relying application and print its client ID and the addresses it needs, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        """The fields of a relying party; options that may be repeated say so."""
        parser.add_argument("--name", required=True, help="as holders know it; must be new")
        _add_answers(parser.add_argument_group("where answers go"))
        _add_demand(parser.add_argument_group("whom it accepts"))
        _add_questions(parser.add_argument_group("what it may ask for"))
        _add_client(parser.add_argument_group("how it proves itself, and what its requests must be"))
        _add_shown(parser.add_argument_group("what people are told of it"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Registers and prints; on any error says what is wrong and changes nothing."""
        try:
            with transaction.atomic():
                relying_party = _register(options)
                history.record(
                    relying_party, _("Registered"), command="register_relying_party", now=timezone.now()
                )
        except ValidationError as error:
            raise CommandError(_as_text(error)) from None
        except IntegrityError:
            raise CommandError("Another registration with this name came first.") from None
        self.stdout.write(json.dumps(_as_json(relying_party), indent=2))


def _register(options: dict[str, Any]) -> RelyingParty:
    return admission.register(
        name=options["name"],
        redirect_uris=options["redirect_uri"],
        response_uris=options["response_uri"],
        allowed_scopes=list(dict.fromkeys(options["scope"])),
        allowed_claims=list(dict.fromkeys(options["claim"])),
        allowed_transaction_data_types=list(dict.fromkeys(options["transaction_data_type"])),
        minimum_assurance=options["minimum_assurance"],
        wire_format=options["wire_format"],
        grants=list(dict.fromkeys(options["grant"])),
        jwks=_read(options["jwks"]) if options["jwks"] else None,
        **{name: options[name] for name in _AS_THEY_ARE},
    )


def _add_answers(group: ArgumentGroup) -> None:
    group.add_argument(
        "--redirect-uri", required=True, action="append", metavar="URI", help="may be repeated"
    )
    _add_repeated(group, "--response-uri", "URI", "where answers may be posted (direct_post)")
    group.add_argument("--wire-format", default="string", choices=RelyingParty.WireFormat.values)


def _add_questions(group: ArgumentGroup) -> None:
    scopes = ", ".join(SCOPES)
    group.add_argument(
        "--scope", required=True, action="append", metavar="SCOPE", help=f"may be repeated: {scopes}"
    )
    claims = f"for requests with dcql_query, in the place of those of the scopes: {', '.join(NAMES)}"
    _add_repeated(group, "--claim", "CLAIM", claims)
    _add_repeated(group, "--transaction-data-type", "TYPE", ", ".join(TYPES))


def _add_client(group: ArgumentGroup) -> None:
    _add_repeated(group, "--grant", "SCOPE", f"what its access tokens may be for: {', '.join(GRANTS)}")
    group.add_argument("--jwks", default="", metavar="FILE", help="its public keys as a JWK set")
    group.add_argument("--jwks-uri", default="", metavar="URL", help="or where it publishes them")
    group.add_argument(
        "--requires-pushed-requests", action="store_true", help="refuse requests in a browser's address"
    )
    group.add_argument(
        "--requires-signed-requests", action="store_true", help="refuse requests its key has not signed"
    )
    group.add_argument(
        "--request-uri-prefix", default="", metavar="URL", help="where it publishes signed requests"
    )


def _add_demand(group: ArgumentGroup) -> None:
    text = "how well holders must be verified, as trust framework and level; one of several is enough"
    _add_repeated(group, "--minimum-assurance", "ASSURANCE", text)


def _add_shown(group: ArgumentGroup) -> None:
    group.add_argument("--purpose", default="", help="why it asks, shown to holders")
    group.add_argument("--privacy-policy-url", default="")
    group.add_argument("--terms-url", default="")
    group.add_argument("--contact", default="", help="an e-mail address for operators")


def _add_repeated(group: ArgumentGroup, name: str, metavar: str, text: str) -> None:
    group.add_argument(name, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated")


def _read(path: str) -> Any:
    try:
        return public_keys.from_json(Path(path).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError):
        raise CommandError(f"Nothing was registered.\n--jwks: {path} cannot be read as JSON.") from None


_AS_THEY_ARE = (
    *("jwks_uri", "requires_pushed_requests", "requires_signed_requests", "request_uri_prefix"),
    *("purpose", "privacy_policy_url", "terms_url", "contact"),
)
_OPTIONS = {
    "grants": "--grant",
    "allowed_scopes": "--scope",
    "allowed_claims": "--claim",
    "allowed_transaction_data_types": "--transaction-data-type",
    "minimum_assurance": "--minimum-assurance",
    "redirect_uris": "--redirect-uri",
    "response_uris": "--response-uri",
}


def _as_text(error: ValidationError) -> str:
    lines = []
    for field, messages in error.message_dict.items():
        option = "" if field == NON_FIELD_ERRORS else _OPTIONS.get(field, "--" + field.replace("_", "-"))
        lines += [f"{option}: {message}" if option else message for message in messages]
    return "Nothing was registered.\n" + "\n".join(lines)


def _as_json(relying_party: RelyingParty) -> dict[str, Any]:
    return {
        "client_id": relying_party.client_id,
        "name": relying_party.name,
        "redirect_uris": [row.uri for row in relying_party.redirect_uris.all()],
        "response_uris": [row.uri for row in relying_party.response_uris.all()],
        "scopes": relying_party.allowed_scopes,
        "claims": sorted(".".join(path) for path in relying_party.claims_it_may_ask),
        "transaction_data_types": relying_party.allowed_transaction_data_types,
        "wire_format": relying_party.wire_format,
        "grants": relying_party.grants,
        "requires_pushed_requests": relying_party.requires_pushed_requests,
        "requires_signed_requests": relying_party.requires_signed_requests,
        **integration.addresses(),
    }
