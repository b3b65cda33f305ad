"""The operations on signing keys in the admin, with their forms."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from infra.operations import Done, Operation, Refusals, Run
from infra.reasons import ReasonField
from infra.sealing import SealError
from keys.certificates.chain import MAX_PEM, BrokenChainError
from keys.models import Key, SigningKey
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation import due_steps, transitions
from keys.rotation.plan import outlook
from keys.rotation.states import RotationRefusedError
from keys.rotation.withdrawal import cost_of_withdrawal, stops_signing

State = SigningKey.State
REFUSALS: Refusals = dict.fromkeys(
    (RotationRefusedError, BrokenChainError, SealError, SignerUnavailableError), ""
)


class ConfirmationForm(forms.Form):
    """Asks for an optional reason."""

    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=200, help_text=_("For the record, if you like.")
    )


class WithdrawalForm(forms.Form):
    required_css_class = "required"

    reason = ReasonField(help_text=_("Needed. Kept with the key; every operator can read it."))


class StageForm(ConfirmationForm):
    """Also asks where to keep the private key, if there is a hardware module."""

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
    """The contents of the chosen files, in total at most as long as a chain may be."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[bytes]:
        files = [super(FilesField, self).clean(file, initial) for file in data or []]
        if sum(file.size for file in files) > MAX_PEM:
            raise forms.ValidationError(_("That is too long for a certificate chain."))
        return [file.read() for file in files]


class ChainForm(ConfirmationForm):
    """Takes pasted text, files, or both; `received` in the cleaned data has all of them."""

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


Values = dict[str, Any]


def _stage(kind: type[Key], values: Values, actor: str, now: datetime) -> Done:
    where = values.get("store", "")
    staged = transitions.stage(now=now, actor=actor, reason=values["reason"], store=where, kind=kind)
    return Done(gettext("Staged key %(kid)s.") % {"kid": staged}, added=staged)


def _rotate(kind: type[Key], values: Values, actor: str, now: datetime) -> Done:
    return Done(" ".join(due_steps.rotate(now=now, actor=actor, kind=kind).lines()))


def _certify(key: Key, values: Values, actor: str, now: datetime) -> Done:
    transitions.certify(key.pk, *values["received"], now=now, actor=actor, reason=values["reason"])
    return Done(gettext("Certified key %(kid)s.") % {"kid": key})


def _moved(move: Callable[..., Key], text: Any) -> Run:
    """The `run` of an operation that makes one move; `text` is for the history."""

    def run(key: Key, values: Values, actor: str, now: datetime) -> Done:
        moved = move(key.pk, now=now, actor=actor, reason=values["reason"])
        return Done(text % {"kid": moved, "reason": moved.reason})

    return run


def _outlook(kind: type[Key], now: datetime) -> list[str]:
    return outlook(now=now, kind=kind).lines()


OPERATIONS = {
    "rotate": Operation(
        label=_("Run the scheduled rotation now"),
        question=_("Stage, activate and withdraw keys as the schedule has it?"),
        run=_rotate,
        on_list=True,
        details=_outlook,
    ),
    "stage": Operation(
        label=_("Stage a new key"),
        question=_("Make a new key, the next to sign?"),
        run=_stage,
        on_list=True,
        form=StageForm,
        details=_outlook,
    ),
    "activate": Operation(
        label=_("Activate"),
        question=_("Let this key sign from now on? The one that signs now retires and stays published."),
        run=_moved(transitions.activate, _("Key %(kid)s is active.")),
        states=(State.STAGED,),
        suits=lambda key: key.certified_at is not None,
        form=ConfirmationForm,
    ),
    "retire": Operation(
        label=_("Retire"),
        question=_("Let the staged key take over? This key stays published until its last token has ended."),
        run=_moved(transitions.retire, _("Key %(kid)s is retired.")),
        states=(State.ACTIVE,),
        form=ConfirmationForm,
    ),
    "certify": Operation(
        label=_("Install certificates"),
        question=_(
            "Have this request signed by your certificate authority, then install the chain it issued."
        ),
        run=_certify,
        states=(State.STAGED, State.ACTIVE),
        form=ChainForm,
        details=lambda key, now: [transitions.certificate_request(key.pk)],
    ),
    "withdraw": Operation(
        label=_("Withdraw"),
        question=_("Take this key out of the key set, now and for good?"),
        run=_moved(transitions.withdraw, _("Withdrew key %(kid)s: %(reason)s")),
        states=(State.STAGED, State.ACTIVE, State.RETIRED),
        form=WithdrawalForm,
        details=lambda key, now: [cost_of_withdrawal(key, now=now)],
        irreversible=True,
        stops_all=lambda key, now: stops_signing(key, now=now),
    ),
}
