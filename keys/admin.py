"""Admin pages for signing keys: the keys and their operations, the sandbox's authority, the key events."""

from collections.abc import Callable
from typing import Any, ClassVar

from cryptography import x509
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import pointed_at, short_id
from infra.moments import moment
from keys.certificates.authority import fingerprint
from keys.certificates.chain import extension
from keys.models import Authority, IdTokenKey, Key, KeyEvent, SigningKey, StatementKey
from keys.operations import OPERATIONS, REFUSALS
from keys.rotation.plan import outlook, plan, to_rotate
from keys.rotation.timeline import Timeline, lives


def _of_leaf(label: Any, text: Callable[[x509.Certificate], str]) -> Callable[[Any, Key], str]:
    """A column: something of a key's own certificate; empty until it has one."""

    @admin.display(description=label)
    def column(self: Any, key: Key) -> str:
        return text(chain.leaf) if (chain := key.certified_chain) else ""

    return column


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnly, OperationsAdmin):
    """Operations change keys, each after a confirmation page; withdrawn keys stay, for the record."""

    shows_no_person = True
    permitted_with = "signingkey"
    change_list_template = "admin/keys/signingkey/change_list.html"
    list_display = (short_id, "state", "private_key", "staged_at", "activated_at", "certificate_ends")
    operations = OPERATIONS
    refusals = REFUSALS
    one_transaction = False  # each move commits itself, and then drops cached keys
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("id", "state", "private_key", "reason")}),
        (_("Times"), {"fields": SigningKey.TIMES}),
        (_("Certificate"), {"fields": ("subject", "issuer", "names", "certificate_ends", "fingerprint")}),
        (_("Chain"), {"fields": ("chain_pem",), "classes": ("collapse",)}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        title = self.opts.verbose_name_plural
        context = {"title": capfirst(title), "buttons": self.buttons(request), **_overview(self.model)}
        return super().changelist_view(request, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        titles = {"title": capfirst(self.opts.verbose_name), "subtitle": None}
        return super().change_view(request, object_id, form_url, titles)

    def message_for(self, row: Any, text: str) -> str:
        return text  # the text names the key itself

    @admin.display(description=_("private key"))
    def private_key(self, key: Key) -> Any:
        if key.state in (SigningKey.State.STAGED, SigningKey.State.ACTIVE):
            return key.get_store_display()
        if key.store == SigningKey.Store.SOFTWARE:
            return _("forgotten")
        if key.destroyed_at:
            return _("destroyed in the hardware module")
        return _("still in the hardware module, to be destroyed")

    subject = _of_leaf(_("subject"), lambda leaf: leaf.subject.rfc4514_string())
    issuer = _of_leaf(_("issued by"), lambda leaf: leaf.issuer.rfc4514_string())
    names = _of_leaf(
        _("valid for"),
        lambda leaf: ", ".join(str(n.value) for n in extension(leaf, x509.SubjectAlternativeName) or ()),
    )
    fingerprint = _of_leaf(_("SHA-256 fingerprint"), fingerprint)

    @admin.display(description=_("certificates end"))
    def certificate_ends(self, key: Key) -> Any:
        chain = key.certified_chain
        return moment(chain.not_after) if chain else _("not certified yet")


@admin.register(StatementKey)
class StatementKeyAdmin(SigningKeyAdmin):
    """The same for the keys for statements, with the permissions for signing keys."""


@admin.register(IdTokenKey)
class IdTokenKeyAdmin(SigningKeyAdmin):
    """The same for the keys for ID tokens, with the permissions for signing keys."""


@admin.register(Authority)
class AuthorityAdmin(ReadOnly, admin.ModelAdmin):
    """Shows the sandbox's authority, whose root relying parties have to trust."""

    shows_no_person = True
    list_display = ("subject", "ends", "fingerprint")
    fields = ("subject", "ends", "fingerprint", "root_pem", "issuing_pem", "created_at")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return settings.SELF_CERTIFYING_AUTHORITY and super().has_module_permission(request)

    @admin.display(description=_("root"))
    def subject(self, authority: Authority) -> str:
        return _root(authority).subject.rfc4514_string()

    @admin.display(description=_("ends"))
    def ends(self, authority: Authority) -> Any:
        return moment(_root(authority).not_valid_after_utc)

    @admin.display(description=_("SHA-256 fingerprint"))
    def fingerprint(self, authority: Authority) -> str:
        return fingerprint(_root(authority))


@admin.register(KeyEvent)
class KeyEventAdmin(ReadOnly, admin.ModelAdmin):
    """Shows what was done with keys, by whom and why, to every operator who may see keys."""

    seen_with = "keys.view_signingkey"
    list_display = ("at", "action", "key", "actor", "reason")
    fields = ("at", "action", "kid", "actor", "reason")
    list_filter = ("action", "actor")
    search_fields = ("kid", "actor", "reason")
    date_hierarchy = "at"
    list_per_page = 100
    show_full_result_count = True

    @admin.display(description=_("key"), ordering="kid")
    def key(self, event: KeyEvent) -> str:
        """The beginning of the key's ID; empty for events that concern all keys."""
        return pointed_at(event.kid) if event.kid else ""


def _overview(kind: type[Key]) -> dict[str, Any]:
    """The timeline of the keys, and the next steps in words."""
    at, staged_for = now(), settings.SIGNING_KEY_STAGED_FOR
    if kind not in to_rotate():
        none = _(
            "There is none, and none is needed, until a product knows nothing but RS256: then stage one."
        )
        return {"timeline": Timeline([], now=at), "outlook": [none]}
    rows = kind._default_manager.all()
    drawn = lives(rows, plan(now=at, kind=kind), staged_for=staged_for, now=at)
    return {"timeline": Timeline(drawn, now=at), "outlook": outlook(now=at, kind=kind).lines()}


def _root(authority: Authority) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.root_pem.encode())
