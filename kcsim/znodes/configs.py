"""The znodes below /config: settings of topics, brokers, users, clients and addresses, and notifications of changes."""

from collections.abc import Iterable, Mapping

from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import JsonObject, NotJsonError, WrongJsonError, as_int, as_object, as_string, field, shown
from kcsim.znodes.paths import CONFIG_TYPES
from kcsim.znodes.reading import BadZnodeError, Report, reading


def decode_config(path: str, data: bytes | None, report: Report) -> dict[str, str]:
    """Decode an entity's settings; any other text is reported, and the result is empty.

    Raises: BadZnodeError for null or empty data and for a value that is not a string.
    """
    with reading(path):
        try:
            content = kafka_json.parse(data)
        except NotJsonError as error:
            report(path, str(error))
            return {}
        if content is kafka_json.MISSING:
            as_object(content)
        config = content.get("config") if isinstance(content, dict) else None
        if not isinstance(config, dict):
            report(path, f"no settings in it: {shown(data or b'')}")
            return {}
        return {key: as_string(value) for key, value in config.items()}


def encode_config(config: Mapping[str, str]) -> bytes:
    return kafka_json.encode({"version": 1, "config": dict(config)})


def decode_config_change(path: str, data: bytes | None, report: Report) -> str | None:
    """Decode a change notification of version 1 or 2: return the changed entity, such as `topics/orders`.

    Data that are not JSON are reported, and the result is None. Raises: BadZnodeError for JSON of another form.
    """
    try:
        content = kafka_json.parse(data)
    except NotJsonError as error:
        report(path, str(error))
        return None
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error), error.failure) from None
    with reading(path):
        return _changed_entity(as_object(content))


def _changed_entity(content: JsonObject) -> str:
    version = as_int(field(content, "version"))
    if version == 1:
        entity_type = as_string(field(content, "entity_type"))
        allowed: Iterable[str] = ("topics", "clients")
        entity = f"{entity_type}/{as_string(field(content, 'entity_name'))}"
    elif version == 2:
        entity = as_string(field(content, "entity_path"))
        entity_type, allowed = entity.partition("/")[0], CONFIG_TYPES
    else:
        raise WrongJsonError(f"Config change notification has unsupported version {version}")
    if entity_type not in allowed or "/" not in entity:
        raise WrongJsonError(f"{entity} names no entity that has settings")
    return entity


def encode_config_change(entity_path: str) -> bytes:
    """Encode a change notification in version 2, as every Kafka since 0.10.1 does."""
    return kafka_json.encode({"version": 2, "entity_path": entity_path})
