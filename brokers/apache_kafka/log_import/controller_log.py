"""Read controller.log: who is the controller, which brokers and topics it finds, and why it elects leaders.

Source: docs/kafka/logging.md 5.
"""

import re

from kcsim.brokers.apache_kafka.log_import.log_value_parsers import (
    assignment_in,
    assignments_in,
    broker_epochs_in,
    ids_in,
    leader_and_isr_in,
    names_in,
    partition_in,
    partitions_in,
)
from kcsim.brokers.apache_kafka.log_import.messages import (
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
    NoMessage,
    PartitionsAdded,
    ReassignmentElects,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.brokers.apache_kafka.log_import.patterns import (
    NO_EPOCH,
    Found,
    Speaker,
    knows,
    look_up,
    named,
    reads,
    table,
    without_history,
)
from kcsim.vocabulary import BrokerId, ControllerEpoch

LOGGERS = "kafka.controller."

PREFIX = re.compile(
    r"\[(?:Controller id=|Controller |ControllerEventThread controllerId=|PartitionStateMachine controllerId="
    r"|ReplicaStateMachine controllerId=|RequestSendThread controllerId=|Topic Deletion Manager "
    r"|Channel manager on controller |Partition state machine on Controller |Replica state machine on controller )"
    r"(\d+)(?: epoch=\d+)?\][,:]? ?"
)
WITHOUT_PREFIX = "The stop replica request "


def read_controller(message: str, continuation: str = "") -> Message | NoMessage:
    """Return what a message of controller.log says, whichever of the file's loggers wrote it."""
    prefix = PREFIX.match(message)
    if prefix is None:
        return NoMessage.NO_HISTORY if message.startswith(WITHOUT_PREFIX) else NoMessage.UNKNOWN
    speaker = Speaker(BrokerId(int(prefix[1])), NO_EPOCH, continuation)
    text = message[prefix.end() :]
    # After the prefix, some messages start with the broker's id; it is removed, because the lookup goes by first word.
    result = look_up(MESSAGES, text.removeprefix(f"{speaker.broker} "), speaker)
    return named(speaker.broker) if result is NoMessage.NO_HISTORY else result


def _won(found: Found, by: Speaker) -> Message:
    version = found["version"]
    epoch = ControllerEpoch(int(found["epoch"]))
    return ControllerElected(by.broker, epoch, None if version is None else int(version))


def _changed_brokers(found: Found, by: Speaker) -> Message:
    return BrokersChanged(by.broker, ids_in(found["added"]), ids_in(found["deleted"]), ids_in(found["bounced"] or ""))


def _epochs_at_election(found: Found, by: Speaker) -> Message:
    return BrokerEpochs(by.broker, broker_epochs_in(found["epochs"]), at_election=True)


def _epochs(found: Found, by: Speaker) -> Message:
    return BrokerEpochs(by.broker, broker_epochs_in(found["epochs"]), at_election=False)


def _alive(found: Found, by: Speaker) -> Message:
    return BrokersAlive(by.broker, tuple(BrokerId(int(name)) for name in names_in(found["brokers"])))


def _topics(found: Found, by: Speaker) -> Message:
    return TopicsChanged(by.broker, assignments_in(found["assignments"]), names_in(found["deleted"]))


def _added(found: Found, by: Speaker) -> Message:
    return PartitionsAdded(by.broker, assignments_in(found["assignments"]))


def _assigned(found: Found, by: Speaker) -> Message:
    return AssignmentUpdated(by.broker, partition_in(found["tp"]), assignment_in(found["assignment"]))


def _raised(found: Found, by: Speaker) -> Message:
    version = found["version"]
    return LeaderEpochRaised(
        by.broker, partition_in(found["tp"]), int(found["epoch"]), None if version is None else int(version)
    )


def _isr_updated(found: Found, by: Speaker) -> Message:
    return IsrUpdatedByController(by.broker, partition_in(found["tp"]), leader_and_isr_in(found["state"]))


def _election_triggered(found: Found, by: Speaker) -> Message:
    return ElectionTriggered(by.broker, found["kind"], found["trigger"], partitions_in(found["tps"]))


def _deleted(found: Found, by: Speaker) -> Message:
    return TopicDeleted(by.broker, found["topic"])


def _re_elects(found: Found, by: Speaker) -> Message:
    return ReassignmentElects(by.broker, partition_in(found["tp"]), BrokerId(int(found["leader"])))


def _shuts_down(found: Found, by: Speaker) -> Message:
    return BrokerShutsDown(by.broker, BrokerId(int(found["broker"])))


def _moved(found: Found, by: Speaker) -> Message:
    return ControllerMoved(by.broker)


EPOCHS = r"(?P<epochs>\w+\(.*\))"
MESSAGES = table(
    (
        reads(
            "successfully elected as the controller. ",
            r"Epoch incremented to (?P<epoch>\d+) and epoch zk version is now (?P<version>\d+)",
            _won,
        ),
        reads("Epoch incremented to ", r"(?P<epoch>\d+)(?P<version>(?!))?", _won),
        reads("Controller ", r"\d+ incremented epoch to (?P<epoch>\d+)(?P<version>(?!))?", _won),
        reads(
            "Newly added brokers: ",
            r"(?P<added>[\d,]*), deleted brokers: (?P<deleted>[\d,]*)(?:, bounced brokers: (?P<bounced>[\d,]*))?"
            r", all live brokers: [\d,]*",
            _changed_brokers,
        ),
        reads("Initialized broker epochs cache: ", EPOCHS, _epochs_at_election),
        reads("Updated broker epochs cache: ", EPOCHS, _epochs),
        reads("Currently active brokers in the cluster: ", r"(?P<brokers>\w+\([\d, ]*\))", _alive),
        reads(
            "New topics: ",
            r"\[.*\], deleted topics: \[(?P<deleted>\w+\(.*?\))\], new partition replica assignment \[(?P<assignments>.*)\]",
            _topics,
        ),
        reads("New partitions to be added ", r"(?P<assignments>\w+\(.*\))", _added),
        reads(
            "Successfully updated assignment of partition ",
            r"(?P<tp>\S+) to (?P<assignment>ReplicaAssignment\(.*\))",
            _assigned,
        ),
        reads(
            "Updated leader epoch for partition ",
            r"(?P<tp>\S+) to (?P<epoch>\d+)(?:, zkVersion=(?P<version>\d+))?",
            _raised,
        ),
        reads("ISR for partition ", r"(?P<tp>\S+) updated to (?P<state>LeaderAndIsr\(.*\))\.", _isr_updated),
        reads(
            "Starting replica leader election ",
            r"\((?P<kind>\w+)\) for partitions (?P<tps>\S*) triggered by (?P<trigger>\w+)",
            _election_triggered,
        ),
        reads("Deletion of topic ", r"(?P<topic>\S+) successfully completed", _deleted),
        reads(
            "Leader ",
            r"(?P<leader>-?\d+) for partition (?P<tp>\S+) being reassigned, is not in the new list of replicas [\d,]*\. "
            r"Re-electing leader",
            _re_elects,
        ),
        reads("Shutting down broker ", r"(?P<broker>\d+)", _shuts_down),
        reads("Controller moved to another broker when ", r".*", _moved),
        knows("successfully elected as the controller"),
        knows("Starting"),
        knows(
            "Controller ",
            r"\d+ (?:trying to connect to|connected to|epoch \d+ fails to send|fails to send) .*|\d+'s connection .*",
        ),
        knows("Deletion of topic ", r"\S+ \(re\)started"),
        knows("Leader ", r"-?\d+ for partition \S+ being reassigned, is already in the new list of replicas .*"),
        *without_history(
            # the role
            "Broker ",  # lost election; failure callback for
            "Creating FeatureZNode ",
            "Registering handlers",
            "Deleting log dir event notifications",
            "Deleting isr change notifications",
            "Initializing ",
            "Currently shutting brokers ",
            "Current list of topics ",
            "Fetching topic deletions in progress",
            "List of ",
            "Sending update metadata request",
            "Triggering ",
            "Started ",
            "Ready to serve as the new controller ",
            "Partitions ",
            "Skipping ",
            "Resuming preferred replica election ",
            "Starting the controller scheduler",
            "Resigning",
            "Resigned",
            "Stopped",
            "Stopped ",
            "Error processing event ",
            "Error while electing or becoming controller ",
            "A controller has been elected but just resigned",
            "Shutting down",
            "Shutdown completed",
            "Unclean leader election has been enabled ",
            # brokers and channels
            "New broker startup callback ",
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
            "Removing ",
            "Deletion successfully completed for replicas ",
            "Deletion started for replicas ",
            "Topic deletion callback ",
            "Deletion failed for replicas ",
            "Halted deletion ",
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
            "Leader imbalance ratio ",
            "Updating assignment of partition ",
            "Updating leader epoch for partition ",
            "Updating ISRs for partitions: ",
            "Target replicas ",
            "No more partitions need to be reassigned",
            "Failed reassignment through zk ",
        ),
    )
)
