"""The selection of invariants that a run is checked against: all of them by default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from kcsim.brokers.invariants import INVARIANTS
from kcsim.scenarios.language.value_types import ALL, NONE, require_unique, validation_error
from kcsim.text import comma_separated, did_you_mean

EXCEPT = "except"
INVARIANT_NAMES = tuple(invariant.name for invariant in INVARIANTS)


@dataclass(frozen=True, slots=True)
class InvariantSelection:
    """A scenario's selection of invariants.

    Attributes:
        only: exactly these; None: all.
        besides: excluded from the selection.
    """

    only: tuple[str, ...] | None = None
    besides: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names of the selected invariants, in the order in which invariants are defined."""
        wanted = INVARIANT_NAMES if self.only is None else self.only
        return tuple(name for name in INVARIANT_NAMES if name in wanted and name not in self.besides)

    def as_in_file(self) -> Any:
        """Return the selection as it is written in a file."""
        if self.only is not None:
            return list(self.only) or NONE
        return {EXCEPT: list(self.besides)} if self.besides else ALL


ALL_INVARIANTS = InvariantSelection()


def _wanted(value: object) -> InvariantSelection:
    if value in (ALL, NONE):
        return ALL_INVARIANTS if value == ALL else InvariantSelection(only=())
    if isinstance(value, InvariantSelection):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if key != EXCEPT:
                raise validation_error(f"unknown key {key!r}; write {{{EXCEPT}: [names]}} for all but these", key)
        return InvariantSelection(besides=_names(value.get(EXCEPT), EXCEPT))
    if isinstance(value, str | list):
        return InvariantSelection(only=_names(value, None))
    raise validation_error(f"{value!r} names no invariants; write {ALL}, {NONE}, a list of names, or {{{EXCEPT}: [names]}}")


def _names(value: object, at: str | None) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise validation_error(f"an empty list names no invariant; write {NONE}", at)
    for place, name in enumerate(names):
        if name not in INVARIANT_NAMES:
            hint = did_you_mean(name, INVARIANT_NAMES) or f"; there are {comma_separated(INVARIANT_NAMES)}"
            raise validation_error(f"unknown invariant {name!r}{hint}", at if at or not isinstance(value, list) else place)
    return require_unique(tuple(map(str, names)))


def _schema() -> dict[str, Any]:
    description = "; ".join(f"{invariant.name}: {invariant.claim}" for invariant in INVARIANTS)
    name = {"enum": list(INVARIANT_NAMES), "description": description}
    names = {"anyOf": [name, {"type": "array", "items": name, "minItems": 1, "uniqueItems": True}]}
    but = {"type": "object", "properties": {EXCEPT: names}, "required": [EXCEPT], "additionalProperties": False}
    return {"anyOf": [{"enum": [ALL, NONE]}, *names["anyOf"], but]}


InvariantChoice = Annotated[
    InvariantSelection,
    PlainValidator(_wanted),
    PlainSerializer(InvariantSelection.as_in_file),
    WithJsonSchema(_schema()),
]
"""`all`, `none`, the names of some invariants, or {except: [names]}."""
