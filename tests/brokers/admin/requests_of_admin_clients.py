"""Requests of admin clients, valid and invalid, to be sent in order to a cluster of three brokers.

They are sent to Kafka and to our brokers, whose answers are then compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 33, 44
ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS, DELETE_RECORDS = 45, 43, 21
TIMEOUT_MS = 60_000
TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
PREFERRED, UNCLEAN = 0, 1


class To(Enum):
    """The broker that a request is sent to."""

    CONTROLLER = "the controller"
    ANOTHER = "a broker that is not the controller"
    LEADER = "broker 1, which leads partition 0 of orders"
    FOLLOWER = "broker 2, a follower of partition 0 of orders"


class SentRequest(NamedTuple):
    """A request. Attributes: values: as message_of takes them."""

    what: str
    api_key: int
    version: int
    values: Mapping[str, Any]
    to: To = To.CONTROLLER


def topic(
    name: str,
    partitions: int = -1,
    replication_factor: int = -1,
    assigned: Mapping[int, Sequence[int]] | None = None,
    **configs: str | None,
) -> dict[str, Any]:
    """Return a topic of CreateTopics. Args: configs: by Kafka's names, with underscores for dots."""
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replication_factor,
        "assignments": [{"partition_index": p, "broker_ids": tuple(b)} for p, b in (assigned or {}).items()],
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


def create(
    what: str,
    *topics: Mapping[str, Any],
    version: int = 7,
    to: To = To.CONTROLLER,
    validate_only: bool = False,
    timeout_ms: int = TIMEOUT_MS,
) -> SentRequest:
    values = {"topics": topics, "timeout": timeout_ms, "validate_only": validate_only}
    return SentRequest(what, CREATE_TOPICS, version, values, to)


def delete(
    what: str,
    *names: str | None,
    version: int = 6,
    to: To = To.CONTROLLER,
    timeout_ms: int = TIMEOUT_MS,
) -> SentRequest:
    topics = [{"name": name, "topic_id": None} for name in names]
    return SentRequest(what, DELETE_TOPICS, version, {"topics": topics, "topic_names": names, "timeout": timeout_ms}, to)


def grown(name: str, count: int, assigned: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
    """Return a topic of CreatePartitions."""
    assignments = None if assigned is None else [{"broker_ids": tuple(brokers)} for brokers in assigned]
    return {"name": name, "count": count, "assignments": assignments}


def grow(
    what: str,
    *topics: Mapping[str, Any],
    version: int = 3,
    to: To = To.CONTROLLER,
    validate_only: bool = False,
    timeout_ms: int = TIMEOUT_MS,
) -> SentRequest:
    values = {"topics": topics, "timeout": timeout_ms, "validate_only": validate_only}
    return SentRequest(what, CREATE_PARTITIONS, version, values, to)


def requests_about_topics() -> Iterator[SentRequest]:
    yield create("with an assignment", topic("orders", assigned={0: (1, 2, 3), 1: (2, 3, 1)}))
    yield create("with counts", topic("payments", 2, 2), topic("audit", 1, 1, retention_ms="1000"))
    yield create("with the defaults", topic("defaults"))
    for version in range(8):
        yield create(f"in version {version}", topic(f"v{version}", 1, 1, cleanup_policy="compact"), version=version)
    yield create("by another broker", topic("elsewhere", 1, 1), to=To.ANOTHER)
    yield create("that exists", topic("orders", 1, 1))
    yield create(
        "with bad names",
        *(topic(name, 1, 1) for name in ("", ".", "..", "a b", "x" * 250, "ä")),
        topic("a.b", 1, 1),
    )
    yield create("whose name collides", topic("a_b", 1, 1))
    yield create("with bad counts", topic("p0", 0, 1), topic("p-2", -2, 1), topic("r0", 1, 0), topic("r-2", 1, -2))
    yield create("with too many replicas", topic("r4", 1, 4))
    yield create("with counts and an assignment", topic("both", 1, 1, {0: (1,)}), topic("count", 1, -1, {0: (1,)}))
    yield create("twice in one request", topic("twice", 1, 1), topic("twice", 2, 1), topic("once", 1, 1))
    yield create(
        "with bad assignments",
        topic("unequal", assigned={0: (1, 2), 1: (1,)}),
        topic("same", assigned={0: (1, 1)}),
        topic("gap", assigned={0: (1,), 2: (2,)}),
        topic("negative", assigned={-1: (1,), 0: (2,)}),
    )
    yield create("with an unknown broker", topic("unknown", assigned={0: (9,)}), timeout_ms=2_000)
    yield create(
        "with bad settings",
        topic("null", 1, 1, retention_ms=None),
        topic("name", 1, 1, no_such_setting="1"),
        topic("value", 1, 1, retention_ms="soon"),
        topic("range", 1, 1, segment_bytes="3"),
        topic("policy", 1, 1, cleanup_policy="burn"),
        topic("lags", 1, 1, min_compaction_lag_ms="10", max_compaction_lag_ms="5"),
    )
    yield create("validated only", topic("checked", 2, 2), topic("orders", 1, 1), validate_only=True)
    yield create("with a time-out of 0", topic("at.once", 1, 1), topic("orders", 1, 1), timeout_ms=0)
    yield create("internal", topic("__consumer_offsets", 1, 1), topic("__cluster_metadata", 1, 1))
    yield create("no topic")

    yield grow("by a count", grown("payments", 4))
    yield grow("by an assignment", grown("orders", 3, [(3, 1, 2)]))
    yield grow("by another broker", grown("payments", 9), to=To.ANOTHER)
    yield grow("unknown, fewer, equal", grown("nothing", 2), grown("payments", 3), grown("audit", 1))
    yield grow("nonsense", grown("audit", 0), grown("payments", -1))
    yield grow("twice", grown("payments", 5), grown("payments", 6), grown("audit", 1))
    yield grow("by too few assignments", grown("orders", 5, [(3, 1, 2)]), grown("audit", 3, []))
    yield grow(
        "by bad assignments", grown("orders", 4, [(3, 1, 9)]), grown("audit", 2, [(1, 1)]), grown("payments", 5, [(1,)])
    )
    yield grow("by no replicas", grown("audit", 2, [()]))
    yield grow("validated only", grown("audit", 3), validate_only=True)
    yield grow("within no time", grown("audit", 2), timeout_ms=0)
    yield grow("bad, within no time", grown("audit", 1), timeout_ms=0)
    for version in range(4):
        yield grow(f"in version {version}", grown(f"v{version}", 2), version=version)
    yield grow("internal", grown("__consumer_offsets", 2))

    yield delete("unknown", "nothing")
    yield delete("by another broker", "payments", to=To.ANOTHER)
    yield delete("twice", "payments", "payments")
    yield delete("no name and no id", None)
    for version in range(7):
        yield delete(f"in version {version}", f"v{version}", "nothing", version=version)
    yield delete("within no time", "v7", timeout_ms=0)
    yield delete("several", "audit", "defaults", "nothing")
    yield delete("no topic")
    yield delete("with a bad name", "a b", "")


def configs(
    what: str,
    *resources: tuple[int, str, Sequence[tuple[Any, ...]]],
    version: int | None = None,
    to: To = To.CONTROLLER,
    validate_only: bool = False,
    incremental: bool = False,
) -> SentRequest:
    """Return a request to change settings. Args: resources: type, name, and (name, value) or (name, operation, value)."""
    listed = []
    for kind, name, changes in resources:
        names = ("name", "config_operation", "value") if incremental else ("name", "value")
        changed = [dict(zip(names, change, strict=True)) for change in changes]
        listed.append({"resource_type": kind, "resource_name": name, "configs": changed})
    key = INCREMENTAL_ALTER_CONFIGS if incremental else ALTER_CONFIGS
    newest = 1 if incremental else 2
    values = {"resources": listed, "validate_only": validate_only}
    return SentRequest(what, key, newest if version is None else version, values, to)


def requests_about_configs() -> Iterator[SentRequest]:
    yield create("for settings", topic("orders", assigned={0: (1, 2, 3), 1: (2, 3, 1)}), topic("audit", 1, 1))
    for version in range(3):
        yield configs("of a topic", (TOPIC, "orders", [("retention.ms", "1000")]), version=version)
    yield configs("by another broker", (TOPIC, "orders", [("retention.ms", "2000")]), to=To.ANOTHER)
    yield configs("validated only", (TOPIC, "orders", [("retention.ms", "3000")]), validate_only=True)
    yield configs("of an unknown topic", (TOPIC, "nothing", [("retention.ms", "1000")]))
    yield configs("of a topic with a bad name", (TOPIC, "a b", [("retention.ms", "1000")]))
    yield configs("of a topic without a name", (TOPIC, "", [("retention.ms", "1000")]))
    yield configs("unknown", (TOPIC, "orders", [("no.such.setting", "1")]))
    yield configs(
        "with a bad value", (TOPIC, "orders", [("retention.ms", "soon")]), (TOPIC, "audit", [("segment.bytes", "3")])
    )
    yield configs("null", (TOPIC, "orders", [("retention.ms", None)]))
    yield configs("none", (TOPIC, "orders", []))
    yield configs("of no kind", (3, "orders", [("retention.ms", "1")]), (TOPIC, "audit", [("retention.ms", "1")]))
    yield configs("of loggers", (BROKER_LOGGER, "1", [("kafka", "INFO")]), (TOPIC, "audit", [("retention.ms", "1")]))
    yield configs("twice one setting", (TOPIC, "orders", [("retention.ms", "1"), ("retention.ms", "2")]))
    yield configs("of this broker", (BROKER, "1", [("log.retention.ms", "1000")]), to=To.LEADER)
    yield configs("of another broker", (BROKER, "2", [("log.retention.ms", "1000")]), to=To.LEADER)
    yield configs("of all brokers", (BROKER, "", [("log.retention.ms", "1000")]), to=To.LEADER)
    yield configs("of a broker without a number", (BROKER, "one", [("log.retention.ms", "1000")]), to=To.LEADER)
    yield configs("read-only", (BROKER, "1", [("broker.id", "7")]), (BROKER, "", [("zookeeper.connect", "x")]), to=To.LEADER)
    yield configs("unknown of brokers", (BROKER, "", [("no.such.setting", "7")]), to=To.LEADER)
    yield configs("bad value of brokers", (BROKER, "", [("log.retention.ms", "x")]), to=To.LEADER)
    yield configs("per broker only", (BROKER, "", [("listeners", "PLAINTEXT://:1")]), to=To.LEADER)
    yield configs("bad replication", (TOPIC, "orders", [("min.insync.replicas", "0")]))

    def changes(
        what: str,
        *resources: tuple[int, str, Sequence[tuple[Any, ...]]],
        to: To = To.CONTROLLER,
        **more: Any,
    ) -> SentRequest:
        return configs(what, *resources, to=to, incremental=True, **more)

    for version in range(2):
        yield changes("set", (TOPIC, "orders", [("retention.ms", SET, "1000")]), version=version)
    yield changes("delete", (TOPIC, "orders", [("retention.ms", DELETE, None)]), to=To.ANOTHER)
    yield changes("delete again", (TOPIC, "orders", [("retention.ms", DELETE, None)]))
    yield changes("append", (TOPIC, "orders", [("cleanup.policy", APPEND, "compact")]))
    yield changes("append again", (TOPIC, "orders", [("cleanup.policy", APPEND, "compact,delete")]))
    yield changes("subtract", (TOPIC, "orders", [("cleanup.policy", SUBTRACT, "delete")]))
    yield changes("append to no list", (TOPIC, "orders", [("retention.ms", APPEND, "1")]))
    yield changes("subtract from no list", (TOPIC, "orders", [("retention.ms", SUBTRACT, "1")]))
    yield changes("append to nothing known", (TOPIC, "orders", [("no.such.setting", APPEND, "1")]))
    yield changes("delete nothing known", (TOPIC, "orders", [("no.such.setting", DELETE, None)]))
    yield changes("set nothing known", (TOPIC, "orders", [("no.such.setting", SET, "1")]))
    yield changes("set to null", (TOPIC, "orders", [("retention.ms", SET, None)]))
    yield changes("append null", (TOPIC, "orders", [("cleanup.policy", APPEND, None)]))
    yield changes("of no operation", (TOPIC, "orders", [("retention.ms", 7, "1")]))
    yield changes("bad value", (TOPIC, "orders", [("retention.ms", SET, "soon")]))
    yield changes("twice one setting", (TOPIC, "orders", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)]))
    yield changes("twice one topic", (TOPIC, "orders", [("retention.ms", SET, "1")]), (TOPIC, "orders", []))
    yield changes("of an unknown topic", (TOPIC, "nothing", [("retention.ms", SET, "1000")]))
    yield changes("validated only", (TOPIC, "orders", [("retention.ms", SET, "5000")]), validate_only=True)
    yield changes("of this broker", (BROKER, "1", [("log.retention.ms", SET, "1000")]), to=To.LEADER)
    yield changes("of another broker", (BROKER, "2", [("log.retention.ms", SET, "1000")]), to=To.LEADER)
    yield changes("of all brokers", (BROKER, "", [("log.retention.ms", SET, "1000")]), to=To.LEADER)
    yield changes("of all brokers away", (BROKER, "", [("log.retention.ms", DELETE, None)]), to=To.LEADER)
    yield changes("throttle", (BROKER, "1", [("leader.replication.throttled.rate", SET, "100")]), to=To.LEADER)
    yield changes("bad of brokers", (BROKER, "", [("no.such.setting", SET, "7")]), to=To.LEADER)
    yield changes("append to a list of brokers", (BROKER, "", [("log.cleanup.policy", APPEND, "compact")]), to=To.LEADER)
    yield changes("append to no list of brokers", (BROKER, "", [("log.retention.ms", APPEND, "1")]), to=To.LEADER)
    yield changes("read-only of brokers", (BROKER, "1", [("zookeeper.connect", SET, "x")]), to=To.LEADER)
    yield changes(
        "throttled replicas",
        (TOPIC, "orders", [("leader.replication.throttled.replicas", SET, "0:1,1:2")]),
        (TOPIC, "audit", [("follower.replication.throttled.replicas", APPEND, "0:1")]),
    )
    yield changes("no kind", (3, "orders", [("retention.ms", SET, "1")]))


def reassign(
    what: str, moves: Mapping[str, Mapping[int, Sequence[int] | None]], to: To = To.CONTROLLER, timeout_ms: int = TIMEOUT_MS
) -> SentRequest:
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": p, "replicas": None if brokers is None else tuple(brokers)} for p, brokers in of.items()
            ],
        }
        for name, of in moves.items()
    ]
    return SentRequest(what, ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": topics, "timeout": timeout_ms}, to)


def elect(
    what: str,
    partitions: Mapping[str, Sequence[int]] | None,
    kind: int = PREFERRED,
    version: int = 2,
    to: To = To.CONTROLLER,
    timeout_ms: int = TIMEOUT_MS,
) -> SentRequest:
    listed = None if partitions is None else [{"topic": name, "partitions": tuple(of)} for name, of in partitions.items()]
    values = {"election_type": kind, "topic_partitions": listed, "timeout": timeout_ms}
    return SentRequest(what, ELECT_LEADERS, version, values, to)


def requests_about_leaders() -> Iterator[SentRequest]:
    yield create("to move", topic("orders", assigned={0: (1, 2, 3), 1: (2, 3, 1)}), topic("audit", assigned={0: (2,)}))
    yield reassign("by another broker", {"orders": {0: (2, 1, 3)}}, to=To.ANOTHER)
    yield reassign("unknown", {"orders": {7: (1, 2)}, "nothing": {0: (1,)}})
    yield reassign("cancelled without one", {"orders": {0: None}, "nothing": {0: None}})
    yield reassign("to nothing, twice, negative, unknown", {"orders": {0: (), 1: (1, 1)}, "audit": {0: (-1,)}})
    yield reassign("to an unknown broker", {"audit": {0: (9,)}})
    yield reassign("in another order", {"orders": {0: (2, 1, 3)}})
    yield reassign("to another broker", {"audit": {0: (3,)}})
    yield reassign("no partition", {})
    yield elect("needed", {"orders": [0]})
    yield elect("not needed", {"orders": [0, 1]})
    yield elect("unclean, not needed", {"orders": [0, 1]}, UNCLEAN)
    yield elect("unknown", {"orders": [7], "nothing": [0]})
    yield elect("of all, unclean", None, UNCLEAN)
    yield elect("of none", {})
    yield elect("by another broker", {"orders": [0]}, to=To.ANOTHER)
    yield elect("of all by another broker", None, to=To.ANOTHER)
    for version in range(3):
        yield elect(f"in version {version}", {"orders": [0]}, version=version)


def remove(
    what: str, offsets: Mapping[str, Mapping[int, int]], version: int = 2, to: To = To.LEADER, timeout_ms: int = TIMEOUT_MS
) -> SentRequest:
    topics = [
        {"name": name, "partitions": [{"partition_index": p, "offset": offset} for p, offset in of.items()]}
        for name, of in offsets.items()
    ]
    return SentRequest(what, DELETE_RECORDS, version, {"topics": topics, "timeout": timeout_ms}, to)


def requests_about_records() -> Iterator[SentRequest]:
    """Yield requests for a topic `orders` of one partition with the replicas 1, 2, 3 and ten records."""
    others = (
        topic("compacted", assigned={0: (1,)}, cleanup_policy="compact"),
        topic("__consumer_offsets", assigned={0: (1,)}),
    )
    yield create("compacted and internal", *others)
    for version in range(3):
        yield remove(f"in version {version}", {"orders": {0: version}}, version)
    yield remove("before the start", {"orders": {0: 1}})
    yield remove("after the end", {"orders": {0: 11}})
    yield remove("negative", {"orders": {0: -2}})
    yield remove("on a follower", {"orders": {0: 5}}, to=To.FOLLOWER)
    yield remove("unknown", {"orders": {5: 1}, "nothing": {0: 0}})
    yield remove("up to the high watermark", {"orders": {0: -1}})
    yield remove("again", {"orders": {0: -1}})
    yield remove("compacted", {"compacted": {0: 0}})
    yield remove("internal", {"__consumer_offsets": {0: 0}})
    yield remove("internal and unknown", {"__transaction_state": {0: 0}})
    yield remove("none", {})


SERIES = {
    "topics": requests_about_topics,
    "configs": requests_about_configs,
    "leaders": requests_about_leaders,
    "records": requests_about_records,
}
"""The requests by subject. Each subject begins with a cluster without topics, but for those about records."""
