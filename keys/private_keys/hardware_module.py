"""Private keys in a hardware module (PKCS#11 2.40). Only this module imports `pkcs11`, which is optional.

Each process has one session behind one lock, opened when it is first needed: sessions do not survive a fork,
and several sessions in several threads crash some modules.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar
from uuid import UUID

import pkcs11
import structlog
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.utils.translation import gettext as _
from pkcs11 import Attribute, KeyType, Mechanism, MechanismFlag, ObjectClass

from keys.jwk import PublicKey, public_der
from keys.private_keys.signer import RSA_BITS, SignerUnavailableError

PAUSE = 2.0  # seconds until an unavailable module is tried again; until then every call fails at once
PATIENCE = 10.0  # seconds to wait for the calls of other threads
PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4)  # seconds before each try to open a session
_P256 = bytes.fromhex("06082a8648ce3d030107")  # the curve's object identifier, in DER
_STAYS_INSIDE = {Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False}
_PIN_REFUSED = (
    pkcs11.PinIncorrect,
    pkcs11.PinInvalid,
    pkcs11.PinLenRange,
    pkcs11.PinLocked,
    pkcs11.PinExpired,
)
Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class HardwareModule:
    """The token of a PKCS#11 module: makes keys, signs with them, destroys them. Safe for threads and forks.

    Every method raises SignerUnavailableError, after one more try with a new session where that may help.
    """

    def __init__(self, path: str, token: str, *, pin: Callable[[], str]) -> None:
        """Takes the path of the module's library, the label of the token, and what gives the pin."""
        self._path, self._token, self._pin = path, token, pin
        self._refused_pin: str | None = None
        self._why, self._rests_until = "", 0.0  # on the monotonic clock, as the next
        self._opened_at = 0.0
        self._lock = Lock()
        self._forget()
        # No thread is in a call to the module while this process forks, so the child finds no call half done.
        os.register_at_fork(
            before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._begin_as_child
        )

    def _begin_as_child(self) -> None:
        self._forget()
        self._lock.release()

    def _forget(self) -> None:
        self._session: pkcs11.Session | None = None
        self._keys: dict[UUID, Any] = {}  # handles in this session

    def generate(self, kid: UUID, *, algorithm: str = "ES256") -> bytes:
        """Makes a signing key pair that cannot be extracted; gives its SubjectPublicKeyInfo.

        algorithm: ES256, or RS256 for RSA.
        """

        def work(session: pkcs11.Session) -> bytes:
            facts: dict[str, Any] = {
                "id": kid.bytes,
                "label": f"signing key {kid}",
                "store": True,
                "capabilities": MechanismFlag.SIGN | MechanismFlag.VERIFY,
                "private_template": _STAYS_INSIDE,
            }
            if algorithm == "RS256":
                mechanism = Mechanism.RSA_PKCS_KEY_PAIR_GEN
                public, private = session.generate_keypair(
                    KeyType.RSA, RSA_BITS, mechanism=mechanism, **facts
                )
            else:
                curve = session.create_domain_parameters(KeyType.EC, {Attribute.EC_PARAMS: _P256}, local=True)
                public, private = curve.generate_keypair(mechanism=Mechanism.EC_KEY_PAIR_GEN, **facts)
            if any(private[attribute] is not wanted for attribute, wanted in _STAYS_INSIDE.items()):
                private.destroy()
                public.destroy()
                raise SignerUnavailableError(_("The hardware module makes keys that may leave it."))
            if algorithm == "RS256":
                n, e = (
                    int.from_bytes(public[name]) for name in (Attribute.MODULUS, Attribute.PUBLIC_EXPONENT)
                )
                return public_der(rsa.RSAPublicNumbers(e, n).public_key())
            point = public[Attribute.EC_POINT][-65:]  # some modules wrap it in an OCTET STRING
            return public_der(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point))

        return self._run(work, fresh=True)  # no second try, which could make a second pair

    def sign(self, kid: UUID, digest: bytes) -> bytes:
        """The 64 bytes r‖s over a SHA-256 digest."""
        signature: bytes = self._run(
            lambda session: self._key(session, kid).sign(digest, mechanism=Mechanism.ECDSA),
            fresh=kid not in self._keys,  # a key is not searched in a session that may be lost
        )
        return signature

    def sign_with_rsa(self, kid: UUID, message: bytes) -> bytes:
        """The RS256 signature over a message."""
        signature: bytes = self._run(
            lambda session: self._key(session, kid).sign(message, mechanism=Mechanism.SHA256_RSA_PKCS),
            fresh=kid not in self._keys,
        )
        return signature

    def signer(self, kid: UUID, public_key: PublicKey) -> "HardwareSigner":
        """The signer of this key; does not call the module yet."""
        return HardwareSigner(self, kid, public_key)

    def destroy(self, kid: UUID) -> bool:
        """Destroys the key pair; gives whether there was one."""

        def work(session: pkcs11.Session) -> bool:
            handles = [
                handle
                for kind in (ObjectClass.PRIVATE_KEY, ObjectClass.PUBLIC_KEY)
                for handle in session.get_objects({Attribute.CLASS: kind, Attribute.ID: kid.bytes})
            ]
            for handle in handles:
                handle.destroy()
            self._keys.pop(kid, None)
            return bool(handles)

        return self._run(work, fresh=True)  # an old session may not see all objects

    def _key(self, session: pkcs11.Session, kid: UUID) -> Any:
        if kid not in self._keys:
            self._keys[kid] = session.get_key(object_class=ObjectClass.PRIVATE_KEY, id=kid.bytes)
        return self._keys[kid]

    def _run(self, work: Callable[[pkcs11.Session], Result], *, fresh: bool = False) -> Result:
        """Runs `work` with this process's session, and once more with a new session if the old one is lost.

        With `fresh`, `work` runs only once, with a session that is not older than PAUSE.
        """
        if not self._lock.acquire(timeout=PATIENCE):
            raise SignerUnavailableError(_("The hardware module takes too long to answer."))
        try:
            if fresh and monotonic() >= self._opened_at + PAUSE:
                self._session = None
            if self._session is not None and not fresh:
                try:
                    return work(self._session)
                except pkcs11.PKCS11Error as error:
                    log.info("hardware_module_session_lost", error=type(error).__name__)
                    self._session = None
            return work(self._session or self._open())
        except pkcs11.NoSuchKey as error:
            raise SignerUnavailableError(_("The hardware module does not hold the key.")) from error
        except pkcs11.PKCS11Error as error:
            self._session = None
            raise SignerUnavailableError(
                _("The hardware module fails (%(error)s).") % {"error": type(error).__name__}
            ) from error
        finally:
            self._lock.release()

    def _open(self) -> pkcs11.Session:
        """Opens a new session and forgets the old one; after a failure it refuses for PAUSE seconds."""
        self._forget()
        if monotonic() < self._rests_until:
            raise SignerUnavailableError(self._why)
        try:
            self._session = self._log_in()
        except SignerUnavailableError as error:
            self._why, self._rests_until = str(error), monotonic() + PAUSE
            log.error("hardware_module_unavailable", why=self._why)
            raise
        self._opened_at = monotonic()
        log.info("hardware_module_opened", token=self._token)
        return self._session

    def _log_in(self) -> pkcs11.Session:
        """A new session. Tries several times: some modules miss a token while another process opens it."""
        pin = self._pin()
        if pin == self._refused_pin:
            raise SignerUnavailableError(
                _(
                    "The hardware module has refused the pin; it is not tried again, because tokens lock. "
                    "Correct PKCS11_PIN_FILE, or PKCS11_PIN and restart."
                )
            )
        for pause in PAUSES:
            sleep(pause)
            try:
                return self._token_now().open(rw=True, user_pin=pin)
            except _PIN_REFUSED as error:
                self._refused_pin = pin
                raise self._unavailable(error) from error
            except pkcs11.PKCS11Error as error:
                failure = error
        raise self._unavailable(failure) from failure

    def _token_now(self) -> pkcs11.Token:
        """The token. Initialises the module anew, which ends a lost session or one of the parent process."""
        library = pkcs11.lib(self._path)
        with suppress(pkcs11.PKCS11Error):  # after a fork some modules report that they are not initialised
            library.finalize()
        library.initialize()
        return library.get_token(token_label=self._token)

    def _unavailable(self, error: pkcs11.PKCS11Error) -> SignerUnavailableError:
        if isinstance(error, pkcs11.NoSuchToken):
            why = _("The PKCS#11 module %(path)s has no token labelled “%(token)s”.")
        elif isinstance(error, pkcs11.MultipleTokensReturned):
            why = _("The PKCS#11 module %(path)s has several tokens labelled “%(token)s”.")
        elif isinstance(error, _PIN_REFUSED):
            why = _("The hardware module refuses the pin of the token “%(token)s” (%(error)s).")
        else:
            why = _("The PKCS#11 module %(path)s cannot be opened (%(error)s).")
        named = {"path": self._path, "token": self._token, "error": str(error) or type(error).__name__}
        return SignerUnavailableError(why % named)

    def __repr__(self) -> str:
        return f"<HardwareModule {self._token}>"


class HardwareSigner:
    """Signs with one private key of a hardware module."""

    __slots__ = ("_kid", "_module", "public_key")

    def __init__(self, module: HardwareModule, kid: UUID, public_key: PublicKey) -> None:
        self._module, self._kid, self.public_key = module, kid, public_key

    def sign(self, message: bytes) -> bytes:
        if isinstance(self.public_key, rsa.RSAPublicKey):
            return self._module.sign_with_rsa(self._kid, message)
        return self._module.sign(self._kid, sha256(message).digest())

    def __repr__(self) -> str:
        return f"<HardwareSigner {self._kid}>"
