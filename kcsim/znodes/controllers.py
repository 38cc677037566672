"""The znodes /controller and /controller_epoch."""

from kcsim.vocabulary import BrokerId, ControllerEpoch, ControllerNode
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import WrongJsonError, as_int, field, parse_java_int, shown
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
