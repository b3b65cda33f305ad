"""Masks values for the record: tokens and certificates are decoded, random values get names."""

import base64
import json
import re
import zlib
from binascii import Error
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jwe
from joserfc.jwk import ECKey

from tests.recorded import random_values
from tests.recorded.clock import clock

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CSRF = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9]{64}(?![A-Za-z0-9_-])")
_STATIC = re.compile(r"(/static/[\w./-]+?)\.[0-9a-f]{12}\.")  # production puts a hash into the name
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
_PEM_REQUEST = re.compile(
    r"-----BEGIN CERTIFICATE REQUEST-----.*?-----END CERTIFICATE REQUEST-----", re.DOTALL
)
_JOSE = re.compile(r"eyJ[\w-]*(?:\.[\w-]*){2,4}(?:~[\w.~-]*)?")
_WHOLE_JOSE = re.compile(rf"^{_JOSE.pattern}$")
_LIST = re.compile(r"(?<=/status-lists/)[1-9][0-9]{0,3}\b")  # the number of a list is random
_PLACE = re.compile(r"(?<![\w/.])[0-9]{1,3}/[0-9]{1,7}(?![\w/.])")  # list and index in the admin
_FINGERPRINT = re.compile(r"(?<![0-9A-F:])(?:[0-9A-F]{2}[ :]){15,}[0-9A-F]{2}(?![0-9A-F:])")
_CASE_NUMBER = re.compile(r"(?<![\w-])[2-9A-HJKMNP-TVWXYZ]{4}-[2-9A-HJKMNP-TVWXYZ]{4}(?![\w-])")
_RESET_CODE = re.compile(r"(?<=<pre>)[a-z2-7]{4}(?:-[a-z2-7]{4}){3}(?=</pre>)")
_DATABASE_SIZE = re.compile(r"(?<=\ndatabase_bytes )[0-9.e+]+")
_QR_CODE = re.compile(r'(?<=<path stroke="#000" d=")[^"]+')
_STARRED = re.compile(r"(?<![\w./+=-])[\w./+=-]{0,80}\*{4,}")  # what Django shows of a password
# Members of JSON with a time: one near the moment becomes the seconds from it.
_TIMES = ("iat", "nbf", "exp")
_YEAR = 366 * 24 * 60 * 60  # seconds
# Members of JSON whose value follows from something random, and what stands in its place.
_FOLLOWS = {"sd_hash": "‹digest›", "at_hash": "‹digest›", "...": "‹digest›", "idx": "‹index›"}

places: dict[str, str] = {}  # origins that differ between runs, with their replacements
certificates: dict[bytes, str] = {}  # DER of certificates that are recorded already, and their names
decryption_keys: list[dict[str, Any]] = []  # private JWKs for encrypted answers


class Masks:
    """The masks of one scenario. Ids are numbered in the order of their first use."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._tokens: dict[str, int] = {}

    def text(self, text: str) -> str:
        """Any text with all random values masked."""
        text = _PEM.sub(lambda found: self._pem(found[0]), text)
        text = _PEM_REQUEST.sub("‹certificate request›", text)
        text = _JOSE.sub(lambda found: json.dumps(self.token(found[0]), ensure_ascii=False), text)
        for origin, name in places.items():
            text = text.replace(origin, name)
        text = random_values.mask(text)
        text = _CSRF.sub("‹64 characters›", text)
        text = _STATIC.sub(r"\1.", text)
        text = _LIST.sub("‹number›", text)
        text = _CASE_NUMBER.sub("‹case number›", text)
        text = _DATABASE_SIZE.sub("‹size›", text)
        text = _QR_CODE.sub("‹QR code›", text)
        text = _RESET_CODE.sub("‹code›", text)
        text = _STARRED.sub("‹stars›", text)
        text = _PLACE.sub("‹list›/‹index›", text)
        text = _FINGERPRINT.sub("‹fingerprint›", text)
        return _UUID.sub(lambda found: self._id(found[0]), text)

    def json(self, value: Any, name: str = "") -> Any:
        """A JSON value with its texts masked and its tokens decoded."""
        if name in _FOLLOWS:
            return _FOLLOWS[name]
        if name in _TIMES and type(value) in (int, float) and _is_near(value):
            return f"‹now{value - int(clock.seconds()):+}›"
        if isinstance(value, dict):
            key = value.get("kty") in ("EC", "RSA")
            return {
                self.text(member): f"‹{len(said)} characters›"
                if key and member in ("x", "y", "n", "d")
                else self.json(said, member)
                # Disclosures are in the order of their digests, which is random.
                for member, said in (sorted(value.items()) if name == "claims" else value.items())
            }
        if isinstance(value, list):
            if name == "_sd":
                return f"‹{len(value)} digests›"
            if name == "x5c":
                return [self._encoded_certificate(each) for each in value]
            return [self.json(each) for each in value]
        if not isinstance(value, str):
            return value
        if name == "lst":
            return _status_list(value)
        return self.value(value)

    def _encoded_certificate(self, text: str) -> Any:
        try:
            return self.certificate(base64.b64decode(text))
        except ValueError:  # an example in a description
            return text

    def value(self, text: str) -> Any:
        """A text that may be a token, JSON with tokens in it, or anything else."""
        if _WHOLE_JOSE.match(text):
            if text in self._tokens:
                return f"‹token {self._tokens[text]} of this scenario again›"
            self._tokens[text] = len(self._tokens) + 1
            return self.token(text)
        if text.startswith("{") and ("eyJ" in text or '"kty"' in text):
            with suppress(ValueError):
                return {"as JSON": self.json(json.loads(text))}
        return self.text(text)

    def token(self, text: str) -> Any:
        """A JWS, an SD-JWT or a JWE as an object of its parts; other text unchanged."""
        jwt, *rest = text.split("~")
        parts = jwt.split(".")
        try:
            header = _decoded(parts[0])
            if len(parts) == 5:
                return self._encrypted(text, header)
            payload, signature = _decoded(parts[1]), f"‹{len(parts[2])} characters›"
            said = {"header": self.json(header), "payload": self.json(payload), "signature": signature}
            if not rest:
                return said
            disclosures = [self._disclosure(each) for each in rest[:-1]]
            return said | {
                "disclosures": disclosures,
                "key binding": self.token(rest[-1]) if rest[-1] else "",
            }
        except (ValueError, Error, IndexError, AttributeError):
            return f"‹no token: {random_values.mask(text)}›"

    def _encrypted(self, text: str, header: dict[str, Any]) -> Any:
        for key in decryption_keys:
            with suppress(Exception):
                opened = jwe.decrypt_compact(text, ECKey.import_key(key))
                return {
                    "header": self.json(header),
                    "decrypted": self.json(json.loads(opened.plaintext or b"")),
                }
        return {"header": self.json(header), "encrypted": "‹not to us›"}

    def _disclosure(self, encoded: str) -> Any:
        salt, *said = _decoded(encoded)
        return [f"‹{len(salt)} characters›", *(self.json(each) for each in said)]

    def certificate(self, der: bytes) -> str:
        """The content of a certificate without key, number and signature; or its name."""
        if der in certificates:
            return certificates[der]
        read = x509.load_der_x509_certificate(der)
        names = [f"{each.oid._name}{' (critical)' if each.critical else ''}" for each in read.extensions]
        times = (
            f"from {read.not_valid_before_utc:%Y-%m-%d %H:%M} to {read.not_valid_after_utc:%Y-%m-%d %H:%M}"
        )
        who = f"{read.subject.rfc4514_string()} by {read.issuer.rfc4514_string()}"
        return f"‹certificate of {self.text(who)} {times} with {', '.join(names)}›"

    def _pem(self, text: str) -> str:
        try:
            der = x509.load_pem_x509_certificate(text.encode()).public_bytes(Encoding.DER)
        except ValueError:  # on a page with other characters between its lines
            return "‹certificate›"
        return f"{self.certificate(der)}\n"

    def pairs(self, text: str) -> list[tuple[str, Any]] | None:
        """A query, fragment or form as masked pairs; None for other text."""
        try:
            found = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
        except ValueError:
            return None
        return [(self.text(name), self.value(value)) for name, value in found]

    def _id(self, found: str) -> str:
        return self._ids.setdefault(found, f"‹id {len(self._ids) + 1}›")


def _decoded(segment: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))


def _is_near(seconds: float) -> bool:
    return clock.seconds() - _YEAR < seconds < clock.seconds() + _YEAR  # of a huge one no difference exists


def _status_list(text: str) -> str:
    packed = zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return f"‹{len(packed)} bytes once inflated›"  # the indexes are random
