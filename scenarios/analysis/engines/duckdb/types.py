"""Spark's names of types, in DuckDB's words."""

import json
import re

_NAMES = {
    "bigint": "BIGINT",
    "long": "BIGINT",
    "int": "INTEGER",
    "string": "VARCHAR",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
}
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|[<>,:()]|\d+)")


def type_of(name: str) -> str:
    """Return DuckDB's type for Spark's, such as `array<bigint>`. Decimals without places become 128-bit integers.

    DuckDB would refuse products of decimals beyond 18 digits; both are exact.
    """
    tokens = _TOKEN.findall(name)
    found = _taken(tokens)
    if tokens:
        raise ValueError(f"{name!r}: {tokens[0]!r} is not expected")
    return found


def fields_of(schema: str) -> dict[str, str]:
    """Return the fields of a schema, `name type, …` or `name: type, …`, and DuckDB's types of them."""
    return _fields(_TOKEN.findall(schema))


def json_structure(schema: str) -> str:
    """Return a schema as DuckDB's json_transform takes it."""
    return json.dumps(fields_of(schema))


def _taken(tokens: list[str]) -> str:
    """Return the type that the tokens begin with, and remove its tokens."""
    name = tokens.pop(0).lower()
    if name == "decimal":
        digits = _between(tokens, "(", ")")
        if digits[-1] != "0":
            raise ValueError("decimals with places are not used")
        return "HUGEINT"
    if name not in ("array", "map", "struct"):
        return _NAMES[name]
    inner = _between(tokens, "<", ">")
    if name == "struct":
        fields = (f'"{field}" {kind}' for field, kind in _fields(inner).items())
        return f"STRUCT({', '.join(fields)})"
    first = _taken(inner)
    if name == "array":
        return f"{first}[]"
    inner.remove(",")
    return f"MAP({first}, {_taken(inner)})"


def _fields(tokens: list[str]) -> dict[str, str]:
    found = {}
    while tokens:
        name = tokens.pop(0)
        if tokens[0] == ":":
            tokens.pop(0)
        found[name] = _taken(tokens)
        if tokens:
            tokens.remove(",")
    return found


def _between(tokens: list[str], opening: str, closing: str) -> list[str]:
    """Return the tokens between a bracket and the one that closes it, and remove all of them."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token == opening) - (token == closing)
        if depth == 0:
            inner = tokens[1:place]
            del tokens[: place + 1]
            return inner
    raise ValueError(f"{closing} is missing")
