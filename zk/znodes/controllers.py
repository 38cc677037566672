"""/controller and /controller_epoch."""

from kcsim.zk import kafka_json
from kcsim.zk.kafka_json import WrongJsonError, as_int, field, parse_java_int, shown
from kcsim.zk.vocabulary import BrokerId, ControllerEpoch, ControllerNode
from kcsim.zk.znodes.reading import Report, object_or_report, reading, timestamp_in


def decode_controller(path: str, data: bytes | None, report: Report) -> ControllerNode | None:
    """Read /controller; None, and reported, if it is no JSON: Kafka sees no controller then.

    Only `brokerid` must be right; a timestamp that is not one is 0. Raises: BadZnodeError.
    """
    content = object_or_report(path, data, report)
    if content is None:
        return None
    with reading(path):
        broker_id = BrokerId(as_int(field(content, "brokerid")))
    return ControllerNode(broker_id, timestamp_in(content))


def encode_controller(node: ControllerNode) -> bytes:
    return kafka_json.encode({"version": 1, "brokerid": node.broker_id, "timestamp": str(node.timestamp_ms)})


def decode_controller_epoch(path: str, data: bytes | None) -> ControllerEpoch:
    """Read /controller_epoch: decimal text, no JSON. Raises: BadZnodeError."""
    with reading(path):
        if data is None:
            raise WrongJsonError("null data, which is no number")
        return ControllerEpoch(parse_java_int(shown(data)))


def encode_controller_epoch(epoch: ControllerEpoch) -> bytes:
    return b"%d" % epoch
