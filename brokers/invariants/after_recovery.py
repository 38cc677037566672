"""What holds once every fault was undone, every process is back, and the cluster had time to recover: nothing is left."""

from collections.abc import Iterator, Sequence

from kcsim.brokers.invariants.history import RunHistory
from kcsim.brokers.invariants.invariant import Invariant, after_recovery
from kcsim.eventlog.topics_state import BELOW_TOPICS
from kcsim.znodes import paths


def all_comes_to_rest(history: RunHistory) -> Iterator[str]:
    """Once everything is well again, nothing happens any more."""
    last = history.last_event
    if not history.is_quiescent and last is not None:
        yield f"{last.kind} at {last.node} as late as {last.t_ms} ms"


def no_reassignment_is_left(history: RunHistory) -> Iterator[str]:
    """Every reassignment ends, and so does the znode that asked for it."""
    for tp in history.state.of_topics.reassigning():
        yield f"{tp} is being reassigned"
    if paths.REASSIGN_PARTITIONS in history.state.znodes:
        yield f"{paths.REASSIGN_PARTITIONS} is left"


def no_deletion_is_left(history: RunHistory) -> Iterator[str]:
    """Every topic whose deletion was asked for is gone, and so is the znode that asked for it."""
    for topic in sorted(history.state.of_topics.deleting):
        yield f"{paths.delete_topic(topic)} is left"


def no_preferred_election_is_left(history: RunHistory) -> Iterator[str]:
    """Every preferred election that was asked for by a znode has been held, or given up."""
    if paths.PREFERRED_REPLICA_ELECTION in history.state.znodes:
        yield f"{paths.PREFERRED_REPLICA_ELECTION} is left"


def every_replica_is_in_sync(history: RunHistory) -> Iterator[str]:
    """Every partition has a state, and its ISR is its replicas, in whatever order."""
    topics = history.state.of_topics
    for tp in topics.partitions():
        assignment = topics.assignment(tp)
        if assignment is not None and sorted(topics.isr(tp)) != sorted(assignment.replicas):
            yield f"{tp} has ISR {list(topics.isr(tp))} of {list(assignment.replicas)}"


def no_znode_of_a_topic_is_orphaned(history: RunHistory) -> Iterator[str]:
    """What lies below /brokers/topics and /config/topics is of a topic that exists, and of a partition that it has."""
    state = history.state
    for path in sorted(state.znodes):
        known = paths.parse(path) if path.startswith((BELOW_TOPICS, "/config/topics/")) else None
        if known is None:
            continue
        topic = known.topic if known.topic is not None else known.entity
        tp = known.topic_partition
        if topic not in state.of_topics.topics or (tp is not None and state.of_topics.assignment(tp) is None):
            yield f"{path} belongs to nothing"


AFTER_RECOVERY_BY_EVENTS: Sequence[Invariant] = (
    after_recovery(all_comes_to_rest),
    after_recovery(no_reassignment_is_left),
    after_recovery(no_deletion_is_left),
    after_recovery(no_preferred_election_is_left),
    after_recovery(every_replica_is_in_sync),
    after_recovery(no_znode_of_a_topic_is_orphaned),
)
