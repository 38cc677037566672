"""Checks at quiescence that compare the state inside running brokers with ZooKeeper.

They inspect the brokers' objects, not their events. If the brokers of a run cannot be inspected, the checks report nothing.
"""

from collections.abc import Iterator, Sequence

from kcsim.brokers.broker import Broker
from kcsim.brokers.invariants.at_quiescence import leaders_by_state
from kcsim.brokers.invariants.history import RunHistory
from kcsim.brokers.invariants.invariant import Invariant, at_quiescence
from kcsim.brokers.replication.partition import Partition
from kcsim.vocabulary import LeaderAndIsr, TopicPartition


def leaders_know_the_isr(history: RunHistory) -> Iterator[str]:
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


def followers_follow_the_leader(history: RunHistory) -> Iterator[str]:
    """Every other replica that runs follows the leader that the state names, in its leader epoch.

    Left out are replicas without an open log: their broker refused them, as replicas of another topic for example.
    """
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
            elif partition.log is None or partition.is_leader:
                continue
            elif (partition.leader, partition.leader_epoch) != (of.leader, of.leader_epoch):
                followed = f"{partition.leader} in epoch {partition.leader_epoch}"
                yield f"broker {broker.broker_id} follows {followed} in {tp}, which {of.leader} leads in {of.leader_epoch}"


def metadata_equals_zookeeper(history: RunHistory) -> Iterator[str]:
    """Every broker reports to its clients the leaders and ISRs that ZooKeeper has, and all registered brokers as alive."""
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
    reported = known.state.leader_and_isr
    if (reported.leader, reported.leader_epoch, sorted(reported.isr)) != (of.leader, of.leader_epoch, sorted(of.isr)):
        yield f"broker {broker.broker_id} reports {tp} {_in_words(reported)}, its state says {_in_words(of)}"


def no_dead_broker_is_left_in_the_metadata(history: RunHistory) -> Iterator[str]:
    """No broker reports to its clients as alive a broker that is not registered.

    Before Kafka 3.1, while some partition has no leader, brokers are not sent the death of a broker that hosts no partition
    (KAFKA-13225; partitions that are being deleted do not count as leaderless). The release of the present controller
    decides: a new controller sends every broker which brokers are alive.
    """
    topics, registered = history.state.of_topics, history.state.registered.keys()
    assignments = (topics.assignment(tp) for tp in topics.partitions())
    hosts = {broker for assignment in assignments if assignment is not None for broker in assignment.replicas}
    is_any_leaderless = any(tp in topics.states for tp in topics.offline(registered))
    running = _running(history)
    announces_all = any(
        broker.broker_id == history.state.controller_id and broker.capabilities.every_failure_is_announced
        for broker in running
    )
    for broker in running:
        dead = set(broker.metadata.live_broker_ids) - registered
        is_unannounced = is_any_leaderless and not announces_all and dead.isdisjoint(hosts)
        if dead and not is_unannounced:
            yield _of_brokers(broker, history)


def _of_brokers(broker: Broker, history: RunHistory) -> str:
    registered = sorted(history.state.registered)
    return f"broker {broker.broker_id} knows of brokers {broker.metadata.live_broker_ids}, registered are {registered}"


def no_metadata_is_left_of_what_is_gone(history: RunHistory) -> Iterator[str]:
    """No broker knows of a partition that has no state, unless it was away, but not restarted, and may have missed the end.

    Kafka does not send the deletion to such a broker later either.
    """
    for broker in _running(history):
        if not _was_away(history, broker):
            for tp in sorted(broker.metadata.partitions):
                if tp not in history.state.of_topics.states and tp.topic not in history.state.of_topics.deleting:
                    yield f"broker {broker.broker_id} has metadata of {tp}, which has no state"


def _was_away(history: RunHistory, broker: Broker) -> bool:
    return f"broker-{broker.broker_id}" in history.was_frozen or history.registrations.get(broker.broker_id, 0) > 1


def _running(history: RunHistory) -> list[Broker]:
    inside = history.inside
    return [] if inside is None else [inside.broker(f"broker-{broker}") for broker in history.running()]


def _in_words(of: LeaderAndIsr) -> str:
    return f"leader {of.leader}, leader epoch {of.leader_epoch}, ISR {sorted(of.isr)}"


AT_QUIESCENCE_INSIDE: Sequence[Invariant] = (
    at_quiescence(leaders_know_the_isr),
    at_quiescence(followers_follow_the_leader),
    at_quiescence(metadata_equals_zookeeper),
    at_quiescence(no_dead_broker_is_left_in_the_metadata),
    at_quiescence(no_metadata_is_left_of_what_is_gone),
)
