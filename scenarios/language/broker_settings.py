"""A broker's settings and release in a scenario file: Kafka's names, with values of their types."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from kcsim.brokers.config import (
    INT_SETTINGS,
    KAFKA_NAMES,
    LEAST_VALUES,
    MAX_INT,
    PROTOCOL_VERSION,
    SETTING_TYPES,
    SettingError,
    parse_setting,
)
from kcsim.controller.capabilities import PROTOCOL_VERSIONS, RELEASES, Release
from kcsim.scenarios.language.value_types import validation_error
from kcsim.text import did_you_mean


def _settings(value: object) -> dict[str, str | int | bool]:
    if not isinstance(value, dict):
        raise validation_error(f"{value!r} is no mapping of Kafka's settings")
    for name, given in value.items():
        if name not in KAFKA_NAMES:
            raise validation_error(f"unknown setting {name!r}{did_you_mean(name, KAFKA_NAMES)}", name)
        if isinstance(given, str) and SETTING_TYPES[name] != "string":  # a properties file has text only; YAML has types
            raise validation_error(f"{given!r} is no value of {name}, which is {_in_words(name)}", name)
        try:
            parse_setting(name, given)
        except SettingError as error:
            raise validation_error(str(error), name) from None
    return {name: str(given) if isinstance(given, float) else given for name, given in value.items()}


def _in_words(name: str) -> str:
    least = LEAST_VALUES.get(name, 1)
    if name.endswith(".ms"):
        return f"a whole number of milliseconds from {least} to {MAX_INT}"
    return f"a whole number from {least} to {MAX_INT}" if name in INT_SETTINGS else "true or false"


def _setting_schema(name: str) -> dict[str, Any]:
    if name == PROTOCOL_VERSION:
        return {"enum": [*PROTOCOL_VERSIONS, *map(float, PROTOCOL_VERSIONS)]}
    match SETTING_TYPES[name]:
        case "int":
            return {"type": "integer", "minimum": LEAST_VALUES.get(name, 1), "maximum": MAX_INT}
        case "boolean":
            return {"type": "boolean"}
        case "string":
            return {"type": "string", "minLength": 1}


Settings = Annotated[
    Mapping[str, str | int | bool],
    PlainValidator(_settings),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: _setting_schema(name) for name in KAFKA_NAMES},
            "additionalProperties": False,
        }
    ),
]
"""Setting of a broker, under Kafka's dotted name -> its value."""


def _release(value: object) -> str:
    text = str(value)
    if isinstance(value, bool) or text not in RELEASES:
        raise validation_error(f"{value!r} is no release of Kafka that is simulated: {RELEASES[0]} to {RELEASES[-1]}")
    return text


KafkaRelease = Annotated[Release, PlainValidator(_release), WithJsonSchema({"enum": [*RELEASES, *map(float, RELEASES)]})]
"""A release of Kafka; a YAML reader takes 2.8 for a number."""
