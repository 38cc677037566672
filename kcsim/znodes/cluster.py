"""The znodes that exist once per cluster: cluster id, features, latest block of producer ids."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kcsim.vocabulary import BrokerId
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import WrongJsonError, as_int, as_object, as_string, field
from kcsim.znodes.reading import object_in, reading


def decode_cluster_id(path: str, data: bytes | None) -> str:
    """Decode /cluster/id. Raises: BadZnodeError."""
    with reading(path):
        return as_string(field(object_in(path, data), "id"))


def encode_cluster_id(cluster_id: str) -> bytes:
    return kafka_json.encode({"version": "1", "id": cluster_id})  # only this znode has its version as a string


@dataclass(frozen=True, slots=True)
class FeatureNode:
    """Content of /feature: finalized features, name -> (min, max) version level.

    Kafka enables it from inter.broker.protocol.version 2.7 on. `version` is the format version; version 2, of protocol
    version 3.3 and later, has no minimum.
    """

    is_enabled: bool = False
    features: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    version: int = 1


def decode_feature(path: str, data: bytes | None) -> FeatureNode:
    """Decode /feature. Raises: BadZnodeError."""
    content = object_in(path, data)
    with reading(path):
        version, status = as_int(field(content, "version")), as_int(field(content, "status"))
        if version < 1 or status not in (0, 1):
            raise WrongJsonError(f"Unsupported version {version} or status {status} of the feature information")
        levels = {name: as_object(r) for name, r in as_object(content.get("features", {})).items()}
        lowest = "min_version_level" if version == 1 else "max_version_level"
        ranges = {name: (as_int(field(r, lowest)), as_int(field(r, "max_version_level"))) for name, r in levels.items()}
        return FeatureNode(status == 1, ranges, version)


def encode_feature(node: FeatureNode) -> bytes:
    features = {n: {"min_version_level": lo, "max_version_level": hi} for n, (lo, hi) in node.features.items()}
    if node.version > 1:
        features = {n: {"max_version_level": hi} for n, (_, hi) in node.features.items()}
    return kafka_json.encode({"version": node.version, "status": int(node.is_enabled), "features": features})


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """Content of /latest_producer_id_block: the block of producer ids allocated last; `first` and `last` are included."""

    broker_id: BrokerId
    first: int
    last: int


def decode_producer_id_block(path: str, data: bytes | None) -> ProducerIdBlock:
    """Decode /latest_producer_id_block. Raises: BadZnodeError."""
    content = object_in(path, data)
    with reading(path):
        first, last = (as_string(field(content, name)) for name in ("block_start", "block_end"))
        if not all(re.fullmatch(r"-?[0-9]{1,19}", number) for number in (first, last)):
            raise WrongJsonError(f"{first} to {last} is no block of producer ids")
        return ProducerIdBlock(BrokerId(as_int(field(content, "broker"))), int(first), int(last))


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    return kafka_json.encode(
        {"version": 1, "broker": block.broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )
