"""Whether the same person has another wallet: keyed digests of a document, of a provider's subject, and of
name and birth date.

A digest without a key could be searched for in minutes. A match is for an operator to look at: twins and
people with common names match as well. Nothing is merged, and the applicant is not told.
"""

import hashlib
import hmac
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from infra.typed_digits import plain
from wallet.credential.birth_dates import BirthDate, compatible
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence
from wallet.models import Credential, IdentityMark, Wallet

_PURPOSE = b"wallet.identity.duplicates"
# Letters that Unicode does not take apart into a base letter and a mark.
_LETTERS = str.maketrans({"ł": "l", "đ": "d", "ð": "d", "ø": "o", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
# Machine-readable zones write these letters so (ICAO Doc 9303 part 3 §6).
_ICAO = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "ñ": "n", "þ": "th"})
_MARKS_DROPPED = ("LATIN", "GREEK", "CYRILLIC")  # in other scripts the marks are vowels


def remember(credential: Credential, identity: Identity, evidence: Evidence) -> None:
    """Replace the marks of this credential. Call it in the transaction that issues the credential."""
    IdentityMark.objects.filter(credential=credential).delete()
    key = _keys(tuple(settings.KEY_SEALING_KEYS))[0]
    digests = {_digest(key, text) for text in _texts(identity, evidence)}
    IdentityMark.objects.bulk_create(
        IdentityMark(credential=credential, digest=digest) for digest in sorted(digests)
    )


def others(wallet: Wallet, identity: Identity, evidence: Evidence | None) -> list[Wallet]:
    """Other wallets that hold an identity with the same document, or the same name and birth date.

    A birth date of which the day, or day and month, are unknown is the same as any that it may be.
    """
    return _with_marks(wallet, _texts(identity, evidence, births=compatible(identity.birth_date)))


def with_the_same_proof(wallet: Wallet, evidence: Evidence) -> list[Wallet]:
    """Other wallets whose identity was verified with the same document, or by the same subject of a provider.

    Unlike `others`, a name and birth date are not enough. A number without a kind and country is none.
    """
    return _with_marks(wallet, _proofs(evidence))


def _with_marks(wallet: Wallet, texts: Iterable[str]) -> list[Wallet]:
    keys = _keys(tuple(settings.KEY_SEALING_KEYS))
    digests = {_digest(key, text) for text in texts for key in keys}
    wallets = Wallet.objects.filter(credential__marks__digest__in=digests).exclude(id=wallet.id)
    return list(wallets.distinct().order_by("created_at")[:20])


def folded(name: str) -> str:
    """The letters and digits of a name, without case, spaces, hyphens, and accents of alphabetic scripts."""
    kept, base = [], ""
    caseless = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    for character in caseless.translate(_LETTERS):
        if unicodedata.category(character)[0] == "M":
            script = unicodedata.name(base, "") if base else ""  # a text may begin with a mark
            if not script.startswith(_MARKS_DROPPED):
                kept.append(character)
        else:
            base = character
            if character.isalnum():
                kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _texts(
    identity: Identity, evidence: Evidence | None, births: Iterable[BirthDate] | None = None
) -> Iterable[str]:
    """What is compared: any of one person's with any of another's.

    births: the date of birth in each form that counts as the same; without it as it is.
    """
    for born, names in product(births or [identity.birth_date], set(_spellings(identity))):
        yield f"name:{born.isoformat()}:{''.join(names)}"
        yield f"names:{born.isoformat()}:{''.join(sorted(names))}"  # given and family name may be swapped
    if evidence is not None:
        yield from _documents(evidence)
        if evidence.subject:
            yield f"subject:{evidence.subject}"


def _proofs(evidence: Evidence) -> Iterable[str]:
    """The texts that stand for one person only."""
    if evidence.document_kind and evidence.issuing_country:
        yield from _documents(evidence)
    if evidence.subject:
        yield f"subject:{evidence.subject}"


def _documents(evidence: Evidence) -> Iterable[str]:
    """The document by its number, if it has one, whatever script its digits were typed in.

    Also by the digits as they are, because the marks of earlier releases were made of these.
    """
    number = evidence.document_number
    for reading in {folded(plain(number)), folded(number)} - {""}:
        yield f"document:{evidence.document_kind}:{evidence.issuing_country}:{reading}"


def _spellings(identity: Identity) -> Iterable[tuple[str, str]]:
    names = identity.given_name, identity.family_name
    composed = [unicodedata.normalize("NFC", name.casefold()) for name in names]
    yield folded(names[0]), folded(names[1])
    yield folded(composed[0].translate(_ICAO)), folded(composed[1].translate(_ICAO))


def _digest(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@lru_cache(maxsize=8)
def _keys(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    """A key of its own from each of KEY_SEALING_KEYS (HKDF-SHA256, RFC 5869); the first makes the marks."""
    return tuple(HKDF(SHA256(), 32, None, _PURPOSE).derive(secret.encode()) for secret in secrets)
