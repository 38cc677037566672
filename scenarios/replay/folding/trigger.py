"""Why a partition's state changed, in one word."""

from enum import StrEnum


class Trigger(StrEnum):
    """What the controller, or whoever wrote, was about."""

    TOPIC_CREATED = "TopicCreated"
    BROKER_FAILED = "BrokerFailed"
    BROKER_STARTED = "BrokerStarted"
    BROKER_BOUNCED = "BrokerBounced"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"
    CONTROLLER_FAILOVER = "ControllerFailover"
    PREFERRED_ELECTION = "PreferredElection"  # somebody asked for it
    LEADER_REBALANCE = "LeaderRebalance"  # the automatic one
    UNCLEAN_ELECTION = "UncleanElection"  # somebody asked for it, or has just enabled it
    REASSIGNMENT = "Reassignment"
    LOG_DIR_FAILED = "LogDirFailed"
    TOPIC_DELETION = "TopicDeletion"
    LEADER = "Leader"  # the partition's leader: who keeps up with it
    WRITTEN = "Written"  # somebody who is neither
    UNKNOWN = "Unknown"
