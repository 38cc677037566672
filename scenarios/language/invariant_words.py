"""Which invariants a run is held to: all of them, unless its scenario says otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from kcsim.scenarios.invariants import INVARIANTS
from kcsim.scenarios.language.words import ALL, NONE, did_you_mean, listed, unlike, wrong

EXCEPT = "except"
INVARIANT_NAMES = tuple(invariant.name for invariant in INVARIANTS)


@dataclass(frozen=True, slots=True)
class WantedInvariants:
    """What a scenario says of invariants.

    Attributes:
        only: these and no others; None: all.
        besides: but not these.
    """

    only: tuple[str, ...] | None = None
    besides: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Those that the run is held to, in their own order."""
        wanted = INVARIANT_NAMES if self.only is None else self.only
        return tuple(name for name in INVARIANT_NAMES if name in wanted and name not in self.besides)

    def as_said(self) -> Any:
        """As a file has it."""
        if self.only is not None:
            return list(self.only) or NONE
        return {EXCEPT: list(self.besides)} if self.besides else ALL


ALL_INVARIANTS = WantedInvariants()


def _wanted(value: object) -> WantedInvariants:
    if value in (ALL, NONE):
        return ALL_INVARIANTS if value == ALL else WantedInvariants(only=())
    if isinstance(value, WantedInvariants):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if key != EXCEPT:
                raise wrong(f"unknown key {key!r}; write {{{EXCEPT}: [names]}} for all but these", key)
        return WantedInvariants(besides=_names(value.get(EXCEPT), EXCEPT))
    if isinstance(value, str | list):
        return WantedInvariants(only=_names(value, None))
    raise wrong(f"{value!r} names no invariants; write {ALL}, {NONE}, a list of names, or {{{EXCEPT}: [names]}}")


def _names(value: object, at: str | None) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names:
        raise wrong(f"an empty list names no invariant; write {NONE}", at)
    for place, name in enumerate(names):
        if name not in INVARIANT_NAMES:
            hint = did_you_mean(name, INVARIANT_NAMES) or f"; there are {listed(INVARIANT_NAMES)}"
            raise wrong(f"unknown invariant {name!r}{hint}", at if at or not isinstance(value, list) else place)
    return unlike(tuple(map(str, names)))


def _schema() -> dict[str, Any]:
    told = "; ".join(f"{invariant.name}: {invariant.claim}" for invariant in INVARIANTS)
    name = {"enum": list(INVARIANT_NAMES), "description": told}
    names = {"anyOf": [name, {"type": "array", "items": name, "minItems": 1, "uniqueItems": True}]}
    but = {"type": "object", "properties": {EXCEPT: names}, "required": [EXCEPT], "additionalProperties": False}
    return {"anyOf": [{"enum": [ALL, NONE]}, *names["anyOf"], but]}


InvariantChoice = Annotated[
    WantedInvariants,
    PlainValidator(_wanted),
    PlainSerializer(WantedInvariants.as_said),
    WithJsonSchema(_schema()),
]
"""`all`, `none`, the names of some, or {except: [names]}."""
