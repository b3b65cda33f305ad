"""A rendered page, cut where the values of one person stand, and filled with those of another. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString


class SampleNotFoundError(ValueError):
    """A sample does not stand in the page as it is: a mistake in the template."""


@dataclass(frozen=True)
class Pieces:
    """A page without its values: its texts in order, and between them the names of the values."""

    texts: tuple[str, ...]
    names: tuple[str, ...]

    def fill(self, values: Mapping[str, object]) -> str:
        """The page with these values, which are escaped as in a template, unless they are HTML already.

        Raises KeyError if a value is missing. Nothing is kept.
        """
        written = {name: _in_html(value) for name, value in values.items()}
        parts = [""] * (len(self.texts) + len(self.names))
        parts[::2] = self.texts
        parts[1::2] = [written[name] for name in self.names]
        return "".join(parts)


def cut(page: str, samples: Mapping[str, str]) -> Pieces:
    """The page without its samples: what was rendered in the place of each value, by the value's name.

    Samples must be such that nothing else on the page can be equal to them. Raises SampleNotFoundError.
    """
    names = {sample: name for name, sample in samples.items()}
    found = re.split(f"({'|'.join(map(re.escape, names))})", page)
    if missing := names.keys() - set(found[1::2]):
        raise SampleNotFoundError(", ".join(sorted(names[sample] for sample in missing)))
    return Pieces(tuple(found[::2]), tuple(names[sample] for sample in found[1::2]))


def _in_html(value: object) -> str:
    return value if isinstance(value, SafeString) else escape(str(value))
