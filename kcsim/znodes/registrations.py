"""The znodes /brokers/ids/N: a broker's registration, in versions 1 to 5."""

import re
from collections.abc import Mapping
from typing import Any

from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import (
    JsonObject,
    NotJsonError,
    WrongJsonError,
    as_array,
    as_int,
    as_object,
    as_string,
    field,
    parse_java_int,
    shown,
)
from kcsim.znodes.reading import BadZnodeError, timestamp_in

_SECURITY_PROTOCOLS = frozenset({"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"})
_ENDPOINT = re.compile(r"(?P<listener>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")


def decode_broker(path: str, broker_id: BrokerId, data: bytes | None) -> BrokerInfo:
    """Decode a registration of any version from 1 on; a version above 5 is read as version 5. Raises: BadZnodeError."""
    try:
        content = as_object(kafka_json.parse(data))
        version = as_int(field(content, "version"))
        jmx_port = as_int(field(content, "jmx_port"))
        if version < 1:
            raise WrongJsonError(f"Unsupported version of broker registration: {shown(data or b'')}")
        return BrokerInfo(
            broker_id,
            _endpoints(version, content),
            rack=None if content.get("rack") is None else as_string(content["rack"]),
            jmx_port=jmx_port,
            timestamp_ms=timestamp_in(content),
            version=version,
            features=_features(content),
        )
    except NotJsonError:
        message = f"Failed to parse ZooKeeper registration for broker {broker_id}: {shown(data or b'')}"
        raise BadZnodeError(path, message) from None
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error), error.failure) from None


def _endpoints(version: int, content: JsonObject) -> tuple[Endpoint, ...]:
    if version == 1:
        host, port = as_string(field(content, "host")), as_int(field(content, "port"))
        return (Endpoint("PLAINTEXT", "PLAINTEXT", host, port),)
    listed = content.get("listener_security_protocol_map")
    protocols = {} if listed is None else {k.upper(): as_string(v) for k, v in as_object(listed).items()}
    endpoints = as_array(field(content, "endpoints"))
    return tuple(_endpoint(as_string(e), protocols if listed is not None else None) for e in endpoints)


def _endpoint(text: str, protocols: Mapping[str, str] | None) -> Endpoint:
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise WrongJsonError(f"Unable to parse {text} to a broker endpoint")
    listener = match["listener"].upper()
    protocol = listener if protocols is None else protocols.get(listener)
    if protocol is None:
        raise WrongJsonError(f"No security protocol defined for listener {listener}")
    if protocol not in _SECURITY_PROTOCOLS:
        raise WrongJsonError(f"{protocol} is no security protocol")
    return Endpoint(listener, protocol, match["host"], parse_java_int(match["port"]))


def _features(content: JsonObject) -> dict[str, tuple[int, int]]:
    if content.get("features") is None:
        return {}
    ranges = {name: as_object(r) for name, r in as_object(content["features"]).items()}
    return {n: (as_int(field(r, "min_version")), as_int(field(r, "max_version"))) for n, r in ranges.items()}


def encode_broker(info: BrokerInfo) -> bytes:
    """Encode a registration in the version that it names, 2 to 5."""
    plaintext = next((e for e in info.endpoints if e.protocol == "PLAINTEXT"), None)
    content: dict[str, Any] = {}
    if info.version >= 5:
        content["features"] = {n: {"min_version": lo, "max_version": hi} for n, (lo, hi) in info.features.items()}
    if info.version >= 4:
        content["listener_security_protocol_map"] = {e.listener: e.protocol for e in info.endpoints}
    content["endpoints"] = [_printed_endpoint(e) for e in info.endpoints]
    if info.version >= 3 and info.rack is not None:
        content["rack"] = info.rack
    content["jmx_port"] = info.jmx_port
    content["port"] = plaintext.port if plaintext else -1
    content["host"] = plaintext.host if plaintext else None
    content["version"] = info.version
    content["timestamp"] = str(info.timestamp_ms)
    return kafka_json.encode(content)


def _printed_endpoint(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"
