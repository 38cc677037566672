"""The types of a scenario's switches: protections that are switched off, and hardening that is switched on."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES, PROTECTIONS, Protections
from kcsim.scenarios.language.value_types import validation_error
from kcsim.text import comma_separated, did_you_mean

ON, OFF = "on", "off"


def _protections(value: object) -> Protections:
    if not isinstance(value, dict):
        raise validation_error(f"{value!r} is no mapping of protections; write one as {PROTECTION_NAMES[0]}: {OFF}")
    for name, given in value.items():
        if name not in PROTECTION_NAMES:
            hint = did_you_mean(name, PROTECTION_NAMES) or f"; there are {comma_separated(PROTECTION_NAMES)}"
            raise validation_error(f"unknown protection {name!r}{hint}", name)
        if given not in (ON, OFF):
            raise validation_error(f"{name}: {_shown(given)} is neither {ON} nor {OFF}", name)
    return ALL_ON.without(name for name, given in value.items() if given == OFF)


def _switch(value: object) -> bool:
    if value not in (ON, OFF):
        raise validation_error(f"{_shown(value)} is neither {ON} nor {OFF}")
    return value == ON


def _shown(value: object) -> str:
    """Return a value as it is written in a file."""
    return str(value).lower() if isinstance(value, bool) else "nothing" if value is None else repr(value)


def _schema() -> Mapping[str, Any]:
    """Return the JSON Schema of the protections, with a description of each."""
    described = {p.name: f"{p.source}. On: {p.with_it} Off: {p.without_it}" for p in PROTECTIONS}
    properties = {name: {"enum": [ON, OFF], "description": text} for name, text in described.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


ProtectionSwitches = Annotated[
    Protections,
    PlainValidator(_protections),
    PlainSerializer(lambda protections: {missing.name: OFF for missing in protections.off}),
    WithJsonSchema(dict(_schema())),
]
"""Protection -> on or off; one that is not named is on."""

HardeningSwitch = Annotated[
    bool,
    PlainValidator(_switch),
    PlainSerializer(lambda is_on: ON if is_on else OFF),
    WithJsonSchema({"enum": [ON, OFF]}),
]
