"""The znodes /controller and /controller_epoch."""

from kcsim.vocabulary import BrokerId, ControllerEpoch, ControllerNode
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import NotJsonError, WrongJsonError, as_int, as_object, field, parse_java_int, shown
from kcsim.znodes.reading import Report, object_or_report, reading, timestamp_in

KRAFT_EPOCH = "kraftControllerEpoch"


def decode_controller(path: str, data: bytes | None, report: Report) -> ControllerNode | None:
    """Decode /controller.

    Data that are not JSON are reported, and the result is None, because Kafka sees no controller then. Only `brokerid` must
    be valid; an invalid timestamp is read as 0. Raises: BadZnodeError for JSON of another form.
    """
    content = object_or_report(path, data, report)
    if content is None:
        return None
    with reading(path):
        broker_id = BrokerId(as_int(field(content, "brokerid")))
        kraft_epoch = as_int(content[KRAFT_EPOCH]) if KRAFT_EPOCH in content else None
    return ControllerNode(broker_id, timestamp_in(content), kraft_epoch)


def kraft_controller_in(controller: bytes | None, migration: bytes | None) -> BrokerId | None:
    """Return the KRaft controller of a cluster in migration to KRaft, from the data of /controller and of /migration.

    /controller names it while it controls the brokers, /migration from then on. None: the cluster is in no migration, as far
    as the data tell; a znode that is missing (None) or malformed names no KRaft controller.

    Source: Kafka 3.9, ControllerZNode and MigrationZNode (KIP-866).
    """
    present = _kraft_id(controller, "brokerid", KRAFT_EPOCH)
    return _kraft_id(migration, "kraft_controller_id", "kraft_controller_epoch") if present is None else present


def _kraft_id(data: bytes | None, id_field: str, epoch_field: str) -> BrokerId | None:
    try:
        content = as_object(kafka_json.parse(data))
        kraft_id, epoch = as_int(field(content, id_field)), as_int(content.get(epoch_field, -1))
    except (NotJsonError, WrongJsonError):
        return None
    return BrokerId(kraft_id) if epoch >= 0 else None


def encode_controller(node: ControllerNode) -> bytes:
    has_epoch = node.kraft_controller_epoch is not None
    return kafka_json.encode(
        {
            "version": 2 if has_epoch else 1,
            "brokerid": node.broker_id,
            "timestamp": str(node.timestamp_ms),
            **({KRAFT_EPOCH: node.kraft_controller_epoch} if has_epoch else {}),
        }
    )


def decode_controller_epoch(path: str, data: bytes | None) -> ControllerEpoch:
    """Decode /controller_epoch, which is decimal text and not a JSON object. Raises: BadZnodeError."""
    with reading(path):
        if data is None:
            raise WrongJsonError("null data, which is no number")
        return ControllerEpoch(parse_java_int(shown(data)))


def encode_controller_epoch(epoch: ControllerEpoch) -> bytes:
    return b"%d" % epoch
