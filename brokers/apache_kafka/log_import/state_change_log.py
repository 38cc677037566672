"""Read state-change.log: what the controller decides about partitions, and how brokers act on it.

Source: docs/kafka/logging.md 3 and 4, whose numbers (C1, B6, …) the patterns carry. Up to 0.11 the message names the
controller or broker in its text instead of in a prefix in brackets.
"""

import re
from functools import lru_cache

from kcsim.brokers.apache_kafka.log_import.log_value_parsers import (
    REMEMBERED,
    assignment_in,
    ids_in,
    leader_and_isr_in,
    partition_in,
    state_in,
)
from kcsim.brokers.apache_kafka.log_import.messages import (
    BecameFollower,
    BecameLeader,
    ControllerAtWork,
    Message,
    NoMessage,
    PartitionElected,
    PartitionNew,
    ReplicaRemoved,
    StateChangeFailed,
    StateSeen,
)
from kcsim.brokers.apache_kafka.log_import.patterns import (
    NO_EPOCH,
    UNKNOWN_BROKER,
    Found,
    Speaker,
    knows,
    look_up,
    named,
    reads,
    table,
    without_history,
)
from kcsim.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment

LOGGER = "state.change.logger"

PREFIX = re.compile(r"\[(Controller|Broker) id=(\d+)(?: epoch=(\d+))?\] ")
OLD_PREFIX = re.compile(r"(Controller|Broker) (\d+)(?: epoch (\d+))? (?=[a-z])")
CONTROLLER, BROKER = "Controller", "Broker"
UNKNOWN_SPEAKER = Speaker(UNKNOWN_BROKER, NO_EPOCH)
LAI_ASSIGNMENT = re.compile(r"replicas=(\[[\d, ]*\])(?:, addingReplicas=(\[[\d, ]*\]), removingReplicas=(\[[\d, ]*\]))?")
PARTITION = r"(?P<tp>\S+)"
SENDER = r"controller (?P<controller>\d+) epoch (?P<epoch>\d+)"


def read_state_change(message: str, continuation: str = "") -> Message | NoMessage:
    """Return what a message of state-change.log says, whether a controller or a broker printed it."""
    if message.startswith("["):
        end = message.find("] ") + 2
        role, speaker = _speaker(message[:end])
        text = message[end:]
    else:
        prefix = OLD_PREFIX.match(message)
        if prefix is None:
            return NoMessage.UNKNOWN
        role, speaker = _speaker(f"[{prefix[1]} id={prefix[2]}{f' epoch={prefix[3]}' if prefix[3] else ''}] ")
        text = message[prefix.end()].upper() + message[prefix.end() + 1 :]
    if continuation:
        speaker = speaker._replace(continuation=continuation)
    if role == BROKER:
        result = look_up(BY_BROKER, text, speaker)
        return named(speaker.broker) if result is NoMessage.NO_HISTORY else result
    if role != CONTROLLER:
        return NoMessage.UNKNOWN
    result = look_up(BY_CONTROLLER, text, speaker)
    if result is NoMessage.NO_HISTORY and speaker.epoch != NO_EPOCH:
        return _at_work(speaker.broker, speaker.epoch)
    return result


@lru_cache(REMEMBERED)
def _speaker(text: str) -> tuple[str, Speaker]:
    """Return the role and the speaker that a prefix in brackets names; an empty role if the text is no such prefix."""
    prefix = PREFIX.fullmatch(text)
    if prefix is None:
        return "", UNKNOWN_SPEAKER
    epoch = ControllerEpoch(int(prefix[3])) if prefix[3] else NO_EPOCH
    return prefix[1], Speaker(BrokerId(int(prefix[2])), epoch)


@lru_cache(REMEMBERED)
def _at_work(broker: BrokerId, epoch: ControllerEpoch) -> ControllerAtWork:
    return ControllerAtWork(broker, epoch)


# --- the controller


def _new(found: Found, by: Speaker) -> Message:
    return PartitionNew(by.broker, by.epoch, partition_in(found["tp"]), ids_in(found["replicas"]))


def _elected(found: Found, by: Speaker) -> Message:
    state = leader_and_isr_in(found["state"])
    return PartitionElected(by.broker, by.epoch, partition_in(found["tp"]), found["before"], state)


def _removed(found: Found, by: Speaker) -> Message:
    replica = BrokerId(int(found["replica"]))
    return ReplicaRemoved(by.broker, by.epoch, partition_in(found["tp"]), replica, state_in(found["state"]))


def _sending(found: Found, by: Speaker) -> Message:
    tp, text = partition_in(found["tp"]), found["state"]
    return StateSeen(by.broker, by.epoch, tp, state_in(text), _assignment(text))


def _sent(found: Found, by: Speaker) -> Message:
    state, assignment = state_in(found["state"]), found["assignment"]
    known = assignment_in(assignment) if assignment else ReplicaAssignment(ids_in(found["replicas"]))
    return StateSeen(by.broker, by.epoch, partition_in(found["tp"]), state, known)


def _failed(found: Found, by: Speaker) -> Message:
    error = by.continuation.partition("\n")[0]
    return StateChangeFailed(by.broker, by.epoch, partition_in(found["tp"]), found["before"], found["after"], error)


def _assignment(text: str) -> ReplicaAssignment | None:
    """Return the assignment in a LeaderAndIsr request's state; the states in other requests contain no complete one."""
    if "UpdateMetadata" in text or "offlineReplicas" in text:
        return None
    found = LAI_ASSIGNMENT.search(text)
    return ReplicaAssignment(*(ids_in(one or "") for one in found.groups())) if found else None


CHANGE = rf"{PARTITION} from (?P<before>\w+) to (?P<after>\w+)"
BY_CONTROLLER = table(
    (
        # C1, C2
        reads(
            "Changed partition ",
            rf"{PARTITION} state from \w+ to NewPartition with assigned replicas (?P<replicas>[\d,]*)",
            _new,
        ),
        reads(
            "Changed partition ",
            rf"{PARTITION} from (?P<before>\w+) to OnlinePartition with state (?P<state>LeaderAndIsr\(.*\))",
            _elected,
        ),
        knows("Changed partition ", r"\S+ state from \w+ to (?:Offline|NonExistent)Partition"),  # C3
        # C5
        reads(
            "Partition ",
            rf"{PARTITION} state changed to (?P<state>\(Leader:.*\)) after removing replica (?P<replica>\d+) from the ISR"
            r" as part of transition to OfflineReplica",
            _removed,
        ),
        # C6, C8
        reads(
            "Sending become-",
            rf"\w+ LeaderAndIsr request (?P<state>.*) to broker -?\d+ for partition {PARTITION}",
            _sending,
        ),
        reads(
            "Sending UpdateMetadata request ",
            rf"(?P<state>\S*PartitionState\(.*\)) to brokers .* for partition {PARTITION}",
            _sending,
        ),
        # C13
        reads(
            "Sent LeaderAndIsr request ",
            r"(?P<state>\(Leader:.*?\)) with new (?:replica assignment (?P<assignment>.*)|assigned replica list "
            rf"(?P<replicas>[\d,]*)) to leader -?\d+ for partition being reassigned {PARTITION}",
            _sent,
        ),
        # C14
        reads("Controller ", rf"\d+ epoch \d+ failed to change state for partition {CHANGE}", _failed),
        reads("Failed to change state for partition ", CHANGE, _failed),
        knows("Controller ", r"\d+ epoch \d+ initiated state change of replica .*"),  # C15
        *without_history(
            "Changed state of replica ",  # C4
            "Sending LeaderAndIsr request to broker ",  # C7
            "Sending UpdateMetadata request to brokers ",  # C9
            "Sending StopReplica request ",  # C10, C11
            "Received response ",  # C12
            "Initiated state change of replica ",
            "Received error ",  # C16
            "Mark replicas ",  # C17
        ),
    )
)


# --- brokers


def _received(found: Found, by: Speaker) -> Message:
    controller, epoch = BrokerId(int(found["controller"])), ControllerEpoch(int(found["epoch"]))
    text = found["state"]
    named = found.groupdict().get("tp") or _named(text)
    return StateSeen(controller, epoch, partition_in(named), state_in(text), _assignment(text), by.broker)


NAMED = re.compile(r"topicName='([^']*)', partitionIndex=(\d+)")


def _named(text: str) -> str:
    found = NAMED.search(text)
    if found is None:
        raise ValueError(f"{text!r} names no partition")
    return f"{found[1]}-{found[2]}"


def _leads(found: Found, by: Speaker) -> Message:
    return BecameLeader(by.broker, partition_in(found["tp"]), *_beginning(found))


def _follows(found: Found, by: Speaker) -> Message:
    return BecameFollower(by.broker, partition_in(found["tp"]), *_beginning(found))


def _beginning(found: Found) -> tuple[int, int, int | None]:
    mark = found["mark"]
    return int(found["leader_epoch"]), int(found["offset"]), None if mark is None else int(mark)


BEGINNING = (
    rf"{PARTITION} (?:with topic id \S+ )?starts at leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+) "
    r"with (?:partition epoch \d+(?:,| and) )?high watermark (?P<mark>\d+).*"
)
BY_BROKER = table(
    (
        # B2
        reads(
            "Received LeaderAndIsr request ",
            rf"(?P<state>.*?) correlation id \d+ from {SENDER}(?: for partition {PARTITION})?",
            _received,
        ),
        # B6, B7
        reads("Leader ", BEGINNING, _leads),
        reads("Follower ", BEGINNING, _follows),
        # B15
        reads(
            "Cached leader info ",
            rf"(?P<state>.*) for partition {PARTITION} in response to UpdateMetadata request sent by {SENDER} "
            r"with correlation id \d+",
            _received,
        ),
        *without_history(
            "Handling LeaderAndIsr request ",  # B1, B3
            "Stopped fetchers as part of ",  # B4, B5
            "Completed LeaderAndIsr request ",  # B8
            "Finished LeaderAndIsr request ",  # B9
            "Ignoring LeaderAndIsr request ",  # B10, B11, B20, B21
            "Received LeaderAndIsrRequest ",  # B12
            "Handling StopReplica request ",  # B13
            "Handling stop replica ",
            "Finished handling stop replica ",
            "Truncated logs and checkpointed recovery boundaries ",
            "Started fetcher to new leader ",
            "Ignoring StopReplica request ",  # B14, B23, B24
            "Add ",  # B16
            "Deleted partition ",  # B17
            "Skipped the ",  # B18, B19
            "Received StopReplica request ",  # B22
            "Received update metadata request ",  # B24
            "Error while processing LeaderAndIsr request ",  # B25
        ),
    )
)
