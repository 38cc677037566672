"""The part of a JSON Schema validator that our own schema needs; an unknown keyword is an error, not an acceptance."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from kcsim.scenarios.language.schema import json_schema

SAYS_NOTHING = {"$schema", "$defs", "title", "description", "default", "examples", "discriminator"}
TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


@cache
def scenario_schema() -> dict[str, Any]:
    """Return the schema of scenario files, generated once for all tests: that takes a quarter of a second."""
    return json_schema()


def accepts(schema: dict[str, Any], value: Any, root: dict[str, Any] | None = None) -> bool:
    """Return True if a value is valid under a schema."""
    root = schema if root is None else root
    if "$ref" in schema:
        target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        rest = {key: item for key, item in schema.items() if key != "$ref"}
        return accepts(target, value, root) and accepts(rest, value, root)
    return all(_holds(keyword, given, schema, value, root) for keyword, given in schema.items())


def _holds(keyword: str, given: Any, schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match keyword:
        case _ if keyword in SAYS_NOTHING:
            return True
        case "type":
            return any(_is_of(value, name) for name in ([given] if isinstance(given, str) else given))
        case "enum":
            return any(value == item and type(value) is type(item) for item in given)
        case "const":
            return bool(value == given)
        case "anyOf":
            return any(accepts(item, value, root) for item in given)
        case "oneOf":
            return sum(accepts(item, value, root) for item in given) == 1
        case "not":
            return not accepts(given, value, root)
        case "pattern":
            return not isinstance(value, str) or re.search(given, value) is not None
        case "minLength":
            return not isinstance(value, str) or len(value) >= given
        case "minimum":
            return not is_number or value >= given
        case "maximum":
            return not is_number or value <= given
        case "exclusiveMinimum":
            return not is_number or value > given
        case "minItems":
            return not isinstance(value, list) or len(value) >= given
        case "uniqueItems":
            return not isinstance(value, list) or all(item not in value[:place] for place, item in enumerate(value))
        case "items":
            return not isinstance(value, list) or all(accepts(given, item, root) for item in value)
        case "properties":
            return not isinstance(value, dict) or all(
                accepts(given[key], item, root) for key, item in value.items() if key in given
            )
        case "patternProperties":
            return not isinstance(value, dict) or all(
                accepts(item_schema, item, root)
                for pattern, item_schema in given.items()
                for key, item in value.items()
                if re.search(pattern, str(key))
            )
        case "required":
            return not isinstance(value, dict) or all(key in value for key in given)
        case "additionalProperties":
            assert given is False, "ours forbids them, always"
            return not isinstance(value, dict) or all(_is_named(key, schema) for key in value)
        case "minProperties":
            return not isinstance(value, dict) or len(value) >= given
        case "maxProperties":
            return not isinstance(value, dict) or len(value) <= given
        case _:
            raise AssertionError(f"keyword {keyword} is not known here")


def _is_named(key: object, schema: dict[str, Any]) -> bool:
    patterns = schema.get("patternProperties", ())
    return key in schema.get("properties", ()) or any(re.search(pattern, str(key)) for pattern in patterns)


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])
