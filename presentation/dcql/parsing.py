"""Reads the DCQL query of a request (OpenID4VP 1.0 §6), strictly and within limits. Pure.

Unknown properties are ignored, as §6 requires; known ones must be valid.
"""

import re
from typing import Any

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.dcql import queries
from presentation.errors import InvalidRequestError

DEEPEST = 12
MOST_CREDENTIALS = 10
MOST_CLAIMS = 50
MOST_OPTIONS = 20
MOST_VALUES = 50
LONGEST_PATH = 10
LONGEST_ID = 100
LONGEST_TEXT = 500

_ID = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> queries.Query:
    """The query in `text`; raises InvalidRequestError, which names the property and the rule."""
    try:
        members = _object(strict_json.loads(text, deepest=DEEPEST), "dcql_query")
    except StrictJsonError as error:
        raise InvalidRequestError(f"dcql_query {error}") from None
    credentials = tuple(
        _credential_query(value, f"credentials[{index}]")
        for index, value in enumerate(_list(members, "credentials", "credentials", most=MOST_CREDENTIALS))
    )
    ids = [query.id for query in credentials]
    _check_unique(ids, "credentials")
    sets = _optional_list(members, "credential_sets", "credential_sets", most=MOST_CREDENTIALS)
    return queries.Query(
        credentials,
        tuple(_credential_set(value, ids, f"credential_sets[{index}]") for index, value in enumerate(sets)),
    )


def _credential_query(value: Any, where: str) -> queries.CredentialQuery:
    members = _object(value, where)
    format = _text(members.get("format"), f"{where}.format")
    _flag(members, "multiple", where, default=False)  # checked only: a wallet has one credential
    claims, claim_sets = _claims(members, where)
    return queries.CredentialQuery(
        id=_id(members, where),
        claims=claims,
        claim_sets=claim_sets,
        vct_values=_vct_values(members, format, where),
        authority_key_ids=_authority_key_ids(members, where),
        holder_binding=_flag(members, "require_cryptographic_holder_binding", where, default=True),
        format=format,
    )


def _vct_values(members: dict[str, Any], format: str, where: str) -> frozenset[str] | None:
    """The accepted types; None for other formats, which have other members in `meta` (§6.1, Appendix B)."""
    where = f"{where}.meta"
    meta = _object(members.get("meta"), where)
    if format != queries.FORMAT:
        return None
    types = _list(meta, "vct_values", f"{where}.vct_values", most=MOST_VALUES)
    return frozenset(_text(vct, f"{where}.vct_values") for vct in types)


def _claims(
    members: dict[str, Any], where: str
) -> tuple[tuple[queries.ClaimsQuery, ...], tuple[tuple[str, ...], ...]]:
    if "claims" not in members:
        if "claim_sets" in members:
            raise InvalidRequestError(f"{where}.claim_sets needs claims")
        return (), ()
    claims = tuple(
        _claims_query(value, f"{where}.claims[{index}]", named="claim_sets" in members)
        for index, value in enumerate(_list(members, "claims", f"{where}.claims", most=MOST_CLAIMS))
    )
    ids = [claim.id for claim in claims if claim.id is not None]
    _check_unique(ids, f"{where}.claims")
    sets = _options(members, "claim_sets", ids, where) if "claim_sets" in members else ()
    return claims, sets


def _claims_query(value: Any, where: str, *, named: bool) -> queries.ClaimsQuery:
    members = _object(value, where)
    values = _optional_list(members, "values", f"{where}.values", most=MOST_VALUES)
    return queries.ClaimsQuery(
        path=_path(members, where),
        id=_id(members, where) if named or "id" in members else None,
        values=tuple(_value(member, f"{where}.values") for member in values),
    )


def _path(members: dict[str, Any], where: str) -> queries.PathPointer:
    path = _list(members, "path", f"{where}.path", most=LONGEST_PATH)
    for element in path:
        if element is None or (type(element) is int and element >= 0):
            continue
        if not isinstance(element, str) or len(element) > LONGEST_TEXT:
            raise InvalidRequestError(f"{where}.path must consist of strings, null and integers from 0")
    return tuple(path)


def _value(value: Any, where: str) -> queries.Value:
    if type(value) not in (str, int, bool) or (isinstance(value, str) and len(value) > LONGEST_TEXT):
        raise InvalidRequestError(
            f"{where} must be strings of at most {LONGEST_TEXT} characters, integers or booleans"
        )
    checked: queries.Value = value
    return checked


def _authority_key_ids(members: dict[str, Any], where: str) -> frozenset[str] | None:
    """The key ids of type `aki` (§6.1.1.1). Authorities of other types never match our credentials."""
    if "trusted_authorities" not in members:
        return None
    where = f"{where}.trusted_authorities"
    named: set[str] = set()
    for index, entry in enumerate(_list(members, "trusted_authorities", where, most=MOST_OPTIONS)):
        authority = _object(entry, f"{where}[{index}]")
        kind = _text(authority.get("type"), f"{where}[{index}].type")
        values = _list(authority, "values", f"{where}[{index}].values", most=MOST_VALUES)
        texts = {_text(value, f"{where}[{index}].values") for value in values}
        named |= texts if kind == "aki" else set()
    return frozenset(named)


def _credential_set(value: Any, ids: list[str], where: str) -> queries.CredentialSet:
    members = _object(value, where)
    return queries.CredentialSet(
        options=_options(members, "options", ids, where),
        required=_flag(members, "required", where, default=True),
    )


def _options(members: dict[str, Any], name: str, ids: list[str], where: str) -> tuple[tuple[str, ...], ...]:
    """Non-empty lists of known ids, in order of preference."""
    where = f"{where}.{name}"
    options = _list(members, name, where, most=MOST_OPTIONS)
    for index, option in enumerate(options):
        if not isinstance(option, list) or not 1 <= len(option) <= MOST_CLAIMS:
            raise InvalidRequestError(f"{where}[{index}] must be an array of 1 to {MOST_CLAIMS} ids")
        if not all(isinstance(id, str) and id in ids for id in option):
            raise InvalidRequestError(f"{where}[{index}] names an id that the query does not have")
    return tuple(tuple(option) for option in options)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{where} must be a JSON object")
    return value


def _list(members: dict[str, Any], name: str, where: str, *, most: int) -> list[Any]:
    value = members.get(name)
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise InvalidRequestError(f"{where} must be an array of 1 to {most} entries")
    return value


def _optional_list(members: dict[str, Any], name: str, where: str, *, most: int) -> list[Any]:
    return _list(members, name, where, most=most) if name in members else []


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TEXT:
        raise InvalidRequestError(f"{where} must be text of 1 to {LONGEST_TEXT} characters")
    return value


def _flag(members: dict[str, Any], name: str, where: str, *, default: bool) -> bool:
    value = members.get(name, default)
    if not isinstance(value, bool):
        raise InvalidRequestError(f"{where}.{name} must be true or false")
    return value


def _id(members: dict[str, Any], where: str) -> str:
    value = members.get("id")
    if not isinstance(value, str) or len(value) > LONGEST_ID or not _ID.fullmatch(value):
        raise InvalidRequestError(f"{where}.id must be 1 to {LONGEST_ID} letters, digits, _ and -")
    return value


def _check_unique(ids: list[str], where: str) -> None:
    if len(set(ids)) != len(ids):
        raise InvalidRequestError(f"{where}: two entries have the same id")
