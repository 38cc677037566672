"""What holds once nothing has happened for a while, even with brokers dead or cut off, judged by events and znodes."""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.brokers.invariants.history import RunHistory
from kcsim.brokers.invariants.invariant import Invariant, at_quiescence
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.vocabulary import BrokerId, LeaderAndIsr, TopicPartition
from kcsim.znodes import paths

# --- what ZooKeeper holds --------------------------------------------------------------------------------------------------


def there_is_one_controller(history: RunHistory) -> Iterator[str]:
    """Where brokers are registered, one of them holds /controller."""
    state = history.state
    if state.registered and state.controller_id not in state.registered:
        yield f"/controller names {state.controller_id}, registered are {sorted(state.registered)}"


def every_partition_that_can_be_led_is_led(history: RunHistory) -> Iterator[str]:
    """A partition with a registered member in its ISR has a registered leader; one without a state has no live replica.

    Topics whose deletion was requested are left out: they get no elections any more. So are replicas of brokers that have
    lost a log directory, which may have held the replica.
    """
    topics, registered = history.state.of_topics, history.state.registered.keys()
    for tp in topics.partitions():
        leader, assignment = topics.leader(tp), topics.assignment(tp)
        able = topics.isr(tp) if tp in topics.states else assignment.replicas if assignment else ()
        there = sorted(broker for broker in able if broker in registered and broker not in history.unsure)
        if leader not in registered and there:
            yield f"{tp} has leader {leader}, though of {list(able)} there are {there}"


def isrs_are_within_the_replicas(history: RunHistory) -> Iterator[str]:
    """A member of an ISR is one of the partition's replicas."""
    topics = history.state.of_topics
    if not history.state.registered:
        return
    for tp in topics.partitions():
        isr, assignment = topics.isr(tp), topics.assignment(tp)
        foreign = [broker for broker in isr if assignment is None or broker not in assignment.replicas]
        if foreign:
            yield f"{tp} has ISR {list(isr)}, but {foreign} are no replicas of it"


def isrs_hold_live_replicas_only(history: RunHistory) -> Iterator[str]:
    """A member of an ISR is registered, unless it is the last member.

    Where no broker is registered there is no controller that could remove dead members.
    """
    topics, registered = history.state.of_topics, history.state.registered
    if not registered:
        return
    for tp in topics.partitions():
        isr = topics.isr(tp)
        dead = [broker for broker in isr if broker not in registered]
        if dead and len(isr) > 1:
            yield f"{tp} has ISR {list(isr)}, but {dead} are not registered"


def no_notification_is_left(history: RunHistory) -> Iterator[str]:
    """If there is a controller, it has processed every notification about ISRs and log directories."""
    if history.state.controller_id is None:
        return
    for parent in (paths.ISR_CHANGE_NOTIFICATION, paths.LOG_DIR_EVENT_NOTIFICATION):
        for name in history.state.children(parent):
            yield f"{paths.child(parent, name)} is left"


# --- what brokers believe about their roles --------------------------------------------------------------------------------


def leaders_know_that_they_lead(history: RunHistory) -> Iterator[str]:
    """A running broker that leads a partition by its state has become its leader in that leader epoch."""
    leading = leaderships(history)
    for tp, of in leaders_by_state(history.state):
        if of.leader is not None and of.leader in leading:
            believed = leading[of.leader].get(tp)
            if believed != of.leader_epoch:
                belief = "does not lead it" if believed is None else f"leads it in epoch {believed}"
                yield f"{tp} is led by {of.leader} in leader epoch {of.leader_epoch}, but broker {of.leader} {belief}"


def no_other_replica_leads(history: RunHistory) -> Iterator[str]:
    """Of a partition's replicas that run, only the one that its state names holds itself for the leader."""
    leading = leaderships(history)
    for tp, of in leaders_by_state(history.state):
        assignment = history.state.of_topics.assignment(tp)
        for broker in sorted(leading.keys() & set(assignment.replicas if assignment else ())):
            epoch = leading[broker].get(tp)
            if epoch is not None and broker != of.leader:
                yield f"broker {broker} leads {tp} in epoch {epoch}, its state names {of.leader}"


def no_stray_leads(history: RunHistory) -> Iterator[str]:
    """A broker leads nothing of which it is no replica any more, nor of a topic that is gone.

    Kafka's controller removes a replica without waiting for the broker's response (docs/kafka/controller.md 12.3). A broker
    that was away at that time, but was not restarted, keeps its replica and, if it led, goes on leading it in its old epoch.
    """
    for broker, led in sorted(leaderships(history).items()):
        for tp, epoch in sorted(led.items()):
            assignment = history.state.of_topics.assignment(tp)
            if assignment is None or broker not in assignment.replicas:
                yield f"broker {broker} leads {tp} in epoch {epoch}, though it is no replica of it"


def leaders_by_state(state: ClusterState) -> list[tuple[TopicPartition, LeaderAndIsr]]:
    """Return each partition's leader and ISR by its state, without topics whose deletion was requested.

    Brokers get no more requests about those topics.
    """
    deleting = state.of_topics.deleting
    return sorted((tp, s.leader_and_isr) for tp, s in state.of_topics.states.items() if tp.topic not in deleting)


def leaderships(history: RunHistory) -> Mapping[BrokerId, Mapping[TopicPartition, int]]:
    """Return what each running broker leads, and in which leader epoch. Brokers of which that is not known are left out."""
    if history.inside is None:
        return {broker: _led(history, broker) for broker in history.running() if broker not in history.unsure}
    found = {}
    for broker in history.running():
        hosted = history.inside.broker(f"broker-{broker}").replicas.hosted
        found[broker] = {partition.tp: int(partition.leader_epoch) for partition in hosted if partition.is_leader}
    return found


def _led(history: RunHistory, broker: BrokerId) -> dict[TopicPartition, int]:
    return {tp: role.leader_epoch for tp, role in history.roles.get(broker, {}).items() if role.is_leader}


AT_QUIESCENCE_BY_EVENTS: Sequence[Invariant] = (
    at_quiescence(there_is_one_controller),
    at_quiescence(every_partition_that_can_be_led_is_led),
    at_quiescence(isrs_are_within_the_replicas),
    at_quiescence(isrs_hold_live_replicas_only),
    at_quiescence(no_notification_is_left),
    at_quiescence(leaders_know_that_they_lead),
    at_quiescence(no_other_replica_leads),
)
NO_STRAY_LEADS = at_quiescence(no_stray_leads)
