"""Uploaded files in memory only: Django's own handlers write files above 2.5 MB to a disk, unsealed."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest


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
            raise StopUpload(connection_reset=True)
        self._parts.append(raw_data)

    def file_complete(self, file_size: int) -> SimpleUploadedFile:
        return SimpleUploadedFile(self.file_name or "file", b"".join(self._parts), self.content_type or "")
