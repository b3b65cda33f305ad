"""Operators' pages for signing keys: what each is, and the operations, each confirmed on its own page."""

from typing import Any, ClassVar

from cryptography import x509
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _

from infra.admin.histories import NewestFirst
from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import pointed_at, short_id
from infra.moments import moment
from infra.sealing import SealError
from keys.certificates.authority import fingerprint
from keys.certificates.chain import BrokenChainError
from keys.models import Authority, KeyEvent, SigningKey
from keys.operations import OPERATIONS, Done, Operation, offered
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.moves import certificate_request
from keys.rotation.plan import outlook, plan
from keys.rotation.states import RotationRefusedError
from keys.rotation.timeline import Timeline, lives
from keys.rotation.withdrawal import cost_of_withdrawal

TIMES = ("staged_at", "certified_at", "activated_at", "retired_at", "withdrawn_at", "destroyed_at")
REFUSALS = (RotationRefusedError, BrokenChainError, SealError, SignerUnavailableError)


@admin.register(SigningKey)
class SigningKeyAdmin(NewestFirst):
    """Keys are read here and moved by operations; nothing can be typed into them."""

    list_display = (short_id, "state", "private_key", "staged_at", "activated_at", "certificate_ends")
    actions = None
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("id", "state", "private_key", "reason")}),
        (_("Times"), {"fields": TIMES}),
        (_("Certificate"), {"fields": ("subject", "issuer", "names", "certificate_ends", "fingerprint")}),
        (_("Chain"), {"fields": ("chain_pem",), "classes": ("collapse",)}),
    )
    readonly_fields = [field for _title, section in fieldsets for field in section["fields"]]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # keys are made by staging

    def has_delete_permission(self, request: HttpRequest, obj: SigningKey | None = None) -> bool:
        return False  # withdrawn keys stay, for the record

    def save_model(self, request: HttpRequest, obj: SigningKey, form: Any, change: bool) -> None:
        """Nothing: nothing was typed in, and a row read before a move must not be written after it."""

    def get_urls(self) -> list[URLPattern]:
        confirm = self.admin_site.admin_view(self.confirm)
        return [
            path("do/<str:name>/", confirm, name="keys_signingkey_do"),
            path("<uuid:kid>/do/<str:name>/", confirm, name="keys_signingkey_do_with"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        operations = offered(None) if self.has_change_permission(request) else []
        context = {"title": _("Signing keys"), "operations": operations, **_picture()}
        return super().changelist_view(request, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        key = self.get_object(request, object_id)
        operations = offered(key) if key and self.has_change_permission(request) else []
        titles = {"title": _("Signing key"), "subtitle": None}
        nothing_to_save = {"show_save": False, "show_save_and_continue": False, "show_close": True}
        return super().change_view(
            request, object_id, form_url, {"operations": operations, **titles, **nothing_to_save}
        )

    def confirm(self, request: HttpRequest, name: str, kid: Any = None) -> HttpResponse:
        """The page that asks once more, and what its button does."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        key = self.get_object(request, str(kid)) if kid else None
        operation = OPERATIONS.get(name)
        if operation is None or bool(kid) != bool(operation.states) or bool(kid) != bool(key):
            raise Http404
        form = operation.form(*((request.POST, request.FILES) if request.method == "POST" else ()))
        if request.method == "POST" and form.is_valid():
            self._run(request, operation, str(kid or ""), form.cleaned_data)
            return HttpResponseRedirect(self._back(key))
        context = {
            **self.admin_site.each_context(request),
            "title": operation.label,
            "opts": self.opts,
            "operation": operation,
            "original": key,
            "form": form,
            "details": _details(operation, key),
            "back": self._back(key),
        }
        return TemplateResponse(request, "admin/keys/signingkey/confirm.html", context)

    def _run(self, request: HttpRequest, operation: Operation, kid: str, values: dict[str, Any]) -> None:
        try:
            done = operation.run(kid, values, request.user.get_username(), now())
        except REFUSALS as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        else:
            self._record(request, operation, done)
            self.message_user(request, done[1], messages.SUCCESS)

    def _record(self, request: HttpRequest, operation: Operation, done: Done) -> None:
        """Who did it, in the history of the key and of the operator."""
        key, text = done
        LogEntry.objects.create(
            user_id=str(request.user.pk),
            content_type=ContentType.objects.get_for_model(SigningKey),
            object_id=str(key.pk) if key else None,
            object_repr=str(key or _("signing keys")),
            action_flag=ADDITION if operation.name == "stage" else CHANGE,
            change_message=text,
        )

    def _back(self, key: SigningKey | None) -> str:
        if key is None:
            return reverse("admin:keys_signingkey_changelist", current_app=self.admin_site.name)
        return reverse("admin:keys_signingkey_change", args=[key.pk], current_app=self.admin_site.name)

    @admin.display(description=_("private key"))
    def private_key(self, key: SigningKey) -> Any:
        if key.state in (SigningKey.State.STAGED, SigningKey.State.ACTIVE):
            return key.get_store_display()
        if key.store == SigningKey.Store.SOFTWARE:
            return _("forgotten")
        if key.destroyed_at:
            return _("destroyed in the hardware module")
        return _("still in the hardware module, to be destroyed")

    @admin.display(description=_("subject"))
    def subject(self, key: SigningKey) -> str:
        leaf = _leaf(key)
        return leaf.subject.rfc4514_string() if leaf else ""

    @admin.display(description=_("issued by"))
    def issuer(self, key: SigningKey) -> str:
        leaf = _leaf(key)
        return leaf.issuer.rfc4514_string() if leaf else ""

    @admin.display(description=_("valid for"))
    def names(self, key: SigningKey) -> str:
        leaf = _leaf(key)
        if leaf is None:
            return ""
        try:
            names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return ""
        return ", ".join(str(name.value) for name in names)

    @admin.display(description=_("certificates end"))
    def certificate_ends(self, key: SigningKey) -> Any:
        chain = key.certified_chain
        return moment(chain.not_after) if chain else _("not certified yet")

    @admin.display(description=_("SHA-256 fingerprint"))
    def fingerprint(self, key: SigningKey) -> str:
        leaf = _leaf(key)
        return fingerprint(leaf) if leaf else ""


@admin.register(Authority)
class AuthorityAdmin(ReadOnly, admin.ModelAdmin):
    """The sandbox's authority, to be read: what relying parties have to trust."""

    list_display = ("subject", "ends", "fingerprint")
    fields = ("subject", "ends", "fingerprint", "root_pem", "issuing_pem", "created_at")
    readonly_fields = fields

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
    """What was done with the keys, by whom and why: to be read by whoever may see keys."""

    list_display = ("at", "action", "key", "actor", "reason")
    fields = readonly_fields = ("at", "action", "kid", "actor", "reason")
    list_filter = ("action", "actor")
    search_fields = ("kid", "actor", "reason")
    date_hierarchy = "at"
    list_per_page = 100

    @admin.display(description=_("key"), ordering="kid")
    def key(self, event: KeyEvent) -> str:
        """The beginning of the key's ID; empty for what concerns them all."""
        return pointed_at(event.kid) if event.kid else ""

    def has_view_permission(self, request: HttpRequest, obj: KeyEvent | None = None) -> bool:
        return request.user.has_perm("keys.view_signingkey")


def _picture() -> dict[str, Any]:
    """The keys' life drawn, and what comes next in words."""
    moment, waiting = now(), settings.SIGNING_KEY_STAGED_FOR
    drawn = lives(SigningKey.objects.all(), plan(now=moment), staged_for=waiting, now=moment)
    return {"timeline": Timeline(drawn, now=moment), "outlook": outlook(now=moment).lines()}


def _details(operation: Operation, key: SigningKey | None) -> list[str]:
    """What to know before answering: the cost, the request to be signed, what comes next."""
    try:
        if operation.name == "withdraw" and key:
            return [cost_of_withdrawal(key, now=now())]
        if operation.name == "certify" and key:
            return [certificate_request(key.pk)]
        return [] if key else outlook(now=now()).lines()
    except REFUSALS as refusal:
        return [str(refusal)]


def _leaf(key: SigningKey) -> x509.Certificate | None:
    chain = key.certified_chain
    return chain.leaf if chain else None


def _root(authority: Authority) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.root_pem.encode())
