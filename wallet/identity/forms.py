"""The forms of identity checks: what a person uploads, and what an operator decides."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext_lazy as _

from infra.typed_digits import PlainField
from infra.waiting import NoThreadFreeError
from wallet.credential import days, details, names
from wallet.credential.claims import CLAIMS, MAX_NAME, Identity, IdentityError, detail_label
from wallet.credential.countries import countries, country_code, nationalities
from wallet.credential.evidence import DOCUMENT_KINDS, Evidence
from wallet.identity import picture_encoding
from wallet.identity.day_field import BirthDateField, BirthDateInput, DayField
from wallet.identity.picture_encoding import NotInTimeError, PictureError
from wallet.models import Picture
from wallet.providers.findings import REASONS
from wallet.sign_in.forms import ReasonForm

PICTURE_TYPES = "image/jpeg,image/png,image/webp"
PICTURE_PROBLEMS = {
    "too_long": _("This picture is larger than 12 MB. Choose a smaller one."),
    "format": _("This is not a picture that can be used. Choose a still JPEG, PNG or WebP picture."),
    "incomplete": _(
        "This picture is not complete: the end of the file is missing. Copy it from the camera again,"
        " or take a new one."
    ),
    "heic": _(
        "Pictures in the HEIC or AVIF format cannot be used. Save it as JPEG and choose that file. An iPhone"
        " takes JPEG pictures if you choose “Most Compatible” in Settings, Camera, Formats."
    ),
    "too_large": _("This picture has too many pixels. Choose a smaller one."),
    "too_small": _("This picture is too small to read. Choose one with at least 300 pixels on each side."),
    "too_costly": _("This picture takes too long to read. Save it as a new JPEG and choose that file."),
    "blank": _(
        "An operator would see an empty page: too little can be seen in this picture without its transparent"
        " parts or very fine shades. Save it as a new JPEG, look at it, and choose that file."
    ),
}
BUSY = _("We cannot read your pictures at the moment. Please send the form again in ten seconds.")
NO_DAY = _("If the document has no day, enter 00. If it has no month either, choose “Not in the document”.")
UPLOADED_KINDS = ("passport", "idcard", "residence_permit")
COUNTRY_PROBLEM = _("Enter a country by its name or its two-letter code, such as Ireland or IE.")
# What an operator may ask the person to do again.
ASK_AGAIN = ("blurry", "unreadable", "document_expired", "document_unsupported", "face_mismatch")


_ADMIN = {"class": "vTextField", "autocomplete": "off"}
_OF_PERSON = ("given_name", "family_name", "birth_date")
_OF_DOCUMENT = ("document_kind", "document_number", "issuing_country", "document_expires_on")
# The fields of details, with the group and the member of each; a document has its fields above.
_OF_DETAILS = {
    f"{group}_{member}": (group, member)
    for group in ("address", "place_of_birth")
    for member in details.MEMBERS[group]
}


def _identity(cleaned: Mapping[str, Any], nationalities: Iterable[str]) -> Identity:
    """The identity in these fields; raises `IdentityError`."""
    return Identity(
        given_name=names.name(cleaned["given_name"]),
        family_name=names.name(cleaned["family_name"]),
        birth_date=cleaned["birth_date"],
        nationalities=tuple(nationalities),
    )


def _nationalities(written: str) -> tuple[str, ...]:
    """Those that somebody wrote: with commas between them, or codes with spaces. Raises ValueError."""
    parts = [part for part in written.split(",") if part.strip()]
    texts = [text for part in parts for text in ([part] if country_code(part) else part.split())]
    codes = [country_code(text) or text for text in texts]
    if len(set(codes)) < len(codes):
        raise ValueError("a nationality is written twice")
    return nationalities(codes)


def text_field(label: Any, longest: int, help_text: Any = "", **attributes: str) -> forms.CharField:
    """A line of text that may stay empty."""
    widget = forms.TextInput(attributes)
    return forms.CharField(
        label=label, help_text=help_text, max_length=longest, required=False, widget=widget
    )


def _detail_field(group: str, member: str) -> forms.CharField:
    """A field of a detail that an operator read in the document or in other evidence; it may stay empty."""
    lines = member in details.OF_LINES
    return forms.CharField(
        label=format_lazy("{}: {}", detail_label(group), CLAIMS["address", member].label),
        help_text=_("Empty: it is made of the fields below.") if member == "formatted" else "",
        max_length=details.MAX_FORMATTED if lines else details.MAX_TEXT,
        required=False,
        widget=forms.Textarea({"rows": 3, **_ADMIN}) if lines else forms.TextInput(_ADMIN),
    )


class IdentityForm(ReasonForm):
    """The identity in a document, typed or confirmed by the operator who checked it."""

    given_name = text_field(
        _("Given names"),
        200,
        _("As in the document. Empty if the person has a single name and it is below."),
        **_ADMIN,
    )
    family_name = text_field(_("Family name"), 200, **_ADMIN)
    birth_date = BirthDateField(label=_("Birth date"), help_text=NO_DAY)
    nationalities = text_field(
        _("Nationalities"),
        60,
        _("Countries or their two-letter codes, separated by commas, such as GB, IE."),
        **_ADMIN,
    )
    document_kind = forms.ChoiceField(
        label=_("Document"),
        choices=[(kind, label) for kind, label in DOCUMENT_KINDS.items()],
        required=False,
    )
    document_number = PlainField(
        label=_("Number of the document"),
        help_text=_(
            "To find the same document in another wallet. Kept only if this check is set to verify documents."
        ),
        max_length=100,
        required=False,
        widget=forms.TextInput(_ADMIN),
    )
    issuing_country = text_field(
        _("Issuing country"), 60, _("The country or its two-letter code, such as IE."), autocomplete="off"
    )
    document_expires_on = DayField(
        label=_("Document expires on"),
        help_text=_("The verified identity ends with it. Empty if the document has no end."),
        required=False,
    )
    field_order = [*_OF_PERSON, "nationalities", *_OF_DOCUMENT, *_OF_DETAILS, "reason"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """initial: as `initial_for` gives it; there is a field for each detail in it."""
        super().__init__(*args, **kwargs)
        for name in filter(self.initial.__contains__, _OF_DETAILS):
            self.fields[name] = _detail_field(*_OF_DETAILS[name])
        self.order_fields(self.field_order)

    @classmethod
    def initial_for(
        cls, identity: Identity | None, evidence: Evidence, verified: Collection[str] = ()
    ) -> dict[str, Any]:
        """What the form shows when a provider has read something already.

        verified: the groups of details that the provider is set to verify.
        """
        of_evidence = {name: getattr(evidence, name) for name in _OF_DOCUMENT}
        groups = identity.details if identity else {}
        of_evidence |= {
            name: groups.get(group, {}).get(member, "")
            for name, (group, member) in _OF_DETAILS.items()
            if group in verified
        }
        if identity is None:
            return of_evidence
        of_person = {name: getattr(identity, name) for name in _OF_PERSON}
        return of_evidence | of_person | {"nationalities": ", ".join(identity.nationalities)}

    def clean(self) -> dict[str, Any]:
        """Adds `identity` to the cleaned data."""
        cleaned, now = super().clean() or {}, timezone.now()
        if self.errors:
            return cleaned
        try:
            codes = _nationalities(cleaned["nationalities"])
        except ValueError:
            self.add_error("nationalities", COUNTRY_PROBLEM)
            return cleaned
        try:
            cleaned["identity"] = replace(_identity(cleaned, codes), details=self._details(cleaned))
        except IdentityError as error:
            raise forms.ValidationError(
                _("This cannot be: %(why)s"), params={"why": str(error)}, code="identity"
            ) from error
        if (expires_on := cleaned["document_expires_on"]) and days.is_over(expires_on, now):
            self.add_error("document_expires_on", _("This document has expired: ask for another one."))
        country = cleaned["issuing_country"] and country_code(cleaned["issuing_country"])
        if country is None:
            self.add_error("issuing_country", COUNTRY_PROBLEM)
        cleaned["document"] = {name: cleaned.get(name) for name in _OF_DOCUMENT} | {
            "issuing_country": country
        }
        return cleaned

    def _details(self, cleaned: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
        """The details that were typed. What cannot be read gets an error."""
        groups: dict[str, Mapping[str, str]] = {}
        for group in ("address", "place_of_birth"):
            written = {member: cleaned.get(f"{group}_{member}") for member in details.MEMBERS[group]}
            typed = {member: text for member, text in written.items() if text}
            read = details.read({group: typed})
            if lost := [member for member in typed if member not in read.get(group, {})]:
                problem = COUNTRY_PROBLEM if lost == ["country"] else _("This cannot be read.")
                self.add_error(f"{group}_{lost[0]}", problem)
            groups |= read
        return groups


class AskAgainForm(ReasonForm):
    """What the person has to mend, and why for the log."""

    why = forms.ChoiceField(
        label=_("What the person reads"), choices=[(code, REASONS[code]) for code in ASK_AGAIN]
    )
    field_order = ["why", "reason"]


def _picture(
    label: Any, help_text: Any = "", *, missing: Any = "", camera: str = "environment"
) -> forms.FileField:
    """A picture that is taken with this camera, or chosen; with the words if it is `missing`, or optional."""
    widget = forms.FileInput({"accept": PICTURE_TYPES, "capture": camera})
    problems = {"required": missing}
    return forms.FileField(
        label=label, help_text=help_text, required=bool(missing), widget=widget, error_messages=problems
    )


class UploadForm(forms.Form):
    """What a person types and uploads for a check from afar."""

    busy = False  # whether a picture was not decoded, because nothing had time for it at the moment

    given_name = text_field(_("Given names"), MAX_NAME, _("As in your document."), autocomplete="given-name")
    family_name = text_field(
        _("Family name"), MAX_NAME, _("As in your document."), autocomplete="family-name"
    )
    birth_date = BirthDateField(
        label=_("Date of birth"),
        help_text=NO_DAY,
        widget=BirthDateInput("bday"),
        error_messages={"required": _("Enter your date of birth.")},
    )
    nationality = forms.ChoiceField(
        label=_("Nationality"),
        help_text=_("Choose nothing if you have none."),
        choices=lambda: [("", ""), *countries()],
        required=False,
    )
    document_kind = forms.ChoiceField(
        label=_("Document"),
        choices=lambda: [(kind, capfirst(str(DOCUMENT_KINDS[kind]))) for kind in UPLOADED_KINDS],
    )
    front = _picture(
        _("Picture of the front of your document"),
        _("JPEG, PNG or WebP, at most 12 MB."),
        missing=_("Add a picture of the front of your document."),
    )
    back = _picture(_("Picture of the back"), _("Needed unless it is a passport."))
    face = _picture(_("Picture of your face"), missing=_("Add a picture of your face."), camera="user")

    def __init__(self, *args: Any, kept: Collection[str], **kwargs: Any) -> None:
        """kept: as in `keeps`."""
        super().__init__(*args, **kwargs)
        self.kept = kept
        self.keeps(kept)

    def keeps(self, kinds: Collection[str]) -> None:
        """The pictures of these kinds were sent before, and are used unless others are chosen."""
        for kind in kinds:
            self.fields[kind].required = False
            self[kind].help_text = _("We have this picture. Choose a file only to replace it.")

    @property
    def jpegs(self) -> dict[str, bytes]:
        """The pictures of this form that can be used, cleaned, by kind; also of a form with other errors."""
        by_kind = {kind: self.cleaned_data.get(kind) for kind in Picture.Kind.values}
        return {kind: jpeg for kind, jpeg in by_kind.items() if jpeg}

    @property
    def draft(self) -> dict[str, str]:
        """What was typed and chosen rightly besides the pictures, to show the form again."""
        kinds = Picture.Kind.values
        return {name: str(value) for name, value in self.cleaned_data.items() if name not in kinds}

    @property
    def typed(self) -> dict[str, str]:
        """What the provider keeps of it."""
        identity: Identity = self.cleaned_data["identity"]
        return {
            "typed": identity.to_json().decode(),
            "document_kind": self.cleaned_data["document_kind"],
        }

    def clean_front(self) -> bytes | None:
        return self._cleaned("front")

    def clean_back(self) -> bytes | None:
        return self._cleaned("back")

    def clean_face(self) -> bytes | None:
        return self._cleaned("face")

    def _cleaned(self, name: str) -> bytes | None:
        file = self.cleaned_data[name]
        if file is None or self.busy:
            return None
        try:
            return picture_encoding.cleaned(file.read(), until=self._decoded_until)
        except PictureError as error:
            raise forms.ValidationError(PICTURE_PROBLEMS[error.code], code=error.code) from error
        except (NoThreadFreeError, NotInTimeError):
            self.busy = True
            return None

    def full_clean(self) -> None:
        """Reserves the decoder for all pictures of the form, so that it does not fail half-way."""
        self._decoded_until = monotonic() + picture_encoding.DONE_WITHIN
        with picture_encoding.reserved():
            super().full_clean()

    def clean(self) -> dict[str, Any]:
        """Adds `identity`."""
        cleaned = super().clean() or {}
        if self.busy:
            raise forms.ValidationError(BUSY, code="busy")
        kind, has_back = cleaned.get("document_kind", "passport"), cleaned.get("back", b"?") is not None
        if kind != "passport" and not has_back and "back" not in self.kept:
            self.add_error("back", _("Add a picture of the back of your document."))
        if self.errors:
            return cleaned
        try:
            cleaned["identity"] = _identity(cleaned, filter(None, [cleaned["nationality"]]))
        except IdentityError as error:
            raise forms.ValidationError(
                _("Check your name, date of birth and nationality: they must be as in your document."),
                code="identity",
            ) from error
        return cleaned
