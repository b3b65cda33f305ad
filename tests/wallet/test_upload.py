"""The check by operators from afar: the form, what is stored, who sees it, and when it is erased."""

import re
from datetime import timedelta
from io import BytesIO
from threading import Event, Thread

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse
from django.utils.translation import override
from PIL import Image

from infra.models import AuditLine
from tests.day_inputs import typed_day
from tests.people import NORA
from tests.wallet.browser_redirect_tasks import SECRET
from tests.wallet.conftest import together
from tests.wallet.looks_on_record import seen
from tests.wallet.operators import address, operate
from tests.wallet.pictures import GREY, costly, decoder, deep, file, picture
from tests.wallet.typed_identities import TYPED, TYPED_BY_NORA
from wallet.credential.countries import countries
from wallet.identity import picture_encoding as picture_files
from wallet.identity import pictures, review
from wallet.identity.forms import UploadForm
from wallet.identity.views import upload
from wallet.identity.views.upload import UPLOADS
from wallet.models import IdentityEvidence, IdentityVerification, Picture, Wallet

pytestmark = pytest.mark.slow  # each picture is read by a process of its own


@pytest.fixture(autouse=True)
def from_afar(settings):
    settings.IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}


@pytest.fixture
def holder(client, nora, sign_in):
    sign_in(nora)
    return client


@pytest.fixture
def form(holder, redirect_task):
    """The address of the form, of a check that has begun."""
    response = holder.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    assert response.url == reverse("wallet_identity_upload", args=[redirect_task.id])
    return response.url


def test_the_camera_of_a_phone_opens_and_each_picture_has_three_lines_on_a_good_one(holder, form):
    page = holder.get(form).content.decode()
    cameras = dict(re.findall(r'<input type="file" name="(\w+)"[^>]* capture="(\w+)"', page))
    assert cameras == {"front": "environment", "back": "environment", "face": "user"}
    checks = re.findall(r'<div class="picture-check">.*?</div>', page, re.DOTALL)
    assert [check.count("<li>") for check in checks] == [3, 3, 3]


def send(holder, form, **changes):
    fields = TYPED_BY_NORA | {"front": file(), "face": file()} | changes
    return holder.post(form, {name: value for name, value in fields.items() if value is not None})


def test_the_form_says_how_to_take_good_pictures_and_has_one_exit(holder, form):
    text = holder.get(form).content.decode()

    assert "All four corners are in the picture." in text
    assert text.count("Cancel and return to Acme Bank") == 1
    assert "Stop this check" not in text


def test_what_was_sent_is_sealed_and_waits_for_an_operator(holder, form, redirect_task):
    response = send(holder, form, front=file(picture(comment=b"hidden words")))
    assert (response.status_code, response.url) == (303, reverse("wallet_identity", args=[redirect_task.id]))
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
    text = holder.get(response.url).content.decode()
    assert "<h1>We have your pictures</h1>" in text
    assert "closer look" not in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"front": None}, "Add a picture of the front"),
        ({"face": None}, "Add a picture of your face"),
        ({"front": file(b"<svg/>")}, "not a picture that can be used"),
        ({"front": file(b"")}, "empty"),
        (typed_day("birth_date", "1999-02-31"), "Enter a date that exists"),
        ({"birth_date_year": "99"}, "Enter a date that exists"),
        ({"birth_date_month": ""}, "Enter a date that exists"),
        (dict.fromkeys(typed_day("birth_date", "1999-12-31")), "Enter your date of birth"),
        (typed_day("birth_date", "1790-01-01"), "must be as in your document"),
        ({"given_name": "", "family_name": ""}, "must be as in your document"),
        ({"nationality": "99"}, "not one of the available choices"),
        ({"nationality": "EU"}, "not one of the available choices"),
        ({"document_kind": "idcard"}, "Add a picture of the back"),
        ({"document_kind": "idcard", "back": file(b"<svg/>")}, "not a picture that can be used"),
        ({"document_kind": "library_card"}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_used_is_said_beside_the_form_and_only_good_pictures_are_kept(
    holder, form, changes, words
):
    response = send(holder, form, **changes)
    assert response.status_code == 422
    assert words in response.content.decode()
    wrong = {kind for kind in ("front", "face") if kind in changes}
    assert {row.kind for row in Picture.objects.all()} == {"front", "face"} - wrong
    assert IdentityVerification.objects.get().state == "started"


@pytest.mark.parametrize(
    ("code", "accepted", "name"), [("IE", "en", "Ireland"), ("ES", "es", "España"), ("AX", "en", "Åland")]
)
def test_a_nationality_is_chosen_by_its_name_in_the_language_of_the_page(holder, form, code, accepted, name):
    text = holder.get(form, headers={"accept-language": accepted}).content.decode()
    assert f'<option value="{code}">{name}' in text
    send(holder, form, nationality=code, document_kind="idcard", back=file())
    identity, evidence = review.claims(IdentityVerification.objects.get())
    assert identity.nationalities == (code,)
    assert evidence.document_kind == "idcard"


def test_countries_are_in_the_order_in_which_people_look_for_them():
    with override("es"):
        names = [name for _code, name in countries()]
    assert names[:3] == ["Afganistán", "Albania", "Alemania"]
    assert names.index("Zambia") - names.index("Yibuti") == 1
    assert names.index("México") < names.index("Mongolia")


def test_after_an_error_only_what_was_wrong_is_sent_again(holder, form):
    good = picture(comment=b"the good one")
    response = send(holder, form, front=file(good), face=file(b"<svg/>"), birth_date_month="2")
    (front,) = Picture.objects.all()
    text = response.content.decode()
    assert text.count("We have this picture.") == 1
    assert b"JFIF" not in bytes(front.sealed_jpeg)
    again = holder.get(form).content.decode()  # for example in another language
    assert 'value="Nora"' in again
    assert '<option value="IE" selected>' in again
    assert 'value="1999"' not in again, "the day was wrong"
    assert again.count("We have this picture.") == 1

    response = send(holder, form, front=None)

    assert response.status_code == 303
    assert IdentityVerification.objects.get().state == "review"
    assert set(Picture.objects.values_list("kind", flat=True)) == {"front", "face"}
    assert Picture.objects.get(kind="front") == front
    assert b"Nora" not in bytes(IdentityVerification.objects.get().sealed_claims)


def test_a_picture_that_is_sent_again_replaces_the_one_that_was_kept(holder, form):
    send(holder, form, given_name="", family_name="")
    first = Picture.objects.get(kind="front")
    send(holder, form, face=None)
    assert Picture.objects.filter(kind="front").exclude(id=first.id).count() == 1
    assert Picture.objects.count() == 2


def test_no_page_and_no_cookie_has_a_picture_that_was_kept(holder, form):
    response = send(holder, form, given_name="", family_name="")
    assert "data:" not in response.content.decode()
    assert sum(len(cookie.value) for cookie in holder.cookies.values()) < 500


def test_pictures_of_an_earlier_submission_do_not_count_as_sent(holder, form, redirect_task, olga):
    send(holder, form)
    verification = IdentityVerification.objects.get()
    operate(olga, verification, "claim")
    operate(olga, verification, "ask-again", why="blurry", reason="dark")
    holder.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    assert "We have this picture" not in holder.get(form).content.decode()
    assert send(holder, form, front=None, face=None).status_code == 422
    assert not Picture.objects.exists()


def test_what_was_kept_but_never_submitted_is_erased_once_the_check_ends(holder, form, redirect_task, now):
    send(holder, form, given_name="", family_name="")
    assert pictures.clear(now=now, batch=10) == 0
    assert IdentityVerification.objects.get().sealed_memory is not None
    holder.post(reverse("wallet_identity_cancel", args=[redirect_task.id]))
    assert IdentityVerification.objects.get().sealed_memory is None
    assert pictures.clear(now=now, batch=10) == 2
    assert not Picture.objects.exists()


def test_no_more_than_the_form_takes_is_kept_of_what_was_typed(holder, form):
    send(holder, form, given_name="N" * 100_000, family_name=" " * 100_000 + "New", document_kind="x")
    assert len(IdentityVerification.objects.get().sealed_memory) < 1000
    assert 'value="New"' in holder.get(form).content.decode()


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


@pytest.mark.usefixtures("windows_just_begun")
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
    sent = {"front": file(), "face": file()}
    late = UploadForm(TYPED_BY_NORA | {"given_name": "Mallory"}, sent, kept=())
    assert late.is_valid()
    assert upload._store(read_before, late, now=now)
    assert {row.id: bytes(row.sealed_jpeg) for row in Picture.objects.all()} == before
    assert IdentityVerification.objects.get().submissions == 1


def test_while_another_thread_decodes_the_form_comes_back_at_once_with_what_was_typed(holder, form):
    reserved, ended = Event(), Event()

    def decode():
        with picture_files.reserved():
            reserved.set()
            ended.wait(60)

    other = Thread(target=decode)
    other.start()
    assert reserved.wait(60)
    response = send(holder, form, document_kind="idcard")  # without its back, which is not what matters now
    ended.set()
    other.join()
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    text = response.content.decode()
    assert text.count("We cannot read your pictures at the moment") == 1
    assert "Add a picture" not in text
    assert 'value="1999"' in text
    assert not Picture.objects.exists()
    assert send(holder, form).status_code == 303


def test_a_picture_that_costs_too_much_is_not_stored(holder, form):
    response = send(holder, form, front=file(costly()))
    assert response.status_code == 422
    assert "takes too long to read" in response.content.decode()
    assert [row.kind for row in Picture.objects.all()] == ["face"]


def test_a_person_whose_picture_would_be_an_empty_page_does_not_read_that_we_have_it(holder, form):
    response = send(holder, form, front=file(deep(GREY, (0,), (255,))), face=file(picture()[:-9]))
    assert response.status_code == 422
    text = response.content.decode()
    assert "An operator would see an empty page" in text
    assert "This picture is not complete" in text
    assert not Picture.objects.exists()


def test_a_picture_with_samples_of_sixteen_bits_is_stored_as_it_looks(holder, form):
    assert send(holder, form, front=file(deep(GREY, (0x2000,), (0xE000,)))).status_code == 303
    stored = Image.open(BytesIO(pictures.opened(Picture.objects.get(kind="front"))))
    assert stored.getpixel((20, 20)) == pytest.approx((0x20,) * 3, abs=3)


def test_a_machine_that_is_too_busy_asks_for_the_form_again_and_refuses_no_picture(holder, form, monkeypatch):
    decoder(monkeypatch, "import signal; signal.pause()")
    monkeypatch.setattr(picture_files, "DONE_WITHIN", 0.1)
    response = send(holder, form)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert response.content.decode().count("Please send the form again in ten seconds") == 1
    assert not Picture.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_forms_sent_at_once_one_counts_with_its_own_pictures(holder, form, redirect_task):
    statuses = together(lambda _number: send(copied(holder), form).status_code, 3)
    assert {303} <= set(statuses) <= {303, 503}
    assert IdentityVerification.objects.get().submissions == 1
    assert {row.kind for row in Picture.objects.all()} == {"front", "face"}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_wrong_forms_sent_at_once_the_pictures_are_kept_once(holder, form, redirect_task):
    statuses = together(
        lambda _number: send(copied(holder), form, given_name="", family_name="").status_code, 3
    )
    assert {422} <= set(statuses) <= {422, 503}
    assert sorted(row.kind for row in Picture.objects.all()) == ["face", "front"]


def copied(browser):
    other = Client()
    other.cookies.update(browser.cookies)
    return other


def test_the_form_is_protected_against_other_sites(form, nora, sign_in, redirect_task):
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


def test_sending_again_after_the_operator_asked_replaces_the_pictures(holder, form, redirect_task, olga):
    send(holder, form, back=file())
    verification = IdentityVerification.objects.get()
    operate(olga, verification, "claim")
    operate(olga, verification, "ask-again", why="blurry", reason="dark")
    holder.post(reverse("wallet_identity_start", args=[redirect_task.id]))
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
    evidence = IdentityEvidence.objects.get()
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
