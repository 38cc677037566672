"""The steps of processes that have several: the values of the event log's column `step`.

The steps of a ControlledShutdown are not among them: some name what went wrong.
"""

from enum import StrEnum


class ControllerFailoverStep(StrEnum):
    """The steps of a new controller's initialization, of ControllerFailover. Source: Kafka 2.8, onControllerFailover."""

    REGISTERING_HANDLERS = "Registering handlers"
    DELETING_NOTIFICATIONS = "Deleting log dir event and isr change notifications"
    INITIALIZING_CONTEXT = "Initializing controller context"
    FETCHING_DELETIONS = "Fetching topic deletions in progress"
    SENDING_UPDATE_METADATA = "Sending update metadata request"
    STARTING_REPLICA_STATE_MACHINE = "Starting replica state machine"
    STARTING_PARTITION_STATE_MACHINE = "Starting partition state machine"
    READY = "Ready to serve as the new controller"
    RESUMING_REASSIGNMENTS = "Resuming reassignments"
    RESUMING_DELETIONS = "Resuming topic deletions"
    STARTING_PREFERRED_ELECTION = "Starting preferred replica leader election"
    STARTING_SCHEDULER = "Starting the controller scheduler"


class BrokerChangeStep(StrEnum):
    """What the controller does about the difference that it found, of BrokerChange; without a step it is the comparison."""

    BOUNCED_GONE = "bounced: gone"
    BOUNCED_BACK = "bounced: back"
    STOPPED = "stopped"


class ReassignmentStep(StrEnum):
    """The steps of a reassignment, of PartitionReassignment."""

    STARTED = "started"
    WAITING = "waiting"
    COMPLETING = "completing"
    COMPLETED = "completed"
    FAILED = "failed"
    REFUSED = "refused"
    ENDED = "ended"  # only by a hardened controller: its topic is to be deleted
    RESTARTED = "restarted"  # only inferred from znodes: another target for a partition that is being reassigned
    ASSIGNED = "assigned"  # only inferred from znodes: a new assignment that Kafka before 2.4 does not announce


class TopicDeletionStep(StrEnum):
    """The steps of the deletion of a topic, of TopicDeletion."""

    REFUSED = "refused"
    INELIGIBLE = "ineligible"
    STARTED = "started"
    COMPLETING = "completing"
    COMPLETED = "completed"
