"""Which events of the log a scenario means: a kind, and the columns that must have a certain value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.scenarios.language.words import CONTROLLER, KnownNames, did_you_mean, known_names, wrong
from kcsim.zk.events import Event, EventFields, EventKind

Kind = Literal["a whole number", "text", "true or false", "a list of whole numbers", "a list of texts"]

_KINDS: Mapping[object, Kind] = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    Sequence[int]: "a list of whole numbers",
    Sequence[str]: "a list of texts",
}


def _columns() -> Mapping[str, Kind]:
    hints = {name: hint for name, hint in get_type_hints(EventFields).items() if name != "schema_version"}
    return {"node": "text", **{name: _KINDS[hint] for name, hint in hints.items()}}


COLUMNS: Mapping[str, Kind] = MappingProxyType(_columns())
"""Column of the event log -> what it holds; in a scenario file with hyphens: controller-epoch."""

NAMED = frozenset({"node", "target"})
"""Columns that hold a node's name: a name given with `as`, or `controller`, stands for it."""
IDS = frozenset({"broker_id", "controller_id", "leader"})
"""Columns that hold a broker's id: a broker may be named instead."""
SENTENCES = frozenset({"detail", "inputs", "rule", "data"})
"""Columns of text: what is given must occur in it."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """What an event must look like.

    Attributes:
        kinds: one of these.
        fields: column -> what is wanted there. `path` means that path or one below it, a text column must contain what is
            given, any other column must equal it.
    """

    kinds: tuple[EventKind, ...]
    fields: Mapping[str, Any]

    def matches(self, event: Event, names: Mapping[str, str]) -> bool:
        """Say whether an event is meant.

        Args:
            names: alias -> node, `controller` included if somebody holds the role.
        """
        return event.kind in self.kinds and all(
            _agrees(column, getattr(event, column), wanted, names) for column, wanted in self.fields.items()
        )

    def __str__(self) -> str:
        told = ", ".join(f"{column.replace('_', ' ')} {value}" for column, value in self.fields.items())
        return f"{self.title} ({told})" if told else self.title

    @property
    def title(self) -> str:
        """Its kinds, without the columns."""
        return " or ".join(kind.value for kind in self.kinds)


def _agrees(column: str, found: Any, wanted: Any, names: Mapping[str, str]) -> bool:
    if found is None:
        return False
    if column == "path":
        return bool(found == wanted or found.startswith(wanted.rstrip("/") + "/"))
    if column in SENTENCES:
        return wanted in found
    if column in NAMED:
        return bool(found == names.get(wanted, wanted))
    if column in IDS and isinstance(wanted, str):
        return f"broker-{found}" == names.get(wanted, wanted)
    return list(found) == wanted if isinstance(wanted, list) else bool(found == wanted)


# --- in a scenario file ----------------------------------------------------------------------------------------------------

_KEYS = {"kind": "kind", **{column.replace("_", "-"): column for column in COLUMNS}}


def _pattern(value: object, info: ValidationInfo) -> EventPattern:
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no event; write {{kind: ElectionWon}}, with columns of the event log if need be")
    for key in value:
        if key not in _KEYS:
            raise wrong(f"unknown column {key!r}{did_you_mean(key, _KEYS)}", key)
    if "kind" not in value:
        raise wrong("an event needs a kind, as ElectionWon")
    kinds = value["kind"] if isinstance(value["kind"], list) and value["kind"] else [value["kind"]]
    known = [kind.value for kind in EventKind]
    for kind in kinds:
        if kind not in known:
            raise wrong(f"unknown kind of event {kind!r}{did_you_mean(kind, known)}", "kind")
    fields = {_KEYS[key]: _field(key, wanted, info) for key, wanted in value.items() if key != "kind"}
    return EventPattern(tuple(EventKind(kind) for kind in kinds), fields)


def _field(key: str, wanted: Any, info: ValidationInfo) -> Any:
    column = _KEYS[key]
    known = known_names(info)
    named: tuple[str, ...] = (*known.brokers, *(known.aliases or ()), CONTROLLER)
    if column == "node":
        allowed = (*named, *_clients(known), "zookeeper", "scenario")
    elif column == "target":
        allowed = (*named, *_clients(known), *known.members, *known.member_aliases)
    elif column in IDS and isinstance(wanted, str):
        allowed = named
    else:
        if not _is_a(wanted, COLUMNS[column]):
            raise wrong(f"{wanted!r} is no value of {key}, which holds {COLUMNS[column]}", key)
        return list(wanted) if isinstance(wanted, list) else wanted
    if wanted not in allowed and not (known.aliases is None and isinstance(wanted, str)):
        raise wrong(f"unknown name {wanted!r}{did_you_mean(wanted, allowed)}", key)
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


def _said(pattern: EventPattern) -> dict[str, Any]:
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
    return {"type": ["integer", "string"]} if column in IDS else _SCHEMAS[COLUMNS[column]]


Pattern = Annotated[
    EventPattern,
    PlainValidator(_pattern),
    PlainSerializer(_said),
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
"""{kind: ElectionWon, controller-epoch: 2}: a kind of event, and columns of the event log with hyphens."""
