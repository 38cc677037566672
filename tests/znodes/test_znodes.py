"""Znode contents, kind by kind as Kafka reads them: recorded from Kafka, synthetic, and malformed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim import znodes
from kcsim.vocabulary import (
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerNode,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.znodes import BadZnodeError, FeatureNode, ProducerIdBlock, paths
from kcsim.znodes.paths import PathKind
from tests.examples import fewer

V5 = ZkVersion(5)
ORDERS_0 = TopicPartition("orders", 0)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, brokers))


def no_leniency(path: str, reason: str) -> None:
    pytest.fail(f"{path} was taken leniently: {reason}")


# --- one decoder and one encoder per kind of znode

Decode = Callable[[str, bytes | None, znodes.Report], Any]

DECODERS: dict[PathKind, Decode] = {
    PathKind.CONTROLLER: znodes.decode_controller,
    PathKind.CONTROLLER_EPOCH: lambda path, data, _: znodes.decode_controller_epoch(path, data),
    PathKind.BROKER_ID: lambda path, data, _: znodes.decode_broker(path, BrokerId(7), data),
    PathKind.TOPIC: znodes.decode_topic,
    PathKind.TOPIC_PARTITION_STATE: lambda path, data, report: znodes.decode_partition_state(path, data, V5, report),
    PathKind.CONFIG_ENTITY: znodes.decode_config,
    PathKind.CONFIG_CHANGE: znodes.decode_config_change,
    PathKind.REASSIGN_PARTITIONS: znodes.decode_reassignment,
    PathKind.PREFERRED_REPLICA_ELECTION: znodes.decode_preferred_election,
    PathKind.ISR_CHANGE: znodes.decode_isr_change,
    PathKind.LOG_DIR_EVENT: znodes.decode_log_dir_event,
    PathKind.CLUSTER_ID: lambda path, data, _: znodes.decode_cluster_id(path, data),
    PathKind.FEATURE: lambda path, data, _: znodes.decode_feature(path, data),
    PathKind.LATEST_PRODUCER_ID_BLOCK: lambda path, data, _: znodes.decode_producer_id_block(path, data),
}

ENCODERS: dict[PathKind, Callable[[Any], bytes]] = {
    PathKind.CONTROLLER: znodes.encode_controller,
    PathKind.CONTROLLER_EPOCH: znodes.encode_controller_epoch,
    PathKind.BROKER_ID: znodes.encode_broker,
    PathKind.TOPIC: znodes.encode_topic,
    PathKind.TOPIC_PARTITION_STATE: znodes.encode_partition_state,
    PathKind.CONFIG_ENTITY: znodes.encode_config,
    PathKind.CONFIG_CHANGE: znodes.encode_config_change,
    PathKind.REASSIGN_PARTITIONS: znodes.encode_reassignment,
    PathKind.PREFERRED_REPLICA_ELECTION: znodes.encode_partitions,
    PathKind.ISR_CHANGE: znodes.encode_partitions,
    PathKind.LOG_DIR_EVENT: znodes.encode_log_dir_event,
    PathKind.CLUSTER_ID: znodes.encode_cluster_id,
    PathKind.FEATURE: znodes.encode_feature,
    PathKind.LATEST_PRODUCER_ID_BLOCK: znodes.encode_producer_id_block,
}


def decode(path: str, data: bytes | None, report: znodes.Report = no_leniency) -> Any:
    known = paths.parse(path)
    assert known is not None
    return DECODERS[known.kind](path, data, report)


def encode(path: str, value: Any) -> bytes:
    known = paths.parse(path)
    assert known is not None
    return ENCODERS[known.kind](value)


def decoded_leniently(path: str, data: bytes | None) -> tuple[Any, list[str]]:
    """Return the decoded value, and the paths for which lenient decoding was reported."""
    reported: list[str] = []
    return decode(path, data, lambda path, _: reported.append(path)), reported


# --- recorded

RECORDED = [
    (path.replace("_N", "_0000000000"), by, data.encode())
    for path, by, data in json.loads(Path(__file__).with_name("znodes_recorded.json").read_text())["znodes"]
]
MALFORMED_BY_HAND = {b"", b"{}", b"{nonsense", b"junk"}
WELL_FORMED = [(path, data) for path, _, data in RECORDED if data not in MALFORMED_BY_HAND]
BY_KAFKA = [(path, data) for path, by, data in RECORDED if by in ("controller", "broker")]
REGISTRATIONS = [(path, data) for path, _, data in RECORDED if path.startswith("/brokers/ids/") and data != b"junk"]


def test_the_recordings_cover_what_brokers_and_controllers_write() -> None:
    kinds = {known.kind for path, _ in BY_KAFKA if (known := paths.parse(path))}
    assert kinds == {
        PathKind.CONTROLLER,
        PathKind.CONTROLLER_EPOCH,
        PathKind.TOPIC,
        PathKind.TOPIC_PARTITION_STATE,
        PathKind.REASSIGN_PARTITIONS,
        PathKind.ISR_CHANGE,
        PathKind.LOG_DIR_EVENT,
    }
    assert len(BY_KAFKA) > 200


@pytest.mark.parametrize(
    ("path", "data", "read"),
    [
        (
            "/controller",
            b'{"version":2,"brokerid":3,"timestamp":"1795731751752","kraftControllerEpoch":-1}',
            ControllerNode(BrokerId(3), 1795731751752, kraft_controller_epoch=-1),
        ),
        (
            "/brokers/topics/orders/partitions/0/state",
            b'{"controller_epoch":1,"leader":2,"version":1,"leader_recovery_state":1,"leader_epoch":3,"isr":[2]}',
            PartitionState(
                LeaderAndIsr(BrokerId(2), LeaderEpoch(3), (BrokerId(2),), V5, is_recovering=True), ControllerEpoch(1)
            ),
        ),
        (
            "/brokers/topics/orders",
            b'{"partitions":{"0":[1,2]},"topic_id":"4HbmGsjpToWP2_7PAWaJ0Q","adding_replicas":{},"removing_replicas":{},'
            b'"version":3}',
            TopicState({0: ReplicaAssignment((BrokerId(1), BrokerId(2)))}, "4HbmGsjpToWP2_7PAWaJ0Q"),
        ),
    ],
)
def test_what_kafka_3_9_wrote_at_protocol_version_3_9(path: str, data: bytes, read: object) -> None:
    """From tests/conformance/traces/protocol-3.9."""
    assert decode(path, data) == read
    assert encode(path, read) == data


def test_what_was_recorded_is_read_without_leniency() -> None:
    """Lenient decoding raises here, with the path in the message."""
    for path, data in WELL_FORMED:
        decode(path, data)


def test_what_kafka_wrote_is_written_again_to_the_last_byte() -> None:
    """Registrations were copied from Kafka's own by hand. The key order, that of Scala's hash maps, is included."""
    for path, data in [*BY_KAFKA, *REGISTRATIONS]:
        assert encode(path, decode(path, data)) == data, path


# --- all versions read, Kafka's written

TOPIC = paths.topic("orders")
STATE = paths.topic_partition_state(ORDERS_0)
BROKER = paths.broker_id(BrokerId(7))


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (
            b'{"version":1,"partitions":{"0":[1,2],"1":[2,3]}}',
            TopicState({0: ReplicaAssignment(ids(1, 2)), 1: ReplicaAssignment(ids(2, 3))}, version=1),
        ),
        (
            b'{"version":2,"partitions":{"0":[4,1]},"adding_replicas":{"0":[4]},"removing_replicas":{"0":[1]}}',
            TopicState({0: ReplicaAssignment(ids(4, 1), ids(4), ids(1))}, version=2),
        ),
        (
            b'{"version":3,"partitions":{},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{}}',
            TopicState({}, topic_id="AAAAAAAAAAAAAAAAAAAAAQ", version=3),
        ),
        (b'{"version":9}', TopicState({}, version=9)),
    ],
)
def test_topics_of_every_version_are_read(data: bytes, state: TopicState) -> None:
    assert decode(TOPIC, data) == state


def test_a_topic_becomes_version_3_when_it_is_written() -> None:
    """Kafka 2.8.2 does this whatever its protocol version; partitions without changes have no entry in the two lists."""
    old = decode(TOPIC, b'{"version":1,"partitions":{"1":[2],"0":[1]}}')
    assert znodes.encode_topic(old) == (
        b'{"partitions":{"0":[1],"1":[2]},"adding_replicas":{},"removing_replicas":{},"version":3}'
    )


def test_a_topic_id_is_kept_and_never_made_up() -> None:
    with_id = decode(TOPIC, b'{"version":3,"partitions":{"0":[1]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ"}')
    assert b'"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ"' in znodes.encode_topic(with_id)
    assert b"topic_id" not in znodes.encode_topic(TopicState({}))


PLAIN = Endpoint("PLAINTEXT", "PLAINTEXT", "b7.example", 9092)
REPL = Endpoint("REPL", "SSL", "b7.example", 9093)


@pytest.mark.parametrize(
    ("data", "info"),
    [
        (
            b'{"version":1,"host":"b7.example","port":9092,"jmx_port":9999,"timestamp":"12"}',
            BrokerInfo(BrokerId(7), (PLAIN,), None, 9999, 12, 1),
        ),
        (
            b'{"version":2,"host":"x","port":1,"jmx_port":-1,"timestamp":"12","endpoints":["PLAINTEXT://b7.example:9092"]}',
            BrokerInfo(BrokerId(7), (PLAIN,), None, -1, 12, 2),
        ),
        (
            b'{"version":3,"jmx_port":-1,"endpoints":["PLAINTEXT://b7.example:9092"],"rack":"dc1"}',
            BrokerInfo(BrokerId(7), (PLAIN,), "dc1", -1, 0, 3),
        ),
        (
            b'{"version":4,"jmx_port":-1,"timestamp":"12","endpoints":["REPL://b7.example:9093"],"rack":null,'
            b'"listener_security_protocol_map":{"REPL":"SSL"}}',
            BrokerInfo(BrokerId(7), (REPL,), None, -1, 12, 4),
        ),
        (
            b'{"version":6,"jmx_port":-1,"endpoints":[],"features":{"feat":{"min_version":1,"max_version":3}}}',
            BrokerInfo(BrokerId(7), (), None, -1, 0, 6, {"feat": (1, 3)}),
        ),
    ],
)
def test_registrations_of_every_version_are_read(data: bytes, info: BrokerInfo) -> None:
    """A version above 5 is read like 5."""
    assert decode(BROKER, data) == info


def test_a_registration_names_its_first_plaintext_endpoint_or_none() -> None:
    two = json.loads(znodes.encode_broker(BrokerInfo(BrokerId(7), (REPL, PLAIN))))
    none = json.loads(znodes.encode_broker(BrokerInfo(BrokerId(7), (REPL,))))
    assert (two["host"], two["port"]) == ("b7.example", 9092)
    assert (none["host"], none["port"]) == (None, -1)


def test_a_broker_registers_with_version_4_and_kafkas_key_order() -> None:
    """Protocol version 2.6 writes version 4, with a 2.8 binary too; the rack is present only if the broker has one."""
    assert znodes.encode_broker(BrokerInfo(BrokerId(7), (PLAIN,), rack="dc1", timestamp_ms=12)) == (
        b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://b7.example:9092"],'
        b'"rack":"dc1","jmx_port":-1,"port":9092,"host":"b7.example","version":4,"timestamp":"12"}'
    )


def test_an_ipv6_host_is_bracketed_in_the_text_only() -> None:
    info = BrokerInfo(BrokerId(7), (Endpoint("PLAINTEXT", "PLAINTEXT", "::1", 9092),))
    data = znodes.encode_broker(info)
    assert b"PLAINTEXT://[::1]:9092" in data
    assert decode(BROKER, data) == info


def test_nobody_leads_is_none_here_and_minus_one_there() -> None:
    state = PartitionState(LeaderAndIsr(None, LeaderEpoch(3), ids(2), V5), ControllerEpoch(4))
    data = b'{"controller_epoch":4,"leader":-1,"version":1,"leader_epoch":3,"isr":[2]}'
    assert znodes.encode_partition_state(state) == data
    assert decode(STATE, data) == state


def test_both_versions_of_config_changes_are_read() -> None:
    path = paths.CONFIG_CHANGE_PREFIX + "0000000001"
    assert decode(path, b'{"version":1,"entity_type":"topics","entity_name":"orders"}') == "topics/orders"
    assert decode(path, b'{"version":2,"entity_path":"users/alice/clients/app"}') == "users/alice/clients/app"


def test_small_nodes_are_written_as_kafka_writes_them() -> None:
    assert znodes.encode_controller(ControllerNode(BrokerId(3), 1614841200123)) == (
        b'{"version":1,"brokerid":3,"timestamp":"1614841200123"}'
    )
    assert znodes.encode_config({"a": "1"}) == b'{"version":1,"config":{"a":"1"}}'
    assert znodes.encode_config_change("topics/orders") == b'{"version":2,"entity_path":"topics/orders"}'
    assert znodes.encode_cluster_id("x") == b'{"version":"1","id":"x"}'
    assert znodes.encode_feature(FeatureNode()) == b'{"version":1,"status":0,"features":{}}'
    assert znodes.encode_producer_id_block(ProducerIdBlock(BrokerId(4), 3000, 3999)) == (
        b'{"version":1,"broker":4,"block_start":"3000","block_end":"3999"}'
    )


# --- round trips

java_ints = st.integers(-(2**31), 2**31 - 1)
broker_ids = st.integers(0, 2**31 - 1).map(BrokerId)
broker_lists = st.lists(broker_ids, max_size=6).map(tuple)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
partitions = st.builds(TopicPartition, names, java_ints)
assignments = st.builds(ReplicaAssignment, broker_lists, broker_lists, broker_lists)
endpoints = st.builds(
    Endpoint, st.from_regex(r"[A-Z]{1,8}", fullmatch=True), st.just("SSL"), st.just("host-1.example"), st.integers(-1, 65535)
)
ROUND_TRIPS: dict[str, st.SearchStrategy[Any]] = {
    paths.CONTROLLER: st.builds(ControllerNode, broker_ids, st.integers(0, 10**15)),
    paths.CONTROLLER_EPOCH: java_ints.map(ControllerEpoch),
    TOPIC: st.builds(TopicState, st.dictionaries(java_ints, assignments)),
    BROKER: st.builds(
        BrokerInfo,
        st.just(BrokerId(7)),
        st.lists(endpoints, unique_by=lambda e: e.listener).map(tuple),
        st.none() | names,
        java_ints,
        st.integers(0, 10**15),
    ),
    STATE: st.builds(
        PartitionState,
        st.builds(LeaderAndIsr, st.none() | broker_ids, java_ints.map(LeaderEpoch), broker_lists, st.just(V5)),
        java_ints.map(ControllerEpoch),
    ),
    paths.topic_config("orders"): st.dictionaries(names, names),
    paths.REASSIGN_PARTITIONS: st.dictionaries(partitions, broker_lists),
    paths.PREFERRED_REPLICA_ELECTION: st.lists(partitions, unique=True).map(tuple),
    paths.LOG_DIR_EVENT_PREFIX + "0000000000": broker_ids,
    paths.CLUSTER_ID: names,
    paths.FEATURE: st.builds(FeatureNode, st.booleans(), st.dictionaries(names, st.tuples(java_ints, java_ints))),
    paths.LATEST_PRODUCER_ID_BLOCK: st.builds(ProducerIdBlock, broker_ids, st.integers(0, 2**63 - 1), st.integers(0, 10)),
}


@pytest.mark.parametrize("path", ROUND_TRIPS)
@fewer(4)
@given(st.data())
def test_what_is_written_is_read_again(path: str, drawn: st.DataObject) -> None:
    value = drawn.draw(ROUND_TRIPS[path])
    assert decode(path, encode(path, value)) == value


json_values = st.recursive(
    st.none() | st.booleans() | java_ints | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["brokerid", "leader", "leader_epoch", "isr", "controller_epoch", "partitions", "version", "jmx_port", "endpoints"]
near_misses = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5).map(lambda v: json.dumps(v).encode())


@pytest.mark.parametrize("kind", DECODERS)
@fewer(4)
@given(data=st.none() | st.binary(max_size=40) | json_values.map(lambda v: json.dumps(v).encode()) | near_misses)
def test_no_content_does_worse_than_bad_znode_error(kind: PathKind, data: bytes | None) -> None:
    try:
        DECODERS[kind]("/path", data, lambda path, reason: None)
    except BadZnodeError as error:
        assert error.path == "/path"  # noqa: PT017  # the outcome may be either


almost_states = st.fixed_dictionaries(
    {
        "leader": java_ints | json_values,
        "leader_epoch": java_ints,
        "isr": st.lists(java_ints, max_size=4) | json_values,
        "controller_epoch": java_ints | json_values,
    },
    optional={"version": json_values, "leader_recovery_state": json_values},
).map(lambda v: json.dumps(v).encode())


numbers = java_ints.map(str) | st.sampled_from(["0", "1", "01", "+1", "-0", "1.0", "2147483648", "", "a"])
almost_replicas = st.dictionaries(numbers, st.lists(java_ints | json_values, max_size=4) | json_values, max_size=3)
almost_topics = st.fixed_dictionaries(
    {"partitions": almost_replicas},
    optional={
        "adding_replicas": almost_replicas | json_values,
        "removing_replicas": st.dictionaries(numbers, st.lists(java_ints, max_size=2), max_size=2),
        "topic_id": st.sampled_from(["5pmbfCw8SLKZgGjT9oHKgA", "short"]) | json_values,
        "version": st.sampled_from([1, 2, 3, 2**70]) | json_values,
    },
).map(lambda v: json.dumps(v).encode())


@pytest.mark.parametrize(("path", "almost"), [(STATE, almost_states), (TOPIC, almost_topics)], ids=["a state", "a topic"])
@given(drawn=st.data())
def test_the_fast_way_to_read_never_differs_from_the_lenient_one(
    path: str, almost: st.SearchStrategy[bytes], drawn: st.DataObject
) -> None:
    """A byte after the JSON makes the fast way fall back to the lenient one, which tolerates the byte."""
    data = drawn.draw(near_misses | almost)
    assert outcome(path, data) == outcome(path, data + b" x")


def outcome(path: str, data: bytes) -> Any:
    try:
        return decode(path, data)
    except BadZnodeError as error:
        return error.reason


# --- malformed content, row by row of the table in docs/kafka/znodes.md 12

CONFIG = paths.topic_config("orders")
CONFIG_CHANGE = paths.CONFIG_CHANGE_PREFIX + "0000000000"
ISR_CHANGE = paths.ISR_CHANGE_PREFIX + "0000000000"
LOG_DIR_EVENT = paths.LOG_DIR_EVENT_PREFIX + "0000000000"
REASSIGN = paths.REASSIGN_PARTITIONS
PREFERRED = paths.PREFERRED_REPLICA_ELECTION


@pytest.mark.parametrize("data", [b"junk", b"{nonsense", b'{"a":', b"\xff\xfe", b"[" * 100_000, b"NaN"])
@pytest.mark.parametrize(
    ("path", "taken_for"),
    [
        (paths.CONTROLLER, None),
        (TOPIC, TopicState({})),
        (STATE, None),
        (CONFIG, {}),
        (ISR_CHANGE, ()),
        (LOG_DIR_EVENT, None),
        (REASSIGN, {}),
        (PREFERRED, ()),
        (CONFIG_CHANGE, None),
    ],
)
def test_where_kafka_is_lenient_text_that_is_no_json_counts_for_nothing_and_is_reported(
    path: str, taken_for: Any, data: bytes
) -> None:
    assert decoded_leniently(path, data) == (taken_for, [path])


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        (paths.CONTROLLER_EPOCH, b"seven", 'For input string: "seven"'),
        (paths.CONTROLLER_EPOCH, b"7\n", "For input string"),
        (paths.CONTROLLER_EPOCH, b"2147483648", "For input string"),
        (paths.CONTROLLER_EPOCH, b"", 'For input string: ""'),
        (BROKER, b"junk", "Failed to parse ZooKeeper registration for broker 7: junk"),
        (paths.CLUSTER_ID, b"junk", "not JSON"),
        (paths.FEATURE, b"junk", "not JSON"),
        (paths.LATEST_PRODUCER_ID_BLOCK, b"junk", "not JSON"),
    ],
)
def test_where_kafka_throws_text_that_is_no_json_is_an_error(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(BadZnodeError, match=f"^{path}: .*") as error:
        decode(path, data)
    assert reason in error.value.reason


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        (paths.CONTROLLER, b"{}", "No such field exists: `brokerid`"),
        (paths.CONTROLLER, b'{"brokerid":"1"}', 'Expected `Int` value, received "1"'),
        (paths.CONTROLLER, b'{"brokerid":1.0}', "Expected `Int` value, received 1.0"),
        (paths.CONTROLLER, b'{"brokerid":null}', "Expected `Int` value, received null"),
        (paths.CONTROLLER, b'{"brokerid":true}', "Expected `Int` value, received true"),
        (paths.CONTROLLER, b'{"brokerid":2147483648}', "Expected `Int` value, received 2147483648"),
        (paths.CONTROLLER, b"[1]", "Expected JSON object, received [1]"),
        (BROKER, b"{}", "No such field exists: `version`"),
        (BROKER, b'{"version":4,"endpoints":[]}', "No such field exists: `jmx_port`"),
        (BROKER, b'{"version":4,"jmx_port":1}', "No such field exists: `endpoints`"),
        (BROKER, b'{"version":0,"jmx_port":1}', "Unsupported version of broker registration"),
        (BROKER, b'{"version":4,"jmx_port":1,"endpoints":["junk"]}', "Unable to parse junk to a broker endpoint"),
        (BROKER, b'{"version":2,"jmx_port":1,"endpoints":["REPL://h:1"]}', "REPL is no security protocol"),
        (
            BROKER,
            b'{"version":4,"jmx_port":1,"endpoints":["REPL://h:1"],"listener_security_protocol_map":{}}',
            "No security protocol defined for listener REPL",
        ),
        (TOPIC, b'{"partitions":{"zero":[1]}}', 'For input string: "zero"'),
        (TOPIC, b'{"partitions":[]}', "Expected JSON object, received []"),
        (TOPIC, b'{"partitions":{"0":["1"]}}', 'Expected `Int` value, received "1"'),
        (TOPIC, b'{"partitions":{"0":[1]},"adding_replicas":null}', "Expected JSON object, received null"),
        (TOPIC, b'{"partitions":{},"topic_id":"short"}', "short is no topic id"),
        (STATE, b'{"leader":1,"leader_epoch":0,"isr":[1]}', "No such field exists: `controller_epoch`"),
        (STATE, b'{"leader":1,"leader_epoch":0,"isr":1,"controller_epoch":1}', "Expected JSON array, received 1"),
        (STATE, b'{"leader":1.0,"leader_epoch":0,"isr":[],"controller_epoch":1}', "Expected `Int` value, received 1.0"),
        (CONFIG, b'{"config":{"a":1}}', "Expected `String` value, received 1"),
        (ISR_CHANGE, b"{}", "No such field exists: `partitions`"),
        (ISR_CHANGE, b'{"partitions":[{"topic":"t"}]}', "No such field exists: `partition`"),
        (LOG_DIR_EVENT, b'{"event":1}', "No such field exists: `broker`"),
        (REASSIGN, b'{"version":1}', "`partitions` is missing"),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":0}]}', "`replicas` is missing"),
        (REASSIGN, b'{"version":1,"partitions":[{"partition":0,"replicas":[1]}]}', "`topic` is missing"),
        (REASSIGN, b'{"version":1,"partitions":[null]}', "an entry of `partitions` is null"),
        (REASSIGN, b"null", "null, where a reassignment should be"),
        (PREFERRED, b"{}", "No such field exists: `partitions`"),
        (CONFIG_CHANGE, b"{}", "No such field exists: `version`"),
        (CONFIG_CHANGE, b'{"version":3,"entity_path":"topics/t"}', "unsupported version 3"),
        (CONFIG_CHANGE, b'{"version":2,"entity_path":"cats/tom"}', "cats/tom names no entity that has settings"),
        (CONFIG_CHANGE, b'{"version":1,"entity_type":"users","entity_name":"u"}', "users/u names no entity"),
        (paths.CLUSTER_ID, b"{}", "No such field exists: `id`"),
        (paths.FEATURE, b'{"version":1,"status":7}', "status 7"),
        (paths.LATEST_PRODUCER_ID_BLOCK, b'{"broker":1,"block_start":"a","block_end":"b"}', "a to b is no block"),
    ],
)
def test_json_of_another_form_is_an_error(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(BadZnodeError) as error:
        decode(path, data)
    assert error.value.path == path
    assert reason in error.value.reason


@pytest.mark.parametrize(
    ("path", "data", "taken_for"),
    [
        (CONFIG, b"[]", {}),
        (CONFIG, b"7", {}),
        (CONFIG, b'{"version":1}', {}),
        (CONFIG, b'{"config":7}', {}),
        (REASSIGN, b'{"version":1,"partitions":[],"comment":""}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":7}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":true,"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":"1e1","replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":"0.5","replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":[0],"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":2147483648,"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":"2147483648","replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":1e20,"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":true,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":["t"],"partition":0,"replicas":[1]}]}', {}),
        (REASSIGN, b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":"1"}]}', {}),
        (REASSIGN, b"[]", {}),
    ],
)
def test_settings_and_reassignments_of_another_form_count_for_nothing_and_are_reported(
    path: str, data: bytes, taken_for: Any
) -> None:
    """An unknown field of a reassignment is as bad as invalid JSON. Recordings reassign-bad-json, reassign-refused-types."""
    assert decoded_leniently(path, data) == (taken_for, [path])


@pytest.mark.parametrize("path", [*ROUND_TRIPS, CONFIG_CHANGE, ISR_CHANGE])
def test_null_data_is_an_error_everywhere(path: str) -> None:
    with pytest.raises(BadZnodeError, match="null data"):
        decode(path, None)


@pytest.mark.parametrize("path", [p for p in [*ROUND_TRIPS, CONFIG_CHANGE] if p not in (REASSIGN, paths.CONTROLLER_EPOCH)])
def test_empty_data_is_an_error(path: str) -> None:
    """Recorded for the topic."""
    with pytest.raises(BadZnodeError, match=r"Expected JSON object, received $"):
        decode(path, b"")


def test_empty_data_is_no_reassignment() -> None:
    """Recorded: the znode stays, and the failover is unaffected."""
    reasons: list[str] = []
    assert decode(REASSIGN, b"", lambda _, reason: reasons.append(reason)) == {}
    assert reasons == [
        "Ignoring partition reassignment due to invalid json: No content to map due to end-of-input",
    ]


# --- what Kafka's parser tolerates

GOOD = b'{"leader":1,"leader_epoch":0,"isr":[1],"controller_epoch":1}'


@pytest.mark.parametrize(
    "data",
    [
        GOOD + b" trailing junk",
        b"\xef\xbb\xbf" + GOOD,
        b" \n" + GOOD,
        GOOD.replace(b"{", b'{"leader":9,', 1),
        GOOD.replace(b"{", b'{"leader":"x",', 1),
        GOOD.replace(b"{", '{"unknown":{"größe":[1.5]},'.encode(), 1),
    ],
)
def test_trailing_data_duplicate_keys_and_unknown_fields_are_put_up_with(data: bytes) -> None:
    """The last of several equal keys counts."""
    assert decode(STATE, data) == decode(STATE, GOOD)


def test_of_two_entries_for_a_partition_the_last_counts() -> None:
    entry = '{"topic":"t","partition":0,"replicas":[%d]}'
    data = f'{{"version":1,"partitions":[{entry % 1},{entry % 2}]}}'.encode()
    assert decode(REASSIGN, data) == {TopicPartition("t", 0): ids(2)}


@pytest.mark.parametrize(
    ("topic", "partition"),
    [
        ('"7"', '"3"'),
        ('"7"', "3.9"),
        ("7", "3"),
        ('"7"', '" 3 "'),
        ('"7"', '"+3"'),
        ('"7"', '"003"'),
    ],
)
def test_in_a_reassignment_topics_and_numbers_of_other_types_are_converted(topic: str, partition: str) -> None:
    """Recording reassign-lenient-types."""
    data = f'{{"version":"1","partitions":[{{"topic":{topic},"partition":{partition},"replicas":[1]}}]}}'
    assert decode(REASSIGN, data.encode()) == {TopicPartition("7", 3): ids(1)}


@pytest.mark.parametrize("number", ["null", '""', '" "', '"null"'])
def test_in_a_reassignment_a_number_that_is_not_given_is_0(number: str) -> None:
    data = f'{{"version":{number},"partitions":[{{"topic":true,"partition":{number},"replicas":[1]}}]}}'
    assert decode(REASSIGN, data.encode()) == {TopicPartition("true", 0): ids(1)}


@pytest.mark.parametrize("replica", ['"2"', "2.0", "null", "[2]", "3000000000", "true"])
def test_a_replica_that_is_no_int_is_kept_and_written_as_it_is(replica: str) -> None:
    """Recordings reassign-replicas-as-strings, reassign-replicas-as-floats."""
    data = f'{{"version":1,"partitions":[{{"topic":"t","partition":0,"replicas":[{replica},3]}}]}}'.encode()
    plans = decode(REASSIGN, data)
    assert znodes.encode_reassignment(plans) == data
    replicas = plans[TopicPartition("t", 0)]
    assert (
        f'"partitions":{{"0":[{replica},3]}}' in znodes.encode_topic(TopicState({0: ReplicaAssignment(replicas)})).decode()
    )
    assert (replicas[0] == 2, 2 in replicas) == (replica == "2.0", replica == "2.0")
    assert replicas == decode(REASSIGN, data)[TopicPartition("t", 0)]


def test_half_a_surrogate_pair_does_not_survive_reading() -> None:
    """It could not be written to any znode path."""
    (partition,) = decode(ISR_CHANGE, b'{"partitions":[{"topic":"\\ud800","partition":0}]}')
    assert partition == TopicPartition("?", 0)


@pytest.mark.parametrize(
    ("child", "name"),
    [
        ("isr_change_0000000007", "isr_change_0000000007"),
        ("isr_change_7", "isr_change_7"),
        ("isr_change_", "isr_change_"),
        ("old_isr_change_9", "isr_change_9"),
        ("isr_change_1_isr_change_2", "isr_change_2"),
        ("written-by-hand", "isr_change_-hand"),
        ("ten-letter", "isr_change_"),
    ],
)
def test_a_child_that_is_no_sequential_znode_is_looked_for_under_another_name(child: str, name: str) -> None:
    """Recordings isr-notification-with-a-long-name, log-dir-notification-with-a-long-name."""
    assert znodes.isr_change_name(child) == name


def test_a_child_whose_name_is_too_short_for_a_number_is_an_error() -> None:
    """Recordings isr-notification-with-a-short-name, log-dir-notification-with-a-short-name."""
    with pytest.raises(BadZnodeError, match="/isr_change_notification/mine: the name is too short"):
        znodes.isr_change_name("mine")
    with pytest.raises(BadZnodeError, match="/log_dir_event_notification/twelve-chars: the name is too short"):
        znodes.log_dir_event_name("twelve-chars")
    assert znodes.log_dir_event_name("thirteen-char") == "log_dir_event_"
