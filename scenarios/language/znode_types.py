"""Types of values in a scenario file about znodes: their paths and their content."""

import json
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema

from kcsim.scenarios.language.value_types import validation_error
from kcsim.zk.memory.paths import is_legal

PATH = r"^/$|^(/[^/]+)+$"


def _path(value: object) -> object:
    if not isinstance(value, str) or not value.startswith("/"):
        raise validation_error(f"{value!r} is no znode path; one begins with /, as /controller")
    if not re.fullmatch(PATH, value):
        raise validation_error(f"{value!r} is no znode path: no empty names, no slash at the end")
    if not is_legal(value):
        raise validation_error(f"{value!r} is no znode path: a name is neither . nor .., and has no control characters")
    return value


ZnodePath = Annotated[str, BeforeValidator(_path), WithJsonSchema({"type": "string", "pattern": PATH})]
"""The path of a znode, such as /brokers/ids/1."""


# --- content of a znode ----------------------------------------------------------------------------------------------------


def _plain_json(value: object) -> Any:
    """Return the value without the YAML reader's own types. Raises: PydanticCustomError for what is not JSON."""
    match value:
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise validation_error("the keys of a JSON object are text; put them in quotes")
            return {str(key): _plain_json(item) for key, item in value.items()}
        case list():
            return [_plain_json(item) for item in value]
        case bool() | None:
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str(value)
        case _:
            raise validation_error(f"{value!s} is neither text nor JSON; put it in quotes")


def _znode_text(value: object) -> str | None:
    plain = _plain_json(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


JsonValue = Annotated[Any, PlainValidator(_plain_json), WithJsonSchema({})]
"""Any JSON value."""

ZnodeText = Annotated[str | None, PlainValidator(_znode_text), WithJsonSchema({})]
"""Content of a znode: text as it is, anything else as JSON without spaces; null for null data."""
