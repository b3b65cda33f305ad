"""The optional claims that a holder switched on, read from the form of the consent page. Pure."""

from collections.abc import Iterable, Sequence

from django.core.exceptions import BadRequest

Path = tuple[str, ...]

FIELD = "optional"  # the name of every checkbox; its value is the name of a claim: its path with dots


def name_of(path: Sequence[str]) -> str:
    """The value of the checkbox of a claim."""
    return ".".join(path)


def switched_on(names: Sequence[str], offered: Iterable[Path]) -> tuple[Path, ...]:
    """The claims that `names` switch on, in the order in which they were offered; raises BadRequest.

    names: the values of FIELD in the form.
    """
    paths = {name_of(path): path for path in offered}
    if len(names) > len(paths):
        raise BadRequest("more claims are switched on than were offered as optional")
    chosen = set(names)
    if not paths.keys() >= chosen:
        raise BadRequest("a claim is switched on that was not offered as optional")
    if len(chosen) != len(names):
        raise BadRequest("a claim is switched on twice")
    return tuple(path for name, path in paths.items() if name in chosen)
