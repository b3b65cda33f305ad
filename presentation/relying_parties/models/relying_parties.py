"""Relying parties and their registered metadata."""

import secrets
from collections.abc import Collection
from typing import Any, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from infra import email_addresses, log_context
from infra.characters import is_legible
from infra.outbound import targets
from infra.words import Words
from keys.issuer_key import signs_with_rs256
from presentation.relying_parties.metadata import logos, public_keys, request_uris
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.relying_parties.metadata.webhook_event_types import WebhookEventType
from presentation.scopes import catalogue
from presentation.scopes.records import Scopes
from presentation.transaction_data.types import TYPES
from wallet.account import pairwise
from wallet.credential.claims import SUBJECT, WHOLE_FAMILIES, ClaimPath, is_named, named
from wallet.credential.evidence import Assurance, EvidenceError


def new_client_id() -> str:
    """128 random bits in hex, so without `:` (OpenID4VP 1.0 §5.9.1) and without a leading `-`."""
    return secrets.token_hex(16)


def validate_legible(text: str) -> None:
    """Refuses characters that are invisible or reorder others, because holders read these texts."""
    if not is_legible(text):
        raise ValidationError(_("Use one line of text without invisible or direction-changing characters."))


validate_https = URLValidator(
    schemes=["https"], message=_("Enter an address that begins with https://."), code="not_https"
)

# The wire format; by this name it costs the busiest path no call. A longer text would change the type of the
# column, which prepared statements of the release before do not survive.
OPENID_CONNECT = "openid"

# The values that each list field may contain.
_KNOWN: dict[str, Collection[str]] = {
    "allowed_claims": WHOLE_FAMILIES,  # and the name of every claim
    "allowed_transaction_data_types": TYPES,
    "grants": GRANTS,
    "webhook_events": WebhookEventType.values,
}


def _switch(label: Words, help_text: Words) -> "models.BooleanField[Any, bool]":
    return models.BooleanField(label, default=False, db_default=False, help_text=help_text)


class RelyingParty(models.Model):
    """A registered relying party. Its identifier on the wire is `client_id`.

    active ──(an operator suspends it and says why)──► suspended ──(reinstated)──► active
    """

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")

    class WireFormat(models.TextChoices):
        STRING = "string", _("the contract: vp_token is the SD-JWT VC string")
        OPENID4VP_1_0 = "openid4vp-1.0", _("OpenID4VP 1.0: vp_token is a JSON object")
        OPENID_CONNECT = OPENID_CONNECT, _("OpenID Connect: an ID token, and vp_token beside it")

    class IdTokenAlgorithm(models.TextChoices):
        ES256 = "ES256", "ES256"
        RS256 = "RS256", "RS256"

    client_id = models.CharField(
        _("client ID"), max_length=100, unique=True, default=new_client_id, editable=False
    )
    name = models.CharField(
        _("name"),
        max_length=100,
        validators=[validate_legible],
        help_text=_("As holders know it. Shown on the consent page and kept in receipts."),
    )
    logo = models.BinaryField(_("logo"), blank=True, default=b"", editable=False)  # rules: `logos`
    purpose = models.CharField(
        _("purpose"),
        max_length=300,
        blank=True,
        validators=[validate_legible],
        help_text=_("Why it asks, in one sentence for holders: “to open your account”."),
    )
    privacy_policy_url = models.URLField(
        _("privacy policy"), blank=True, max_length=500, validators=[validate_https]
    )
    # OpenID Connect Core 1.0 §4; the rule is `redirect_uris.problem_with_start`.
    initiate_login_uri = models.URLField(
        _("address where requests begin"),
        blank=True,
        default="",
        db_default="",
        max_length=500,
        help_text=_("Where holders begin again after a long identity check, by https on a host of answers."),
    )
    terms_url = models.URLField(_("terms of use"), blank=True, max_length=500, validators=[validate_https])
    contact = models.EmailField(
        _("contact"), blank=True, help_text=_("Whom operators write to. Not shown to holders.")
    )
    privacy_contact = models.EmailField(
        _("privacy contact"),
        blank=True,
        default="",
        db_default="",
        help_text=_("Whom holders ask to delete what they shared. Shown to them."),
    )
    allowed_scopes = models.JSONField(_("allowed scopes"), default=list)
    allowed_claims = models.JSONField(_("claims in a DCQL query"), default=list, blank=True)
    allowed_transaction_data_types = models.JSONField(_("allowed transaction data"), default=list, blank=True)
    minimum_assurance = models.JSONField(
        _("minimum assurance"),
        default=list,
        db_default=[],
        blank=True,
        help_text=_(
            "How well holders must be verified, as a list of trust framework and level, such as "
            "[“eidas substantial”]. One of them is enough. Any verified identity will do if it is empty."
        ),
    )
    most_ages_a_year = models.PositiveSmallIntegerField(
        _("different ages a year"),
        null=True,
        blank=True,
        help_text=_(
            "How many ages beside 18 it may learn from one person in a year. Further requests cannot be met."
        ),
    )
    wire_format = models.CharField(
        _("wire format"), max_length=13, choices=WireFormat, default=WireFormat.STRING
    )
    requires_pushed_requests = models.BooleanField(
        _("only pushed requests"),
        default=False,
        help_text=_("Requests in the address of a browser are refused (RFC 9126)."),
    )
    requires_signed_requests = models.BooleanField(
        _("only signed requests"),
        default=False,
        help_text=_("Requests that its key has not signed are refused (RFC 9101)."),
    )
    may_omit_exp = _switch(
        _("may leave out exp"),
        _("Without exp, a signed request never ends. Counts only with “only signed requests”."),
    )
    may_omit_login_hint = _switch(
        _("may leave out login_hint"),
        _("Without it, the person says on the sign-in page which e-mail address is theirs."),
    )
    may_recognise = _switch(
        _("may recognise people"),
        _(
            "It may ask for pairwise_subject, a number that stays the same for each person. In OpenID "
            "Connect it gets it as sub; without this tick sub is another one each time."
        ),
    )
    pkce_or_nonce = _switch(
        _("PKCE or a nonce"),
        _(
            "For products of OpenID Connect that cannot send PKCE, but send a nonce. It gives up that the "
            "service itself refuses a stolen code: that then depends on the product comparing the nonce."
        ),
    )
    # OpenID Connect Dynamic Client Registration 1.0 §2.
    id_token_signed_response_alg = models.CharField(
        _("signature of ID tokens"),
        max_length=5,
        choices=IdTokenAlgorithm,
        default=IdTokenAlgorithm.ES256,
        db_default=IdTokenAlgorithm.ES256,
        help_text=_(
            "Of OpenID Connect. RS256 is for products that know nothing else, and needs an RSA key of the "
            "service. The presentation beside it is always signed with ES256."
        ),
    )
    sector = models.CharField(
        _("sector"),
        max_length=100,
        blank=True,
        default="",
        db_default="",
        validators=[validate_legible],
        help_text=_(
            "Registrations with the same sector get the same number of a person. Empty: the client ID. To "
            "join others of the same organisation to this one, enter its client ID there. It can change only "
            "as long as nobody is recognised by it."
        ),
    )
    request_uri_prefix = models.URLField(
        _("address of signed requests"),
        blank=True,
        max_length=500,
        help_text=_("Where it publishes them, if it does: one address, or all below one that ends with /."),
    )
    grants = models.JSONField(_("access tokens"), default=list, blank=True)  # rules: `grants`
    jwks = models.JSONField(
        _("public keys"),
        null=True,
        blank=True,
        help_text=_("A JWK set of P-256 keys, each with a kid: what it signs its assertions with."),
    )
    jwks_uri = models.URLField(
        _("address of its public keys"),
        blank=True,
        max_length=500,
        help_text=_("Instead of the keys themselves; fetched when they are needed."),
    )
    may_name_endpoint = _switch(
        _("assertions may name an endpoint"),
        _("For libraries that put an endpoint in place of the issuer into a client assertion (aud)."),
    )
    webhook_url = models.CharField(
        _("address"),
        max_length=targets.LONGEST,
        blank=True,
        help_text=_("Where it is told of events, by https. Nothing is sent before it has a secret."),
    )
    webhook_events = models.JSONField(_("events"), default=list, blank=True)
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.ACTIVE, editable=False)
    suspension_reason = models.CharField(
        _("reason for suspension"), max_length=300, blank=True, editable=False
    )
    notes = models.TextField(_("notes"), blank=True, max_length=5000, help_text=_("For operators only."))
    # Nobody checked who it is: only in the sandbox, where developers register themselves.
    self_registered = models.BooleanField(
        _("registered itself"), default=False, db_default=False, editable=False
    )
    created_at = models.DateTimeField(_("registered"), auto_now_add=True)

    class Meta:
        verbose_name = _("relying party")
        verbose_name_plural = _("relying parties")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(jwks__isnull=True) | Q(jwks_uri=""), name="presentation_client_keys_here_or_there"
            ),
            models.CheckConstraint(
                condition=Q(state="active", suspension_reason="")
                | (Q(state="suspended") & ~Q(suspension_reason="")),
                name="presentation_relying_party_suspended_with_reason",
            ),
            models.CheckConstraint(
                condition=Q(wire_format__in=["string", "openid4vp-1.0", OPENID_CONNECT]),
                name="presentation_relying_party_wire_format_known",
            ),
            # OpenID4VP 1.0 §5.9.1: the text before a colon would be a client identifier prefix.
            models.CheckConstraint(
                condition=~Q(client_id="") & ~Q(client_id__contains=":"),
                name="presentation_client_id_without_prefix",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="presentation_relying_party_named"),
            # Holders recognise a relying party by its name, so the comparison ignores case.
            models.UniqueConstraint(
                Lower("name"),
                name="presentation_relying_party_name_once",
                violation_error_message=_("A relying party with this name is registered already."),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Validates every field whose rule Django's fields do not have; raises ValidationError by field."""
        loopback, starts = settings.LOOPBACK_CALLS, self.request_uri_prefix
        has_keys = self.jwks or self.jwks_uri or (self.pk and self.certified_client_ids.exists())
        needs_keys = self.requires_signed_requests and not has_keys
        problems = {
            "allowed_scopes": None if self.allowed_scopes else _("Choose at least one scope."),
            "__all__": logos.problem_with(bytes(self.logo)) if self.logo else None,
            ("jwks_uri" if self.jwks is None else "jwks"): public_keys.problem_with(
                self.jwks, self.jwks_uri, loopback=loopback
            ),
            "request_uri_prefix": starts and request_uris.problem_with(starts, loopback=loopback),
            "requires_signed_requests": needs_keys and _("Its requests need its public keys first."),
            "minimum_assurance": _problem_with_minimum(self.minimum_assurance),
            "id_token_signed_response_alg": self._algorithm_problem(),
            "contact": _problem_with_contact(self.contact),
            "privacy_contact": _problem_with_contact(self.privacy_contact),
            "sector": self._sector_problem(),
            "webhook_url": self._webhook_problem(),
        }
        errors = self._errors_in_lists()
        errors |= {field: ValidationError(problem) for field, problem in problems.items() if problem}
        if errors:
            raise ValidationError(errors)

    def _errors_in_lists(self) -> dict[str, ValidationError]:
        errors: dict[str, ValidationError] = {}
        for field, known_names in (_KNOWN | {"allowed_scopes": catalogue.current()}).items():
            chosen, claims = getattr(self, field), field == "allowed_claims"
            if not isinstance(chosen, list) or not all(isinstance(value, str) for value in chosen):
                errors[field] = ValidationError(_("This must be a list of names."))
            elif unknown := [
                one for one in chosen if one not in known_names and not (claims and is_named(one))
            ]:
                errors[field] = ValidationError(_("Unknown: %(names)s"), params={"names": ", ".join(unknown)})
        return errors

    def _algorithm_problem(self) -> Words | None:
        if self.id_token_signed_response_alg != self.IdTokenAlgorithm.RS256 or signs_with_rs256():
            return None
        return _("The service has no RSA key yet; make one with: stage_signing_key --for id-tokens")

    def _sector_problem(self) -> Words | None:
        before = RelyingParty.objects.filter(pk=self.pk).first()
        if before is None or before.recognises_in == self.recognises_in:
            return None
        fixed = pairwise.is_used(before.recognises_in)
        return _("People are recognised by the sector before, so it stays.") if fixed else None

    @property
    def logo_url(self) -> str:
        """The path of the logo; empty if there is none that can be shown."""
        shown = self.logo and logos.is_shown(bytes(self.logo))
        return reverse("relying_party_logo", args=[self.client_id]) if shown else ""

    def named_in_log(self) -> Self:
        """This relying party, which the log lines of the HTTP request name from now on."""
        kind = {"self_registered": True} if self.self_registered else {}
        log_context.bind(client_id=self.client_id, **kind)
        return self

    @property
    def recognises_in(self) -> str:
        """The sector whose number of a person it gets."""
        return self.sector or self.client_id

    def names_in_sector(self) -> list[str]:
        """The names of all that get the same number of a person."""
        of_it = Q(sector=self.recognises_in) | Q(sector="", client_id=self.recognises_in)
        return list(RelyingParty.objects.filter(of_it).values_list("name", flat=True))

    def _webhook_problem(self) -> Words | None:
        if not self.webhook_url:
            return _("Enter where the events are sent, or choose none.") if self.webhook_events else None
        try:
            targets.parse(self.webhook_url, loopback=settings.LOOPBACK_CALLS)
        except targets.TargetError as error:
            return error.reason
        return None

    @classmethod
    def contact_of(cls, client_id: str) -> str:
        """The e-mail address for holders; empty if it has none."""
        contacts = cls.objects.filter(client_id=client_id).values_list("privacy_contact", flat=True)
        return contacts.first() or ""

    def claims_it_may_ask(self, scopes: Scopes) -> frozenset[ClaimPath]:
        """What it may name in a DCQL query: what operators chose, else the claims of its scopes.

        `may_recognise` alone decides about `SUBJECT`. scopes: what its scopes mean. The result is for
        `claims.permitted`.
        """
        own = frozenset([SUBJECT] if self.may_recognise else [])
        if self.allowed_claims:
            families = (WHOLE_FAMILIES[name] for name in self.allowed_claims if name in WHOLE_FAMILIES)
            chosen = (*families, *map(named, filter(is_named, self.allowed_claims)))
            return frozenset(chosen) - {SUBJECT} | own
        records = [scopes[urn] for urn in self.allowed_scopes if urn in scopes]
        return frozenset(path for scope in records for path in scope.claims) - {SUBJECT} | own


def _problem_with_contact(address: str) -> Words:
    """Why no e-mail would arrive there; empty if one would, or if there is no address."""
    if not address or email_addresses.is_accepted(address.lower()):
        return ""
    return _("E-mail to this address would not arrive there. Enter another one.")


def _problem_with_minimum(value: object) -> Words:
    """What is wrong with a minimum assurance; empty if nothing is."""
    if not isinstance(value, list) or len(value) > 10:
        return _("This must be a list of at most ten texts.")
    for text in value:
        try:
            Assurance.parse(text)
        except (EvidenceError, AttributeError):
            return _("Each must be a trust framework and a level, with a space between.")
    return ""
