"""Settings in a scenario file that Kafka keeps in ZooKeeper: those of topics, and what running brokers take over.

Names and values go by controller/decisions/topic_config.py. A value may stand in the file as text, number, true or false;
ZooKeeper has it as text.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.brokers.config import SettingError, parse_setting
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS, check_topic_config
from kcsim.scenarios.language.topic_words import TOPIC, under
from kcsim.scenarios.language.words import check_topic, did_you_mean, wrong

DYNAMIC_SETTINGS = ("unclean.leader.election.enable",)
"""Those of our brokers' settings that Kafka changes in running brokers. Source: Kafka 2.8, DynamicBrokerConfig."""

Changes = Mapping[str, str | None]
"""Setting -> its new value as text; None takes it away."""


def _stored(value: object, known: Iterable[str], what: str) -> dict[str, str | None]:
    """Settings as a znode has them. Raises: PydanticCustomError for an unknown name or a value that is no scalar."""
    if not isinstance(value, dict):
        raise wrong(f"{value!s} is no mapping of {what}s")
    for name, given in value.items():
        if name not in known:
            raise wrong(f"unknown {what} {name!r}{did_you_mean(name, known)}", name)
        if not isinstance(given, str | int | float | None):
            raise wrong(f"{given!s} is no value of {name}: write text, a number, true or false", name)
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
        raise wrong(str(error), at) from None


def _topic_config(value: object) -> dict[str, str]:
    for name, given in value.items() if isinstance(value, dict) else ():
        if given is None:
            raise wrong(f"{name} has no value", name)
    return {name: text for name, text in _topic_settings(value).items() if text is not None}


def _changes_of_topics(value: object, info: ValidationInfo) -> dict[str, Changes]:
    if not isinstance(value, dict) or not value:
        raise wrong(f"{value!s} names no topic; write {{orders: {{retention.ms: 60000}}}}")
    return {
        check_topic(topic, info, topic): under(topic, lambda given, _: _changes(_topic_settings(given)), config, info)
        for topic, config in value.items()
    }


def _changes_of_defaults(value: object) -> Changes:
    changes = _changes(_stored(value, DYNAMIC_SETTINGS, "setting that running brokers take over"))
    for name, text in changes.items():
        try:
            parse_setting(name, text or "true")
        except SettingError as error:
            raise wrong(str(error), name) from None
    return changes


def _changes(changes: Changes) -> Changes:
    if not changes:
        raise wrong("nothing to set; write a setting and its value, or null to take it away")
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
"""Topic -> what becomes of its settings; null takes one away."""

ChangesOfDefaults = Annotated[
    Changes,
    PlainValidator(_changes_of_defaults),
    WithJsonSchema({**_schema(DYNAMIC_SETTINGS, "null"), "minProperties": 1}),
]
"""What becomes of the settings of all brokers; null takes one away."""
