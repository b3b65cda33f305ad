"""Django's form tokens (`django.middleware.csrf`), drawn and masked in a few steps.

Django draws each of the 32 characters of a secret by a system call of its own, and masks each by six calls:
a third of a flow's CPU time. What is drawn and masked here is the same for Django's middleware, and the other
way round. If a version of Django has these functions under other names, its own are used.
"""

import secrets

from django.middleware import csrf

_CHARACTERS = csrf.CSRF_ALLOWED_CHARS
_PLACES = {character: place for place, character in enumerate(_CHARACTERS)}
_NUMBER = len(_CHARACTERS)


def draw() -> str:
    """A new secret, or mask: 128 bits."""
    return secrets.token_hex(csrf.CSRF_SECRET_LENGTH // 2)


def mask(secret: str) -> str:
    """A token for a form: a new mask, and the secret under it."""
    drawn = draw()
    pairs = zip(secret, drawn, strict=True)
    return drawn + "".join([_CHARACTERS[(_PLACES[x] + _PLACES[y]) % _NUMBER] for x, y in pairs])


def unmask(token: str) -> str:
    """The secret of a token, whose length and characters are checked."""
    drawn, masked = token[: csrf.CSRF_SECRET_LENGTH], token[csrf.CSRF_SECRET_LENGTH :]
    return "".join([_CHARACTERS[_PLACES[x] - _PLACES[y]] for x, y in zip(masked, drawn, strict=True)])


def install() -> None:
    """Lets Django's middleware, and what writes tokens into forms, use these."""
    vars(csrf).update(_get_new_csrf_string=draw, _mask_cipher_secret=mask, _unmask_cipher_token=unmask)
