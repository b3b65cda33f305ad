"""Replaces digests by the claims that are disclosed (RFC 9901 §7.1 step 3). Pure."""

from typing import Any

from wallet.sd_jwt.issuance import ALWAYS_PLAIN, RESERVED, Path, SdJwtError
from wallet.sd_jwt.parsing import UnverifiedDisclosure

_CONTAINERS = (dict, list)
MAX_DEPTH = 32  # of nested objects, arrays and Disclosures
FORM = "disclosures-form"  # the name of the check that this module makes


class Processing:
    """Replaces digests by the claims that are disclosed; raises SdJwtError for malformed Disclosures.

    Afterwards `waiting` holds the Disclosures that no digest refers to, and `repeats` tells whether a digest
    occurs twice. Both are for the caller to refuse.
    """

    def __init__(self, disclosures: dict[str, UnverifiedDisclosure]) -> None:
        for _, content in disclosures.values():
            if len(content) not in (2, 3) or not isinstance(content[0], str):
                raise SdJwtError("a disclosure that is neither [salt, name, value] nor [salt, value]", FORM)
        self.waiting = dict(disclosures)
        self.repeats = False
        self._seen: set[str] = set()

    def object(self, members: dict[str, Any], path: Path) -> dict[str, Any]:
        """The object with its disclosed members and without `_sd`."""
        digests = members.pop("_sd", [])
        if not isinstance(digests, list):
            raise SdJwtError("_sd is not an array", FORM)
        if digests:
            self._note(digests)
        if not RESERVED.isdisjoint(members):
            raise SdJwtError("a claim has a reserved name", FORM)
        result = {
            name: self._value(value, (*path, name)) if isinstance(value, _CONTAINERS) else value
            for name, value in members.items()
        }
        for key in digests:
            if key in self.waiting:
                _, name, value = self._content(key, length=3)
                self._check_name(name, result, path)
                result[name] = self._disclosed(key, value, (*path, name))
        return result

    def _value(self, value: Any, path: Path) -> Any:
        if len(path) > MAX_DEPTH:
            raise SdJwtError(f"deeper than {MAX_DEPTH}", FORM)
        if isinstance(value, dict):
            return self.object(value, path)
        if isinstance(value, list):
            return self._array(value, path)
        return value

    def _array(self, elements: list[Any], path: Path) -> list[Any]:
        result: list[Any] = []
        for element in elements:
            here = (*path, len(result))
            if isinstance(element, dict) and element.keys() == {"..."}:
                key = element["..."]
                self._note([key])
                if key in self.waiting:
                    _, value = self._content(key, length=2)
                    result.append(self._disclosed(key, value, here))
            else:
                result.append(self._value(element, here))
        return result

    def _note(self, digests: list[Any]) -> None:
        """Record digests; those without a Disclosure are of undisclosed claims or decoys (§4.2.5)."""
        if not {str}.issuperset(map(type, digests)):
            raise SdJwtError("a digest that is no text", FORM)
        expected = len(self._seen) + len(digests)
        self._seen.update(digests)
        self.repeats = self.repeats or len(self._seen) < expected

    def _content(self, key: str, *, length: int) -> list[Any]:
        content = self.waiting[key].content
        if len(content) != length:
            raise SdJwtError("an array element was disclosed in an object, or a member in an array", FORM)
        return content

    def _disclosed(self, key: str, value: Any, path: Path) -> Any:
        del self.waiting[key]
        return self._value(value, path)

    def _check_name(self, name: Any, members: dict[str, Any], path: Path) -> None:
        if not isinstance(name, str) or name in RESERVED:
            raise SdJwtError("a disclosure without a proper name", FORM)
        if name in members:
            raise SdJwtError("a disclosure of a name that is there already", FORM)
        if not path and name in ALWAYS_PLAIN:
            raise SdJwtError(f"{name} may not be withheld", FORM)
