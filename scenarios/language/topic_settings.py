"""Settings in a scenario file that Kafka keeps in ZooKeeper: those of topics, and dynamic settings of brokers.

Names and values are checked by controller/decisions/topic_config.py. A value may be written in the file as text, number,
true or false; in ZooKeeper it is text.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.brokers.config import SettingError, parse_setting
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS, check_topic_config
from kcsim.scenarios.language.topic_types import TOPIC, check_under_key
from kcsim.scenarios.language.value_types import check_topic, validation_error
from kcsim.text import did_you_mean

DYNAMIC_SETTINGS = ("unclean.leader.election.enable",)
"""The simulated brokers' settings that Kafka can change in running brokers. Source: Kafka 2.8, DynamicBrokerConfig."""

Changes = Mapping[str, str | None]
"""Setting -> its new value as text; None removes it."""


def _stored(value: object, known: Iterable[str], what: str) -> dict[str, str | None]:
    """Return settings as stored in a znode. Raises: PydanticCustomError for an unknown name or a non-scalar value."""
    if not isinstance(value, dict):
        raise validation_error(f"{value!s} is no mapping of {what}s")
    for name, given in value.items():
        if name not in known:
            raise validation_error(f"unknown {what} {name!r}{did_you_mean(name, known)}", name)
        if not isinstance(given, str | int | float | None):
            raise validation_error(f"{given!s} is no value of {name}: write text, a number, true or false", name)
    return {str(name): _text(given) for name, given in value.items()}


def _text(given: str | float | bool | None) -> str | None:
    match given:
        case None:
            return None
        case bool():
            return "true" if given else "false"
        case _:
            return str(given)


def _topic_settings(value: object) -> dict[str, str | None]:
    config = _stored(value, TOPIC_SETTINGS, "topic setting")
    for name, text in config.items():
        if text is not None:
            _checked_by_kafka({name: text}, name)
    _checked_by_kafka({name: text for name, text in config.items() if text is not None}, None)
    return config


def _checked_by_kafka(config: Mapping[str, str], at: str | None) -> None:
    try:
        check_topic_config(config)
    except RefusedError as error:
        raise validation_error(str(error), at) from None


def _topic_config(value: object) -> dict[str, str]:
    for name, given in value.items() if isinstance(value, dict) else ():
        if given is None:
            raise validation_error(f"{name} has no value", name)
    return {name: text for name, text in _topic_settings(value).items() if text is not None}


def _changes_of_topics(value: object, info: ValidationInfo) -> dict[str, Changes]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no topic; write {{orders: {{retention.ms: 60000}}}}")
    return {
        check_topic(topic, info, topic): check_under_key(
            topic, lambda given, _: _changes(_topic_settings(given)), config, info
        )
        for topic, config in value.items()
    }


def _changes_of_defaults(value: object) -> Changes:
    changes = _changes(_stored(value, DYNAMIC_SETTINGS, "setting that running brokers take over"))
    for name, text in changes.items():
        try:
            parse_setting(name, text or "true")
        except SettingError as error:
            raise validation_error(str(error), name) from None
    return changes


def _changes(changes: Changes) -> Changes:
    if not changes:
        raise validation_error("no setting is given; write a setting and its value, or null to remove it")
    return changes


def _schema(known: Iterable[str], *null: str) -> dict[str, Any]:
    value = {"type": ["string", "number", "boolean", *null]}
    return {"type": "object", "properties": dict.fromkeys(known, value), "additionalProperties": False}


CHANGES_SCHEMA = {**_schema(TOPIC_SETTINGS, "null"), "minProperties": 1}

TopicConfig = Annotated[Mapping[str, str], PlainValidator(_topic_config), WithJsonSchema(_schema(TOPIC_SETTINGS))]
"""A topic's settings, each value as text."""

ChangesOfTopics = Annotated[
    Mapping[str, Changes],
    PlainValidator(_changes_of_topics),
    WithJsonSchema(
        {
            "type": "object",
            "patternProperties": {TOPIC: CHANGES_SCHEMA},
            "additionalProperties": False,
            "minProperties": 1,
        }
    ),
]
"""Topic -> changes of its settings; null removes one."""

ChangesOfDefaults = Annotated[
    Changes,
    PlainValidator(_changes_of_defaults),
    WithJsonSchema({**_schema(DYNAMIC_SETTINGS, "null"), "minProperties": 1}),
]
"""Changes of the settings of all brokers; null removes one."""
