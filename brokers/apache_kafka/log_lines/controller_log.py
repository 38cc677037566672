"""The messages of controller.log: who is the controller, what it finds and does, and why it elects leaders.

Source: docs/kafka/logging.md 5.
"""

import re

from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    BrokersFailed,
    BrokersStarted,
    BrokerUnreachable,
    ControllerExists,
    ControllerReady,
    ControllerTermBegun,
    DeletionHalted,
    DeletionRefused,
    DeletionStarted,
    ElectedControllerResigned,
    ElectionLost,
    EventFailed,
    FailoverStep,
    ImbalanceMeasured,
    LeadersListed,
    PartitionsFound,
    Resigning,
    StateChangesFailed,
    TakeoverFailed,
)
from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import broker_epochs_in, partition_in
from kcsim.brokers.apache_kafka.log_lines.messages import (
    AssignmentUpdated,
    BrokerEpochs,
    BrokersAlive,
    BrokersChanged,
    BrokerShutsDown,
    ControllerElected,
    ControllerMoved,
    ElectionTriggered,
    IsrUpdatedByController,
    LeaderEpochRaised,
    Message,
    PartitionsAdded,
    ReassignmentElects,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import (
    Found,
    MessagePattern,
    Speaker,
    knows,
    knows_by_start,
    reads,
    reads_laxly,
)
from kcsim.vocabulary import BrokerId

LOGGERS = "kafka.controller."

PREFIX = re.compile(
    r"\[(?:Controller id=|Controller |ControllerEventThread controllerId=|PartitionStateMachine controllerId="
    r"|ReplicaStateMachine controllerId=|RequestSendThread controllerId=|Topic Deletion Manager "
    r"|Channel manager on controller |Partition state machine on Controller |Replica state machine on controller )"
    r"(\d+)(?: epoch=\d+)?\][,:]? ?"
)

FAILOVER_STEPS = (
    "Registering handlers",
    "Deleting log dir event notifications",
    "Initializing controller context",
    "Fetching topic deletions in progress",
    "Sending update metadata request",
    "Initializing replica state",
    "Initializing partition state",
    "Partitions undergoing preferred replica election: ",
    "Starting the controller scheduler",
)
"""The steps of a failover, in Kafka's wording; values follow those that end with a space."""

LEADING = re.compile(r"([^\s,]+-\d+) -> \(Leader:(-?\d+),")
IN_STATE = re.compile(r" -> \w+Partition\b")

WITHOUT_PREFIX = "The stop replica request "
"""The start of the only message that may have no prefix."""


def speaker_and_text(message: str, continuation: str = "") -> tuple[Speaker, str] | None:
    """Return the broker that printed a message and the text after the prefix, whichever of the file's loggers wrote it.

    None: the message has no prefix of a controller's class.
    """
    prefix = PREFIX.match(message)
    if prefix is None:
        return None
    # After the prefix, some messages start with the broker's id; it is removed, because the lookup goes by first word.
    text = message[prefix.end() :].removeprefix(f"{prefix[1]} ")
    return Speaker(BrokerId(int(prefix[1])), continuation=continuation), text


def _step(words: str) -> MessagePattern:
    return reads(words, ".*" if words.endswith(" ") else "", FailoverStep, lambda _, __: FailoverStep(words))


def _epochs_at_election(found: Found, by: Speaker) -> Message:
    return BrokerEpochs(by.broker, broker_epochs_in(found["epochs"]), at_election=True)


def _epochs(found: Found, by: Speaker) -> Message:
    return BrokerEpochs(by.broker, broker_epochs_in(found["epochs"]), at_election=False)


def _partitions_found(found: Found, by: Speaker) -> Message:
    return PartitionsFound(len(IN_STATE.findall(found["states"])))


def _leaders(found: Found, by: Speaker) -> Message:
    return LeadersListed(tuple((partition_in(tp), int(leader)) for tp, leader in LEADING.findall(found["leaders"])))


TP = r"(?P<tp>\S+)"
EPOCHS = r"(?P<epochs>\w+\(.*\))"
BROKER = r"(?P<broker>\d+)"
BROKERS = r"(?P<brokers>[\d,]+)"

PATTERNS = (
    # elected; the ways in which an election is lost
    reads(
        "successfully elected as the controller. ",
        r"Epoch incremented to (?P<controller_epoch>\d+) and epoch zk version is now (?P<zk_version>\d+)",
        ControllerElected,
    ),
    reads_laxly(
        "successfully elected as the controller. ",
        r"Epoch incremented to (?P<controller_epoch>\d+) and .*",
        ControllerTermBegun,
    ),
    reads("Epoch incremented to ", r"(?P<controller_epoch>\d+)", ControllerElected),
    reads("Controller ", r"\d+ incremented epoch to (?P<controller_epoch>\d+)", ControllerElected),
    reads("Broker ", r"(?P<holder>\d+) was elected as controller instead of broker \d+", ElectionLost),
    reads(
        "Broker ",
        r"(?P<holder>\d+) has been elected as the controller, so stopping the election process\.",
        ControllerExists,
    ),
    reads("A controller has been elected but just resigned", ".*", ElectedControllerResigned),
    # failover
    *map(_step, FAILOVER_STEPS),
    reads("Ready to serve as the new controller ", r"with epoch (?P<controller_epoch>\d+)", ControllerReady),
    reads("Initialized broker epochs cache: ", EPOCHS, BrokerEpochs, _epochs_at_election),
    reads("Currently active brokers in the cluster: ", r"(?P<brokers>\w+\([\d, ]*\))", BrokersAlive),
    reads("Started partition state machine with initial state -> ", r"(?P<states>.*)", PartitionsFound, _partitions_found),
    # resign, moved, failures
    reads("Resigning", "", Resigning),
    reads("Controller moved to another broker when processing ", r"(?P<event>.+?)\.?", ControllerMoved),
    reads("Controller moved to another broker when ", ".*", ControllerMoved),
    reads("Error processing event ", r"(?P<event>.+)", EventFailed),
    reads("Error while electing or becoming controller ", "on broker .*", TakeoverFailed),
    reads("Error while moving some ", r"(?P<what>replicas|partitions) to (?P<after>\w+) state", StateChangesFailed),
    # broker change, shutting down, channels
    reads(
        "Newly added brokers: ",
        r"(?P<added>[\d,]*), deleted brokers: (?P<deleted>[\d,]*)(?:, bounced brokers: (?P<bounced>[\d,]*))?"
        r", all live brokers: (?P<alive>[\d,]*)",
        BrokersChanged,
    ),
    reads("Updated broker epochs cache: ", EPOCHS, BrokerEpochs, _epochs),
    reads("New broker startup callback ", f"for {BROKERS}", BrokersStarted),
    reads("Broker failure callback for ", BROKERS, BrokersFailed),
    reads("Shutting down broker ", BROKER, BrokerShutsDown),
    reads("All leaders = ", r"(?P<leaders>.*)", LeadersListed, _leaders),
    reads("Controller ", rf"\d+'s connection to broker .*\(id: {BROKER} .*\) was unsuccessful", BrokerUnreachable),
    reads("Controller ", rf"\d+ epoch \d+ fails to send request .*\(id: {BROKER} .*\)\. Reconnecting.*", BrokerUnreachable),
    # topics and their deletion
    reads(
        "New topics: ",
        r"\[(?P<new_topics>.*)\], deleted topics: \[(?P<deleted_topics>\w+\(.*?\))\], new partition replica assignment "
        r"\[(?P<assignments>.*)\]",
        TopicsChanged,
    ),
    reads("New partitions to be added ", r"(?P<assignments>\w+\(.*\))", PartitionsAdded),
    reads("Deletion of topic ", r"(?P<topic>\S+) \(re\)started", DeletionStarted),
    reads("Deletion of topic ", r"(?P<topic>\S+) successfully completed", TopicDeleted),
    reads("Halted deletion ", r"of topics (?P<topics>\S+) due to (?P<reason>.*)", DeletionHalted),
    reads("Ignoring request to delete ", r"(?P<reason>non-existing topics) (?P<topics>\S+)", DeletionRefused),
    reads("Removing ", r"(?P<topics>\w+\(.*\)) since (?P<reason>delete topic is disabled)", DeletionRefused),
    # elections, reassignments, ISRs
    reads("Leader imbalance ratio ", rf"for broker {BROKER} is .*", ImbalanceMeasured),
    reads(
        "Starting replica leader election ",
        r"\((?P<kind>\w+)\) for partitions (?P<partitions>\S*) triggered by (?P<trigger>\w+)",
        ElectionTriggered,
    ),
    reads(
        "Successfully updated assignment of partition ",
        rf"{TP} to (?P<assignment>ReplicaAssignment\(.*\))",
        AssignmentUpdated,
    ),
    reads(
        "Updated leader epoch for partition ",
        rf"{TP} to (?P<leader_epoch>\d+)(?:, zkVersion=(?P<zk_version>\d+))?",
        LeaderEpochRaised,
    ),
    reads(
        "Leader ",
        rf"(?P<leader>-?\d+) for partition {TP} being reassigned, is not in the new list of replicas [\d,]*\. "
        r"Re-electing leader",
        ReassignmentElects,
    ),
    reads("ISR for partition ", rf"{TP} updated to (?P<state>LeaderAndIsr\(.*\))\.", IsrUpdatedByController),
    # without a message
    knows("successfully elected as the controller"),
    knows("Starting"),
    knows(
        "Controller ",
        r"\d+ (?:trying to connect to|connected to|epoch \d+ fails to send|fails to send) .*|\d+'s connection .*",
    ),
    knows("Leader ", r"-?\d+ for partition \S+ being reassigned, is already in the new list of replicas .*"),
    *knows_by_start(
        # the role
        "Creating FeatureZNode ",
        "Deleting isr change notifications",
        "Initializing ",
        "Currently shutting brokers ",
        "Current list of topics ",
        "List of ",
        "Triggering ",
        "Started ",
        "Partitions ",
        "Skipping ",
        "Resuming preferred replica election ",
        "Resigned",
        "Stopped",
        "Stopped ",
        "Shutting down",
        "Shutdown completed",
        "Unclean leader election has been enabled ",
        "Controller has already moved ",
        # brokers and channels
        "Register BrokerModifications handler ",
        "Unregister BrokerModifications handler ",
        "Updated broker metadata: ",
        "All ",
        "Live brokers: ",
        "Removed ",
        "shutdownInitiated ",
        "Sending MetadataRequest ",
        "Handling ",
        # topics and their deletion
        "New partition creation callback ",
        "Restoring the partition replica assignment ",
        "Ignoring ",
        "Delete topics listener fired ",
        "Delete topic callback invoked ",
        "Starting topic deletion ",
        "Deletion successfully completed for replicas ",
        "Deletion started for replicas ",
        "Topic deletion callback ",
        "Deletion failed for replicas ",
        "Dead Replicas ",
        "Retrying deletion ",
        "Some replicas ",
        # elections and reassignments
        "Partition ",
        "Error completing ",
        "Waiting for any successful result ",
        "Preferred replicas by broker ",
        "Processing automatic preferred replica leader election",
        "Checking need to trigger auto leader balancing",
        "Topics not in preferred replica ",
        "Updating assignment of partition ",
        "Updating leader epoch for partition ",
        "Updating ISRs for partitions: ",
        "Target replicas ",
        "No more partitions need to be reassigned",
        "Failed reassignment through zk ",
    ),
)
