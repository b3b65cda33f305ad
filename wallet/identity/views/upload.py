"""The page on which a person types their details and uploads pictures, for operators to look at."""

from contextlib import suppress
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.datastructures import MultiValueDict
from django.views.decorators.http import require_http_methods

from infra.again import SHORTLY, again_after
from infra.limits import Limit, LimitReachedError
from infra.waiting import NoThreadFreeError
from wallet.identity import picture_encoding as picture_files
from wallet.identity import pictures, progress, state_machine
from wallet.identity.arriving_bodies import BodyNotWholeError, arriving, may_leave_the_body_unread
from wallet.identity.forms import UploadForm
from wallet.identity.views import page
from wallet.models import IdentityVerification, RedirectTask, Wallet
from wallet.providers.from_afar import FromAfar
from wallet.sign_in.decorators import for_holder_who_uploads, refuse_form_of_another, see_other

State = IdentityVerification.State
MOST = 3 * picture_files.LONGEST  # bytes of all files of a form together
UPLOADS = Limit.from_settings("identity-uploads")  # per wallet; pictures cost time


Files = MultiValueDict[str, UploadedFile]


@may_leave_the_body_unread
@require_http_methods(["GET", "HEAD", "POST"])
@for_holder_who_uploads
def upload(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """Reads files into memory only, stops at MOST bytes, and reads nothing of what strangers send."""
    verification, _provider = page.latest_with(wallet, FromAfar)
    if verification.state != State.STARTED:
        return see_other("wallet_identity", redirect_task.id)
    files: Files = MultiValueDict()
    if request.method == "POST":
        try:
            UPLOADS.take(str(wallet.id), now=now)
            files = _received(request, wallet)
        except LimitReachedError as limit:
            return page.paused(request, redirect_task, wallet, limit, now)
        except NoThreadFreeError:
            busy = page.show(
                request,
                "identity_upload_busy",
                redirect_task,
                wallet,
                redirect_task_id=redirect_task.id,
                status=503,
            )
            return again_after(SHORTLY, busy)
        except BodyNotWholeError:
            name = "identity_upload_too_slow"
            return page.show(
                request, name, redirect_task, wallet, redirect_task_id=redirect_task.id, status=408
            )
        except FilesTooLongError:
            name = "identity_upload_too_long"
            return page.show(
                request, name, redirect_task, wallet, redirect_task_id=redirect_task.id, status=413
            )
    refused = refuse_form_of_another(request, wallet)
    return refused or _submitted(request, files, verification, redirect_task, wallet, now)


def _received(request: HttpRequest, wallet: Wallet) -> Files:
    """Reads the form: its fields become `request.POST`, and the files are given back.

    Raises `NoThreadFreeError`, `BodyNotWholeError` or `FilesTooLongError`.
    """
    if request.content_type != "multipart/form-data":  # of no browser that shows our form
        request.POST = QueryDict()
        return MultiValueDict()
    request.upload_handlers = [handler := InMemory(request, most=MOST)]
    with arriving(request, wallet.id, seconds=settings.UPLOAD_SECONDS) as body:
        # The types ask for more than Django: it only calls `read`, and its own parser gives such a `POST`.
        fields, files = request.parse_file_upload(request.META, cast(Any, body))
        request.POST = cast(Any, fields)
    if handler.too_long:
        raise FilesTooLongError
    return files


def _submitted(
    request: HttpRequest,
    files: Files,
    verification: IdentityVerification,
    redirect_task: RedirectTask,
    wallet: Wallet,
    now: datetime,
) -> HttpResponse:
    draft = progress.check_of(verification).memory.get("draft", {})
    kept = pictures.kept(verification)
    form = UploadForm(request.POST or None, files or None, initial=draft, kept=kept)
    if form.is_bound and _store(verification, form, now=now):
        return see_other("wallet_identity", redirect_task.id)
    status = 503 if form.busy else 422 if form.is_bound else 200
    response = page.show(request, "identity_upload", redirect_task, wallet, form=form, status=status)
    return again_after(SHORTLY, response) if form.busy else response


def _store(verification: IdentityVerification, form: UploadForm, *, now: datetime) -> bool:
    """Store the form's data, and submit the attempt if it is complete. Returns whether the form is finished.

    If the attempt has moved on meanwhile, nothing is kept, and its page says so. Otherwise a form that was
    sent slowly would replace the pictures while an operator looks at them.
    """
    complete, begun = form.is_valid(), verification.changed_at
    with transaction.atomic():
        state_machine.lock(verification)
        if verification.state != State.STARTED or verification.changed_at != begun:
            return True
        pictures.store(verification, form.jpegs, now=now)
        form.keeps(form.jpegs)
        progress.remember(verification, form.typed if complete else {"draft": form.draft})
        if complete:
            with suppress(LimitReachedError):
                state_machine.submit(verification, now=now)
    if complete:
        progress.refresh(verification, now=now)
    return complete


class FilesTooLongError(ValueError):
    """The files of a form have more than MOST bytes together."""


class InMemory(FileUploadHandler):
    """Takes files into memory; stops the upload at `most` bytes of all files together."""

    def __init__(self, request: HttpRequest, *, most: int) -> None:
        super().__init__(request)
        self._most, self._received = most, 0
        self._parts: list[bytes] = []
        self.too_long = False

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._parts = []

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._received += len(raw_data)
        if self._received > self._most:
            self.too_long = True
            # The rest is read and dropped: a browser that is cut off while it sends does not show the page.
            raise StopUpload(connection_reset=False)
        self._parts.append(raw_data)

    def file_complete(self, file_size: int) -> SimpleUploadedFile:
        return SimpleUploadedFile(self.file_name or "file", b"".join(self._parts), self.content_type or "")
