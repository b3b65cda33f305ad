"""Validates answers against the schemas of the API description, with no further member."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

FORMATS = FormatChecker(())


@FORMATS.checks("uri")
def is_address(value: object) -> bool:
    return not isinstance(value, str) or re.fullmatch(r"https?://[^\s/]+(/\S*)?", value) is not None


@FORMATS.checks("date-time")
def is_moment(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def demand_exactly(schema: Mapping[str, Any], value: Any) -> None:
    """Checks that the value has exactly the members that the schema describes."""
    Draft202012Validator(closed(schema), format_checker=FORMATS).validate(value)


def closed(schema: Any) -> Any:
    """The schema, without further members unless it describes them."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {
        name: {member: closed(each) for member, each in value.items()}
        if name == "properties"
        else closed(value)
        for name, value in schema.items()
    }
    is_object = "object" in schema.get("type", ())
    return {"additionalProperties": False, **inside} if is_object else inside
