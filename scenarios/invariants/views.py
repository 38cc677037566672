"""What running brokers hold for true once all is quiet, compared with ZooKeeper. Looks into them, not at their events.

Of a run whose brokers cannot be looked into nothing is said.
"""

from collections.abc import Iterator, Sequence

from kcsim.brokers.broker import Broker
from kcsim.brokers.partition import Partition
from kcsim.scenarios.invariants.history import History
from kcsim.scenarios.invariants.invariant import Invariant, once_quiet
from kcsim.scenarios.invariants.quiet import leaders_by_state
from kcsim.zk.vocabulary import LeaderAndIsr, TopicPartition


def leaders_know_the_isr(history: History) -> Iterator[str]:
    """A leader has the ISR of its partition as its state has it, and the version that its next write depends on."""
    for broker in _running(history):
        for tp, of in leaders_by_state(history.state):
            partition = broker.replicas.hosted.get(tp)
            if partition is not None and partition.is_leader and partition.leader_epoch == of.leader_epoch:
                yield from _differences(broker, partition, of)


def _differences(broker: Broker, partition: Partition, of: LeaderAndIsr) -> Iterator[str]:
    wanted: list[tuple[str, object, object]] = [
        ("ISR", sorted(of.isr), sorted(partition.isr)),
        ("version of the state", of.zk_version, partition.zk_version),
    ]
    for what, is_so, believed in wanted:
        if is_so != believed:
            yield f"{partition.tp} has {what} {is_so}, but for broker {broker.broker_id} it has {believed}"


def followers_follow_the_leader(history: History) -> Iterator[str]:
    """Every other replica that runs follows the leader that the state names, in its leader epoch."""
    topics = history.state.of_topics
    for broker in _running(history):
        for tp, of in leaders_by_state(history.state):
            assignment = topics.assignment(tp)
            if of.leader in (None, broker.broker_id) or assignment is None or broker.broker_id not in assignment.replicas:
                continue
            partition = broker.replicas.hosted.get(tp)
            if partition is None:
                if tp not in broker.replicas.hosted.offline:
                    yield f"broker {broker.broker_id} knows nothing of {tp}"
            elif not partition.is_leader and (partition.leader, partition.leader_epoch) != (of.leader, of.leader_epoch):
                told = f"{partition.leader} in epoch {partition.leader_epoch}"
                yield f"broker {broker.broker_id} follows {told} in {tp}, which {of.leader} leads in {of.leader_epoch}"


def metadata_equals_zookeeper(history: History) -> Iterator[str]:
    """Every broker tells its clients the leaders and ISRs that ZooKeeper has, and that those who are registered live."""
    state = history.state
    for broker in _running(history):
        if not state.registered.keys() <= set(broker.metadata.live_broker_ids):
            yield _of_brokers(broker, history)
        for tp, of in leaders_by_state(state):
            yield from _metadata_of(broker, tp, of)


def _metadata_of(broker: Broker, tp: TopicPartition, of: LeaderAndIsr) -> Iterator[str]:
    known = broker.metadata.partitions.get(tp)
    if known is None:
        yield f"broker {broker.broker_id} has no metadata of {tp}"
        return
    told = known.state.leader_and_isr
    if (told.leader, told.leader_epoch, sorted(told.isr)) != (of.leader, of.leader_epoch, sorted(of.isr)):
        yield f"broker {broker.broker_id} tells of {tp} {_in_words(told)}, its state says {_in_words(of)}"


def no_dead_broker_is_left_in_the_metadata(history: History) -> Iterator[str]:
    """No broker tells its clients that somebody lives who is not registered.

    While some partition has no leader, nobody is told of the death of a broker that hosts nothing, what is being deleted
    aside: so it is in Kafka until 3.0 (KAFKA-13225).
    """
    topics, registered = history.state.of_topics, history.state.registered.keys()
    is_any_leaderless = any(tp in topics.states for tp in topics.offline(registered))
    assignments = (topics.assignment(tp) for tp in topics.partitions())
    hosts = {broker for assignment in assignments if assignment is not None for broker in assignment.replicas}
    for broker in _running(history):
        dead = set(broker.metadata.live_broker_ids) - registered
        if dead and not (is_any_leaderless and dead.isdisjoint(hosts)):
            yield _of_brokers(broker, history)


def _of_brokers(broker: Broker, history: History) -> str:
    registered = sorted(history.state.registered)
    return f"broker {broker.broker_id} knows of brokers {broker.metadata.live_broker_ids}, registered are {registered}"


def no_metadata_is_left_of_what_is_gone(history: History) -> Iterator[str]:
    """No broker knows of a partition that has no state, unless it was away, but not restarted, and may have missed the end.

    Nobody tells it later: that is so in Kafka.
    """
    for broker in _running(history):
        if not _was_away(history, broker):
            for tp in sorted(broker.metadata.partitions):
                if tp not in history.state.of_topics.states and tp.topic not in history.state.of_topics.deleting:
                    yield f"broker {broker.broker_id} has metadata of {tp}, which has no state"


def _was_away(history: History, broker: Broker) -> bool:
    return f"broker-{broker.broker_id}" in history.was_frozen or history.registrations.get(broker.broker_id, 0) > 1


def _running(history: History) -> list[Broker]:
    inside = history.inside
    return [] if inside is None else [inside.broker(f"broker-{broker}") for broker in history.running()]


def _in_words(of: LeaderAndIsr) -> str:
    return f"leader {of.leader}, leader epoch {of.leader_epoch}, ISR {sorted(of.isr)}"


ONCE_QUIET_INSIDE: Sequence[Invariant] = (
    once_quiet(leaders_know_the_isr),
    once_quiet(followers_follow_the_leader),
    once_quiet(metadata_equals_zookeeper),
    once_quiet(no_dead_broker_is_left_in_the_metadata),
    once_quiet(no_metadata_is_left_of_what_is_gone),
)
