"""Patterns of events: a kind, and the columns that must have a certain value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.eventlog.events import Event, EventFields, EventKind
from kcsim.scenarios.language.event_values import TEXTS_FOR_PEOPLE, check_columns, check_partition_number, check_value
from kcsim.scenarios.language.value_types import CONTROLLER, KnownNames, known_names, validation_error
from kcsim.text import did_you_mean

Kind = Literal["a whole number", "text", "true or false", "a list of whole numbers", "a list of texts"]

_KINDS: Mapping[object, Kind] = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    Sequence[int]: "a list of whole numbers",
    Sequence[str]: "a list of texts",
}


def _columns() -> Mapping[str, Kind]:
    hints = {
        name: hint for name, hint in get_type_hints(EventFields).items() if name not in {"schema_version", *TEXTS_FOR_PEOPLE}
    }
    return {"node": "text", **{name: _KINDS[hint] for name, hint in hints.items()}}


COLUMNS: Mapping[str, Kind] = MappingProxyType(_columns())
"""Column of the event log -> the type of its values; in a scenario file with hyphens: controller-epoch."""

NODE_COLUMNS = frozenset({"node", "target"})
"""Columns that hold a node's name: a name given with `as`, or `controller`, may be used instead."""
ID_COLUMNS = frozenset({"broker_id", "controller_id", "leader"})
"""Columns that hold a broker's id: a broker's name may be used instead."""
ANY_BROKER = "broker-*"
"""The value of a node column that stands for every broker."""
TEXT_COLUMNS = frozenset({"rule", "data"})
"""Columns of text: the given text must occur in them."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A pattern that events may match.

    Attributes:
        kinds: the event must be of one of these.
        fields: column -> the required value. `path` matches that path and those below it, a text column must contain the
            given text, any other column must equal the given value. None: the column must be absent.
    """

    kinds: tuple[EventKind, ...]
    fields: Mapping[str, Any]

    def matches(self, event: Event, names: Mapping[str, str]) -> bool:
        """Whether an event matches.

        Args:
            names: alias -> node, including `controller` if there is one.
        """
        return event.kind in self.kinds and all(
            _agrees(column, getattr(event, column), wanted, names) for column, wanted in self.fields.items()
        )

    def __str__(self) -> str:
        columns = ", ".join(_condition_text(column.replace("_", " "), value) for column, value in self.fields.items())
        return f"{self.title} ({columns})" if columns else self.title

    @property
    def title(self) -> str:
        """The kinds of the pattern, without its columns."""
        return " or ".join(kind.value for kind in self.kinds)


def _condition_text(column: str, wanted: Any) -> str:
    match wanted:
        case None | False:
            return f"no {column}"
        case True:
            return column
        case list():
            return f"{column} [{', '.join(map(str, wanted))}]"
        case _:
            return f"{column} {wanted}"


def _agrees(column: str, found: Any, wanted: Any, names: Mapping[str, str]) -> bool:
    if found is None or wanted is None:
        return found is wanted
    if column == "path":
        return bool(found == wanted or found.startswith(wanted.rstrip("/") + "/"))
    if column in TEXT_COLUMNS:
        return wanted in found
    if column in NODE_COLUMNS and wanted == ANY_BROKER:
        return bool(found.startswith("broker-"))
    if column in NODE_COLUMNS:
        return bool(found == names.get(wanted, wanted))
    if column in ID_COLUMNS and isinstance(wanted, str):
        return f"broker-{found}" == names.get(wanted, wanted)
    return list(found) == wanted if isinstance(wanted, list) else bool(found == wanted)


# --- in a scenario file ----------------------------------------------------------------------------------------------------

_KEYS = {"kind": "kind", **{column.replace("_", "-"): column for column in COLUMNS}}


def _pattern(value: object, info: ValidationInfo) -> EventPattern:
    if not isinstance(value, dict):
        raise validation_error(
            f"{value!r} is no event; write {{kind: ElectionWon}}, with columns of the event log if need be"
        )
    for key in value:
        if key in TEXTS_FOR_PEOPLE:
            raise validation_error(f"{key} is a text for people, which no pattern reads; name the columns of the fact", key)
        if key not in _KEYS:
            raise validation_error(f"unknown column {key!r}{did_you_mean(key, _KEYS)}", key)
    if "kind" not in value:
        raise validation_error("an event needs a kind, as ElectionWon")
    kinds = value["kind"] if isinstance(value["kind"], list) and value["kind"] else [value["kind"]]
    known = [kind.value for kind in EventKind]
    for kind in kinds:
        if kind not in known:
            raise validation_error(f"unknown kind of event {kind!r}{did_you_mean(kind, known)}", "kind")
    found = tuple(EventKind(kind) for kind in kinds)
    check_columns(found, (_KEYS[key] for key in value if key != "kind"))
    fields = {_KEYS[key]: _field(key, wanted, info) for key, wanted in value.items() if key != "kind"}
    names = known_names(info)
    for column, wanted in fields.items():
        if wanted is not None:
            check_value(found, column, wanted, names)
    if fields.get("topic") is not None and fields.get("partition") is not None:
        check_partition_number(fields["topic"], fields["partition"], names)
    return EventPattern(found, fields)


def _field(key: str, wanted: Any, info: ValidationInfo) -> Any:
    column = _KEYS[key]
    if wanted is None:
        return None
    known = known_names(info)
    named: tuple[str, ...] = (*known.brokers, *(known.aliases or ()), CONTROLLER)
    if column == "node":
        allowed = (*named, *_clients(known), "zookeeper", "scenario", ANY_BROKER)
    elif column == "target":
        allowed = (*named, *_clients(known), *known.members, *known.member_aliases, ANY_BROKER)
    elif column in ID_COLUMNS and isinstance(wanted, str):
        allowed = named
    else:
        if not _is_a(wanted, COLUMNS[column]):
            raise validation_error(f"{wanted!r} is no value of {key}, which holds {COLUMNS[column]}", key)
        return list(wanted) if isinstance(wanted, list) else wanted
    if wanted not in allowed and not (known.aliases is None and isinstance(wanted, str)):
        raise validation_error(f"unknown name {wanted!r}{did_you_mean(wanted, allowed)}", key)
    return wanted


def _clients(known: KnownNames) -> tuple[str, ...]:
    return (*(f"producer-{name}" for name in known.producers or ()), *(f"consumer-{name}" for name in known.consumers or ()))


def _is_a(value: object, kind: Kind) -> bool:
    match kind:
        case "a whole number":
            return isinstance(value, int) and not isinstance(value, bool)
        case "text":
            return isinstance(value, str)
        case "true or false":
            return isinstance(value, bool)
        case "a list of whole numbers":
            return isinstance(value, list) and all(_is_a(item, "a whole number") for item in value)
        case "a list of texts":
            return isinstance(value, list) and all(_is_a(item, "text") for item in value)


def _as_in_file(pattern: EventPattern) -> dict[str, Any]:
    kinds = [kind.value for kind in pattern.kinds]
    columns = {column.replace("_", "-"): wanted for column, wanted in pattern.fields.items()}
    return {"kind": kinds[0] if len(kinds) == 1 else kinds, **columns}


_SCHEMAS: Mapping[Kind, dict[str, Any]] = {
    "a whole number": {"type": "integer"},
    "text": {"type": "string"},
    "true or false": {"type": "boolean"},
    "a list of whole numbers": {"type": "array", "items": {"type": "integer"}},
    "a list of texts": {"type": "array", "items": {"type": "string"}},
}


def _schema_of(column: str) -> dict[str, Any]:
    if column in ID_COLUMNS:
        return {"type": ["integer", "string", "null"]}
    schema = _SCHEMAS[COLUMNS[column]]
    return {**schema, "type": [schema["type"], "null"]}


Pattern = Annotated[
    EventPattern,
    PlainValidator(_pattern),
    PlainSerializer(_as_in_file),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "kind": {
                    "anyOf": [
                        {"enum": [kind.value for kind in EventKind]},
                        {"type": "array", "items": {"enum": [kind.value for kind in EventKind]}, "minItems": 1},
                    ]
                },
                **{key: _schema_of(column) for key, column in _KEYS.items() if column != "kind"},
            },
            "required": ["kind"],
            "additionalProperties": False,
        }
    ),
]
"""{kind: ElectionWon, controller-epoch: 2}: a kind of event, and columns of the event log with hyphens; null: absent."""
