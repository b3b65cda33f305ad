"""What an operator may do with signing keys in the admin: each step, whom it suits, and its question."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from keys.certificates.chain import MAX_PEM
from keys.models import SigningKey
from keys.rotation import due_steps, moves

State = SigningKey.State
# A step gives the key to keep its log entry with, if any, and says what was done.
Done = tuple[SigningKey | None, str]


class ConfirmationForm(forms.Form):
    """The button is the answer; a reason may be given."""

    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=200, help_text=_("For the record, if you like.")
    )


class WithdrawalForm(forms.Form):
    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"),
        max_length=200,
        help_text=_("Needed. Kept with the key; every operator can read it."),
    )


class StageForm(ConfirmationForm):
    """Where there is a hardware module, it is asked where the private key is to live."""

    field_order = ["store", "reason"]

    store = forms.ChoiceField(
        label=_("Private key"), choices=SigningKey.Store.choices, widget=forms.RadioSelect
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["store"].initial = settings.SIGNING_KEY_STORE
        if not settings.PKCS11_MODULE:
            del self.fields["store"]


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """The contents of however many files were chosen, together no longer than a chain may be."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[bytes]:
        files = [super(FilesField, self).clean(file, initial) for file in data or []]
        if sum(file.size for file in files) > MAX_PEM:
            raise forms.ValidationError(_("That is too long for a certificate chain."))
        return [file.read() for file in files]


class ChainForm(ConfirmationForm):
    """Text, files, or both; `received` has everything that was given."""

    field_order = ["chain", "chain_files", "reason"]

    chain = forms.CharField(
        label=_("Certificate chain"),
        required=False,
        max_length=MAX_PEM,
        widget=forms.Textarea(attrs={"rows": 20, "cols": 68, "spellcheck": "false"}),
        help_text=_("PEM: leaf, issuing CA and root, in any order."),
    )
    chain_files = FilesField(
        label=_("or files"), required=False, help_text=_("One or more, PEM, DER or PKCS#7, in any order.")
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        given = [*([values["chain"].encode()] if values.get("chain") else []), *values.get("chain_files", [])]
        if not given and not self.errors:
            raise forms.ValidationError(_("Paste the certificates, or choose their files."))
        return {**values, "received": given}


@dataclass(frozen=True)
class Operation:
    """`run` takes the key's id ("" for what concerns no single key), the form's values, who and when."""

    name: str
    label: Any
    question: Any
    run: Callable[[str, dict[str, Any], str, datetime], Done]
    states: tuple[str, ...] = ()  # of the keys it is offered for; none: it is offered on the list
    form: type[forms.Form] = ConfirmationForm
    only_certified: bool = False
    irreversible: bool = False

    def suits(self, key: SigningKey) -> bool:
        """Whether it is offered for this key."""
        return key.state in self.states and (key.certified_at is not None or not self.only_certified)


def _stage(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    key = moves.stage(now=now, actor=actor, reason=values["reason"], store=values.get("store", ""))
    return key, gettext("Staged key %(kid)s.") % {"kid": key}


def _rotate(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    return None, " ".join(due_steps.rotate(now=now, actor=actor).lines())


def _activate(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    key = moves.activate(kid, now=now, actor=actor, reason=values["reason"])
    return key, gettext("Key %(kid)s is active.") % {"kid": key}


def _retire(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    key = moves.retire(kid, now=now, actor=actor, reason=values["reason"])
    return key, gettext("Key %(kid)s is retired.") % {"kid": key}


def _certify(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    key = moves.certify(kid, *values["received"], now=now, actor=actor, reason=values["reason"])
    return key, gettext("Certified key %(kid)s.") % {"kid": key}


def _withdraw(kid: str, values: dict[str, Any], actor: str, now: datetime) -> Done:
    key = moves.withdraw(kid, reason=values["reason"], now=now, actor=actor)
    return key, gettext("Withdrew key %(kid)s: %(reason)s") % {"kid": key, "reason": key.reason}


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "rotate",
            _("Do what is due"),
            _("Stage, activate and withdraw keys as the schedule has it?"),
            _rotate,
            form=forms.Form,
        ),
        Operation(
            "stage", _("Stage a new key"), _("Make a new key, the next to sign?"), _stage, form=StageForm
        ),
        Operation(
            "activate",
            _("Activate"),
            _("Let this key sign from now on? The one that signs now retires and stays published."),
            _activate,
            (State.STAGED,),
            only_certified=True,
        ),
        Operation(
            "retire",
            _("Retire"),
            _("Let the staged key take over? This key stays published until its last token has ended."),
            _retire,
            (State.ACTIVE,),
        ),
        Operation(
            "certify",
            _("Install certificates"),
            _("Have this request signed by your certificate authority, then install the chain it issued."),
            _certify,
            (State.STAGED, State.ACTIVE),
            ChainForm,
        ),
        Operation(
            "withdraw",
            _("Withdraw"),
            _("Take this key out of the key set, now and for good?"),
            _withdraw,
            (State.STAGED, State.ACTIVE, State.RETIRED),
            WithdrawalForm,
            irreversible=True,
        ),
    )
}


def offered(key: SigningKey | None) -> list[Operation]:
    """What may be done with this key, or, without one, on the list."""
    return [o for o in OPERATIONS.values() if (o.suits(key) if key else not o.states)]
