"""The check by operators from afar: the form, what is stored, who sees it, and when it is erased."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse

from infra.models import AuditLine
from tests.people import NORA
from tests.wallet.conftest import SECRET, together
from tests.wallet.operators import address, operate
from tests.wallet.test_admin import TYPED
from tests.wallet.test_pictures import picture
from tests.wallet.test_review import seen
from wallet.identity import pictures, review, upload
from wallet.identity.forms import UploadForm
from wallet.identity.upload import UPLOADS
from wallet.models import Evidence, IdentityVerification, Picture, Wallet

TYPED_BY_NORA = {
    "given_name": "Nora",
    "family_name": "New",
    "birth_date": "1999-12-31",
    "nationality": "ie",
    "document_kind": "passport",
}


@pytest.fixture(autouse=True)
def from_afar(settings):
    settings.IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}


@pytest.fixture
def holder(client, nora, sign_in):
    sign_in(nora)
    return client


@pytest.fixture
def form(holder, errand):
    """The address of the form, of a check that has begun."""
    response = holder.post(reverse("wallet_identity_start", args=[errand.id]))
    assert response.url == reverse("wallet_identity_upload", args=[errand.id])
    return response.url


def file(data=None, name="p.jpg"):
    return SimpleUploadedFile(name, picture() if data is None else data, "image/jpeg")


def send(holder, form, **changes):
    fields = TYPED_BY_NORA | {"front": file(), "face": file()} | changes
    return holder.post(form, {name: value for name, value in fields.items() if value is not None})


def test_the_form_says_how_to_take_good_pictures_and_has_one_exit(holder, form):
    text = holder.get(form).content.decode()

    assert "Get all four corners in the picture" in text
    assert text.count("Cancel and return to Acme Bank") == 1
    assert "Stop this check" not in text


def test_what_was_sent_is_sealed_and_waits_for_an_operator(holder, form, errand):
    response = send(holder, form, front=file(picture(comment=b"hidden words")))
    assert (response.status_code, response.url) == (303, reverse("wallet_identity", args=[errand.id]))
    verification = IdentityVerification.objects.get()
    assert (verification.state, verification.reason, verification.submissions) == ("review", "uploaded", 1)
    stored = {row.kind: row for row in Picture.objects.all()}
    assert set(stored) == {"front", "face"}
    assert b"JFIF" not in bytes(stored["front"].sealed_jpeg)
    assert b"Nora" not in bytes(verification.sealed_claims)
    assert verification.sealed_memory is None
    jpeg = pictures.opened(stored["front"])
    assert jpeg.startswith(b"\xff\xd8")
    assert b"hidden words" not in jpeg
    assert "Your check needs a closer look" in holder.get(response.url).content.decode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"front": None}, "Add a picture of the front"),
        ({"face": None}, "Add a picture of your face"),
        ({"front": file(b"<svg/>")}, "not a picture that can be used"),
        ({"front": file(b"")}, "empty"),
        ({"birth_date": "31.12.1999"}, "Enter year, month and day"),
        ({"birth_date": "1790-01-01"}, "must be as in your document"),
        ({"given_name": "", "family_name": ""}, "must be as in your document"),
        ({"nationality": "99"}, "Enter a country by its name"),
        ({"nationality": "Germ"}, "Enter a country by its name"),
        ({"nationality": "EU"}, "Enter a country by its name"),
        ({"document_kind": "idcard"}, "Add a picture of the back"),
        ({"document_kind": "idcard", "back": file(b"<svg/>")}, "choose all pictures again"),
        ({"document_kind": "library_card"}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_used_is_said_beside_the_form_and_nothing_is_stored(holder, form, changes, words):
    response = send(holder, form, **changes)
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Picture.objects.exists()
    assert IdentityVerification.objects.get().state == "started"


@pytest.mark.parametrize("written", ["IE", "ie", "Ireland", " ireland "])
def test_a_country_can_be_written_by_its_name(holder, form, written):
    send(holder, form, nationality=written, document_kind="idcard", back=file())
    identity, evidence = review.claims(IdentityVerification.objects.get())
    assert identity.nationalities == ("IE",)
    assert evidence.document_kind == "idcard"


def test_files_that_are_too_long_are_not_read_to_their_end(holder, form):
    response = send(holder, form, front=file(b"x" * 50_000_000))
    assert response.status_code == 413
    assert "too large" in response.content.decode()
    assert not Picture.objects.exists()


class Body:
    """What a browser sends; counts the bytes that somebody reads of it."""

    def __init__(self, data):
        self.file, self.bytes_read = BytesIO(data), 0

    def read(self, size=-1):
        part = self.file.read(size)
        self.bytes_read += len(part)
        return part

    readline = read


def test_nothing_is_read_of_what_strangers_send(form, bob, sign_in):
    signed_in_elsewhere = Client()
    sign_in(bob, browser=signed_in_elsewhere)
    for stranger in (Client(), signed_in_elsewhere):
        body = Body(encode_multipart(BOUNDARY, TYPED_BY_NORA | {"front": file(b"x" * 1_000_000)}))
        more = {"wsgi.input": body, "CONTENT_LENGTH": str(len(body.file.getvalue()))}
        response = stranger.generic("POST", form, CONTENT_TYPE=MULTIPART_CONTENT, **more)
        assert response.status_code == 404
        assert body.bytes_read == 0


def test_nobody_sends_pictures_without_end(holder, form):
    for _each in range(UPLOADS.most):
        assert holder.post(form, {"given_name": "N"}).status_code == 422
    response = send(holder, form)
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    assert not Picture.objects.exists()


def test_pictures_that_arrive_while_an_operator_reviews_replace_nothing(holder, form, now):
    read_before = IdentityVerification.objects.get()
    send(holder, form)
    before = {row.id: bytes(row.sealed_jpeg) for row in Picture.objects.all()}
    late = UploadForm(TYPED_BY_NORA | {"given_name": "Mallory"}, {"front": file(), "face": file()})
    assert late.is_valid()
    upload._submit(read_before, late, now=now)
    assert {row.id: bytes(row.sealed_jpeg) for row in Picture.objects.all()} == before
    assert IdentityVerification.objects.get().submissions == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_forms_sent_at_once_one_counts_with_its_own_pictures(holder, form, errand):
    statuses = together(lambda _number: send(copied(holder), form).status_code, 3)
    assert set(statuses) == {303}
    assert IdentityVerification.objects.get().submissions == 1
    assert {row.kind for row in Picture.objects.all()} == {"front", "face"}


def copied(browser):
    other = Client()
    other.cookies.update(browser.cookies)
    return other


def test_the_form_is_protected_against_other_sites(form, nora, sign_in, errand):
    strict = Client(enforce_csrf_checks=True)
    sign_in(nora, browser=strict)
    strict.cookies[django_settings.BROWSER_COOKIE_NAME] = SECRET
    assert send(strict, form).status_code == 403
    assert not Picture.objects.exists()


def test_the_form_is_not_there_for_others_and_other_providers(holder, form, bob, sign_in, settings):
    stranger = Client()
    sign_in(bob, browser=stranger)
    assert stranger.get(form).status_code == 404
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    assert holder.get(form).status_code == 404


def test_sending_again_after_the_operator_asked_replaces_the_pictures(holder, form, errand, olga):
    send(holder, form, back=file())
    verification = IdentityVerification.objects.get()
    operate(olga, verification, "claim")
    operate(olga, verification, "ask-again", why="blurry", reason="dark")
    holder.post(reverse("wallet_identity_start", args=[errand.id]))
    send(holder, form)
    assert {row.kind for row in Picture.objects.all()} == {"front", "face"}
    assert IdentityVerification.objects.get().submissions == 2


# --- The operator ------------------------------------------------------------------------------------------


def test_pictures_are_served_to_the_operator_who_claimed_and_each_look_is_written_down(
    holder, form, olga, otto, audrey
):
    send(holder, form)
    verification = IdentityVerification.objects.get()
    shown = Picture.objects.get(kind="front")
    url = reverse("admin:wallet_picture", args=[verification.pk, shown.pk])
    assert olga.get(url).status_code == 403
    operate(olga, verification, "claim")
    page = olga.get(address(verification)).content.decode()
    assert url in page
    assert "Nora" in page
    assert "Ireland (IE)" in page
    response = olga.get(url)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/jpeg"
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert otto.get(url).status_code == 403
    assert audrey.get(url).status_code == 404
    assert [action for action, _operator in seen()] == ["claim", "claims_seen", "picture_seen"]
    operate(olga, verification, "approve", **TYPED)
    assert olga.get(url).status_code == 403
    assert AuditLine.objects.filter(action="picture_seen").count() == 1


def test_the_form_of_an_approval_shows_the_pictures_and_no_other_form_does(holder, form, olga, otto):
    send(holder, form)
    verification = IdentityVerification.objects.get()
    url = reverse("admin:wallet_picture", args=[verification.pk, Picture.objects.get(kind="face").pk])
    operate(olga, verification, "claim")
    where = reverse("admin:wallet_identityverification_do", args=[verification.pk, "approve"])
    assert url in olga.get(where).content.decode()
    assert otto.get(where).status_code == 302
    assert url not in olga.get(where.replace("approve", "decline")).content.decode()


def test_an_approval_after_pictures_is_evidence_of_that(holder, form, olga):
    send(holder, form)
    verification = IdentityVerification.objects.get()
    operate(olga, verification, "claim")
    operate(olga, verification, "approve", **TYPED)
    evidence = Evidence.objects.get()
    assert (evidence.method, evidence.assurance_level) == ("remote_pictures", "remote")
    assert evidence.verified_by == "Example Ltd"


def test_pictures_are_erased_a_week_after_the_decision_and_not_before(holder, form, olga, now):
    send(holder, form)
    verification = IdentityVerification.objects.get()
    assert pictures.clear(now=now + timedelta(days=99), batch=10) == 0
    operate(olga, verification, "claim")
    operate(olga, verification, "decline", reason="no")
    assert pictures.clear(now=now + timedelta(days=6), batch=1) == 0
    assert pictures.clear(now=now + timedelta(days=8), batch=1) == 2
    assert not Picture.objects.exists()
    assert Wallet.objects.get(email=NORA)


def test_pictures_of_a_check_that_failed_and_nobody_goes_on_with_are_erased_as_well(holder, form, now):
    pictures.store(IdentityVerification.objects.get(), {"face": picture()}, now=now)
    IdentityVerification.objects.update(state="error", changed_at=now)
    assert pictures.clear(now=now + timedelta(days=6), batch=1) == 0
    assert pictures.clear(now=now + timedelta(days=8), batch=1) == 1
