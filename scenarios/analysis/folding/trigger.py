"""The reason of a change of a partition's state, in one word."""

from enum import StrEnum


class Trigger(StrEnum):
    """What the controller, or another writer, was doing."""

    TOPIC_CREATED = "TopicCreated"
    BROKER_FAILED = "BrokerFailed"
    BROKER_STARTED = "BrokerStarted"
    BROKER_BOUNCED = "BrokerBounced"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"
    CONTROLLER_FAILOVER = "ControllerFailover"
    PREFERRED_ELECTION = "PreferredElection"  # requested by an administrator
    LEADER_REBALANCE = "LeaderRebalance"  # the automatic one
    UNCLEAN_ELECTION = "UncleanElection"  # requested by an administrator, or just enabled
    REASSIGNMENT = "Reassignment"
    LOG_DIR_FAILED = "LogDirFailed"
    TOPIC_DELETION = "TopicDeletion"
    LEADER = "Leader"  # the partition's leader changed the ISR: followers fell behind or caught up
    WRITTEN = "Written"  # a client that is neither the controller nor the leader
    UNKNOWN = "Unknown"
