"""The messages of state-change.log: what the controller decides about partitions, and how brokers act on it.

Source: docs/kafka/logging.md 3 and 4, whose numbers (C1, B6, …) the patterns carry. Up to 0.11 the message names the
controller or broker in its text instead of in a prefix in brackets.
"""

import re
from functools import lru_cache

from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    LeaderAndIsrIgnored,
    LeaderUnknown,
    ReplicaChanged,
    ReplicaChangeFailed,
    ReplicaRoleTaken,
    ReplicasOffline,
    ReplicaStops,
    RequestSummary,
    ResponseLogged,
    StopReplicaIgnored,
    StopReplicaReceived,
    StopReplicaSent,
    UpdateMetadataSent,
)
from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import (
    REMEMBERED,
    assignment_in,
    broker_set_in,
    ids_in,
    leader_and_isr_in,
    partition_in,
    state_in,
)
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameFollower,
    BecameLeader,
    LeaderAndIsrReceived,
    LeaderAndIsrSent,
    Message,
    PartitionElected,
    PartitionNew,
    ReplicaRemoved,
    StateChangeFailed,
    StateSeen,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import (
    NO_EPOCH,
    UNKNOWN_BROKER,
    Found,
    MakeMessage,
    Speaker,
    knows,
    knows_by_start,
    reads,
    reads_laxly,
)
from kcsim.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition

LOGGER = "state.change.logger"
LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"
APIS = {"LEADER_AND_ISR": LEADER_AND_ISR, "UPDATE_METADATA": UPDATE_METADATA, "STOP_REPLICA": STOP_REPLICA}

PREFIX = re.compile(r"\[(Controller|Broker) id=(\d+)(?: epoch=(\d+))?\] ")
OLD_PREFIX = re.compile(r"(Controller|Broker) (\d+)(?: epoch (\d+))? (?=[a-z])")
CONTROLLER, BROKER = "Controller", "Broker"
UNKNOWN_SPEAKER = Speaker(UNKNOWN_BROKER, NO_EPOCH)
LAI_ASSIGNMENT = re.compile(r"replicas=(\[[\d, ]*\])(?:, addingReplicas=(\[[\d, ]*\]), removingReplicas=(\[[\d, ]*\]))?")
STOP_STATE = r".*?leaderEpoch=(?P<leader_epoch>-?\d+), deletePartition=(?P<deletes>true|false)"
RESPONSE_ERROR = re.compile(r"errorCode=(-?\d+)")
REFUSAL = re.compile(r"topicName='([^']+)', partitionIndex=(\d+), errorCode=(-?\d+)")
NAMED = re.compile(r"topicName='([^']*)', partitionIndex=(\d+)")
TP = r"(?P<tp>\S+)"
SENDER = r"controller (?P<controller>\d+) epoch (?P<epoch>\d+)"
RECEIVERS = r"(?P<receivers>\w+\([\d, ]*\))"
RECEIVER = r"to broker (?P<receiver>-?\d+)"


def role_and_text(message: str, continuation: str = "") -> tuple[str, Speaker, str]:
    """Return the role in which a broker printed a message (CONTROLLER, BROKER), the broker, and the text after the prefix.

    The role is empty if the message does not show it.
    """
    if message.startswith("["):
        end = message.find("] ") + 2
        role, speaker = _speaker(message[:end])
        text = message[end:]
    else:
        prefix = OLD_PREFIX.match(message)
        if prefix is None:
            return "", UNKNOWN_SPEAKER, message
        role, speaker = _speaker(f"[{prefix[1]} id={prefix[2]}{f' epoch={prefix[3]}' if prefix[3] else ''}] ")
        text = message[prefix.end()].upper() + message[prefix.end() + 1 :]
    return role, speaker._replace(continuation=continuation) if continuation else speaker, text


@lru_cache(REMEMBERED)
def _speaker(text: str) -> tuple[str, Speaker]:
    """Return the role and the speaker that a prefix in brackets names; an empty role if the text is no such prefix."""
    prefix = PREFIX.fullmatch(text)
    if prefix is None:
        return "", UNKNOWN_SPEAKER
    epoch = ControllerEpoch(int(prefix[3])) if prefix[3] else NO_EPOCH
    return prefix[1], Speaker(BrokerId(int(prefix[2])), epoch)


def _tp_in(found: Found) -> TopicPartition:
    """Return the partition that a message names, at its end or in the text of the state."""
    named = found["tp"]
    if named:
        return partition_in(named)
    inside = NAMED.search(found["state"])
    if inside is None:
        raise ValueError(f"{found['state']!r} names no partition")
    return partition_in(f"{inside[1]}-{inside[2]}")


def _assignment(text: str) -> ReplicaAssignment | None:
    """Return the assignment in a LeaderAndIsr request's state; None for a state without one, as in old versions."""
    found = LAI_ASSIGNMENT.search(text)
    return ReplicaAssignment(*(ids_in(one or "") for one in found.groups())) if found else None


def _assignment_in_metadata(text: str) -> ReplicaAssignment | None:
    """Return None for the state in an UpdateMetadata request, except in a format without the mark of such a state."""
    return None if "UpdateMetadata" in text or "offlineReplicas" in text else _assignment(text)


# --- the controller


def _elected(found: Found, by: Speaker) -> Message:
    state = leader_and_isr_in(found["state"])
    return PartitionElected(by.broker, by.epoch, partition_in(found["tp"]), found["before"], state)


def _removed(found: Found, by: Speaker) -> Message:
    replica = BrokerId(int(found["replica"]))
    return ReplicaRemoved(by.broker, by.epoch, partition_in(found["tp"]), replica, state_in(found["state"]))


def _state_sent(found: Found, by: Speaker) -> Message:
    tp, text = partition_in(found["tp"]), found["state"]
    return StateSeen(by.broker, by.epoch, tp, state_in(text), _assignment_in_metadata(text))


def _leader_and_isr_sent(found: Found, by: Speaker) -> Message:
    tp, text = partition_in(found["tp"]), found["state"]
    receiver, is_new = BrokerId(int(found["receiver"])), "isNew=true" in text
    return LeaderAndIsrSent(
        by.broker, by.epoch, tp, state_in(text), _assignment(text), None, receiver=receiver, is_new=is_new
    )


def _summary(api: str) -> MakeMessage:
    """Return the function that makes the message of a request's last line."""

    def make(found: Found, by: Speaker) -> Message:
        values = found.groupdict()
        receivers = broker_set_in(values.get("receivers") or found["receiver"])
        count = int(found["count"]) + int(values.get("followers") or 0)
        return RequestSummary(api, receivers, count)

    return make


def _response(found: Found, by: Speaker) -> Message:
    error = RESPONSE_ERROR.search(found["body"])
    errors = REFUSAL.findall(found["body"])
    refusals = tuple((TopicPartition(topic, int(number)), int(code)) for topic, number, code in errors if code != "0")
    return ResponseLogged(BrokerId(int(found["broker"])), APIS[found["api"]], int(error[1]) if error else None, refusals)


def _sent(found: Found, by: Speaker) -> Message:
    state, assignment = state_in(found["state"]), found["assignment"]
    known = assignment_in(assignment) if assignment else ReplicaAssignment(ids_in(found["replicas"]))
    return StateSeen(by.broker, by.epoch, partition_in(found["tp"]), state, known)


CHANGE = rf"{TP} from (?P<before>\w+) to (?P<after>\w+)"
BY_CONTROLLER = (
    # C1, C2, C3, C4
    reads(
        "Changed partition ",
        rf"{TP} state from \w+ to NewPartition with assigned replicas (?P<replicas>[\d,]*)",
        PartitionNew,
    ),
    reads(
        "Changed partition ",
        rf"{TP} from (?P<before>\w+) to OnlinePartition with state (?P<state>LeaderAndIsr\(.*\))",
        PartitionElected,
        _elected,
    ),
    knows("Changed partition ", r"\S+ state from \w+ to (?:Offline|NonExistent)Partition"),
    reads("Changed state of replica ", rf"\d+ for partition {TP} from \w+ to (?P<after>\w+)", ReplicaChanged),
    # C5
    reads(
        "Partition ",
        rf"{TP} state changed to (?P<state>\(Leader:.*\)) after removing replica (?P<replica>\d+) from the ISR"
        r" as part of transition to OfflineReplica",
        ReplicaRemoved,
        _removed,
    ),
    # C6, C7
    reads(
        "Sending become-",
        rf"\w+ LeaderAndIsr request (?P<state>.*) {RECEIVER} for partition {TP}",
        LeaderAndIsrSent,
        _leader_and_isr_sent,
    ),
    reads(
        "Sending LeaderAndIsr request to broker ",
        r"(?P<receiver>-?\d+) with (?P<count>\d+) become-leader and (?P<followers>\d+) become-follower partitions",
        RequestSummary,
        _summary(LEADER_AND_ISR),
    ),
    # C8, C9
    reads(
        "Sending UpdateMetadata request ",
        rf"(?P<state>\S*PartitionState\(.*\)) to brokers .* for partition {TP}",
        StateSeen,
        _state_sent,
    ),
    reads_laxly(
        "Sending UpdateMetadata request ",
        rf"\S*PartitionState\(.*\) to brokers {RECEIVERS} for partition \S+",
        UpdateMetadataSent,
    ),
    reads(
        "Sending UpdateMetadata request to brokers ",
        rf"{RECEIVERS} for (?P<count>\d+) partitions",
        RequestSummary,
        _summary(UPDATE_METADATA),
    ),
    # C10, C11
    reads(
        "Sending StopReplica request ",
        rf"StopReplicaPartitionState\((?:{STOP_STATE})?.*\) {RECEIVER} for partition {TP}",
        StopReplicaSent,
    ),
    reads(
        "Sending StopReplica request ",
        rf"(?:\(delete = \w+\) )?for (?P<count>\d+) replicas {RECEIVER}",
        RequestSummary,
        _summary(STOP_REPLICA),
    ),
    # C12
    reads(
        "Received response ",
        rf"(?P<body>.*) for request (?P<api>{'|'.join(APIS)}) with correlation id \d+ sent to "
        r"broker .*\(id: (?P<broker>\d+) .*\)",
        ResponseLogged,
        _response,
    ),
    # C13
    reads(
        "Sent LeaderAndIsr request ",
        r"(?P<state>\(Leader:.*?\)) with new (?:replica assignment (?P<assignment>.*)|assigned replica list "
        rf"(?P<replicas>[\d,]*)) to leader -?\d+ for partition being reassigned {TP}",
        StateSeen,
        _sent,
    ),
    # C14, C15
    reads("Controller ", rf"\d+ epoch \d+ failed to change state for partition {CHANGE}", StateChangeFailed),
    reads("Failed to change state for partition ", CHANGE, StateChangeFailed),
    reads(
        "Controller ",
        rf"\d+ epoch \d+ initiated state change of replica (?P<replica>\d+) for partition {TP} from \w+ to (?P<after>\w+)"
        " failed",
        ReplicaChangeFailed,
    ),
    knows("Controller ", r"\d+ epoch \d+ initiated state change of replica .*"),
    # C17
    reads("Mark replicas ", r"(?P<partitions>\S*) on broker (?P<broker>\d+) as offline", ReplicasOffline),
    *knows_by_start(
        "Initiated state change of replica ",
        "Received error ",  # C16
    ),
)


# --- brokers


def _state_received(found: Found, by: Speaker) -> Message:
    controller, epoch, text = BrokerId(int(found["controller"])), ControllerEpoch(int(found["epoch"])), found["state"]
    return LeaderAndIsrReceived(controller, epoch, _tp_in(found), state_in(text), _assignment(text), by.broker)


def _state_cached(found: Found, by: Speaker) -> Message:
    controller, epoch, text = BrokerId(int(found["controller"])), ControllerEpoch(int(found["epoch"])), found["state"]
    return StateSeen(controller, epoch, partition_in(found["tp"]), state_in(text), _assignment_in_metadata(text), by.broker)


def _leads(found: Found, by: Speaker) -> Message:
    return BecameLeader(by.broker, partition_in(found["tp"]), *_beginning(found))


def _follows(found: Found, by: Speaker) -> Message:
    return BecameFollower(by.broker, partition_in(found["tp"]), *_beginning(found))


def _beginning(found: Found) -> tuple[int, int, int | None]:
    mark = found["mark"]
    return int(found["leader_epoch"]), int(found["offset"]), None if mark is None else int(mark)


def _role_taken(is_leader: bool) -> MakeMessage:
    return lambda found, _: ReplicaRoleTaken(partition_in(found["tp"]), is_leader)


BEGINNING = (
    rf"{TP} (?:with topic id \S+ )?starts at leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+) "
    r"with (?:partition epoch \d+(?:,| and) )?high watermark (?P<mark>\d+).*"
)
STARTS = rf"{TP} (?:with topic id \S+ )?starts at leader epoch .*"
REFUSED = rf".* for partition {TP} (?:since its associated|as) .*"
BY_BROKER = (
    # B2
    reads(
        "Received LeaderAndIsr request ",
        rf"(?P<state>.*?) correlation id \d+ from {SENDER}(?: for partition {TP})?",
        LeaderAndIsrReceived,
        _state_received,
    ),
    # B6, B7, B8
    reads("Leader ", BEGINNING, BecameLeader, _leads),
    reads("Follower ", BEGINNING, BecameFollower, _follows),
    reads_laxly("Leader ", STARTS, ReplicaRoleTaken, _role_taken(True)),
    reads_laxly("Follower ", STARTS, ReplicaRoleTaken, _role_taken(False)),
    reads(
        "Completed LeaderAndIsr request ",
        rf".* for the become-leader transition for partition {TP}",
        ReplicaRoleTaken,
        _role_taken(True),
    ),
    reads(
        "Completed LeaderAndIsr request ",
        rf".* for the become-follower transition for partition {TP} with leader -?\d+",
        ReplicaRoleTaken,
        _role_taken(False),
    ),
    # B10, B20, B21; B12; B18, B19
    reads("Ignoring LeaderAndIsr request ", REFUSED, LeaderAndIsrIgnored),
    reads(
        "Received LeaderAndIsrRequest ",
        rf".* for partition {TP} .*but cannot become follower .*",
        LeaderUnknown,
    ),
    reads(  # B27
        "Topic ID in memory: ",
        rf"\S+ does not match the topic ID for partition {TP} received: .*",
        LeaderAndIsrIgnored,
    ),
    reads("Skipped the ", rf"become-\w+ state change with correlation id .* for partition {TP} .*", LeaderAndIsrIgnored),
    # B13 up to 2.5
    reads("Handling stop replica ", rf"\(delete=(?P<deletes>\w+)\) for partition {TP}", ReplicaStops),
    # B15
    reads(
        "Cached leader info ",
        rf"(?P<state>.*) for partition {TP} in response to UpdateMetadata request sent by {SENDER} "
        r"with correlation id \d+",
        StateSeen,
        _state_cached,
    ),
    # B22; B14, B23; B24
    reads("Received StopReplica request ", rf"{STOP_STATE}.*? correlation id .* for partition {TP}", StopReplicaReceived),
    reads("Ignoring StopReplica request ", REFUSED, StopReplicaIgnored),
    reads("Ignoring StopReplica request ", r".* since its controller epoch .*", StopReplicaIgnored),
    *knows_by_start(
        "Handling LeaderAndIsr request ",  # B1, B3
        "Stopped fetchers as part of ",  # B4, B5
        "Finished LeaderAndIsr request ",  # B9
        "Handling StopReplica request ",  # B13
        "Finished handling stop replica ",
        "Truncated logs and checkpointed recovery boundaries ",
        "Started fetcher to new leader ",
        "Add ",  # B16
        "Deleted partition ",  # B17
        "Received update metadata request ",  # B24
        "Error while processing LeaderAndIsr request ",  # B25
        "The topic partition ",  # B26
    ),
)
