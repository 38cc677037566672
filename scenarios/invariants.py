"""What must hold of every run, whatever is done to it: pure functions from an event log to the violations found in it.

SAFETY holds at every moment of a run; ONCE_QUIET when nothing has happened for a while, whoever is dead or cut off;
ONCE_WHOLE when, besides, every broker that hosts something is back. Each function is one invariant and returns a sentence
for each violation, with the seq of the event that broke it where there is one: none means that it holds. They read the
events and the znodes folded from them, nothing else.

Left out: what a log directory that failed leads a broker to believe (its events do not name the partitions), and requests of
so many partitions that the log tells of them in one event.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.controller.decisions.election import ElectionRule
from kcsim.scenarios.state import ClusterState
from kcsim.scenarios.topics_state import BELOW_TOPICS, TopicsState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, PartitionState, TopicPartition

Invariant = Callable[[Sequence[Event]], list[str]]

TREE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})
DELETED = "deleted"
"""What ReplicaStopped says of a replica whose log has gone, too."""


# --- the history of partitions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StateWrite:
    """A partition's state as it was written. `life` counts the creations of its znode; `before` is None at each of them."""

    event: Event
    tp: TopicPartition
    life: int
    before: PartitionState | None
    after: PartitionState

    def __str__(self) -> str:
        of = self.after.leader_and_isr
        leader = NO_LEADER if of.leader is None else of.leader
        return f"#{self.event.seq}: {self.tp} has leader {leader}, leader epoch {of.leader_epoch}, ISR {list(of.isr)}"


def state_writes(events: Sequence[Event]) -> Iterator[StateWrite]:
    """Every state that a partition's znode ever held, in order; one that cannot be read is passed over."""
    topics = TopicsState()
    lives: dict[TopicPartition, int] = {}
    for event in events:
        if event.kind not in TREE_CHANGES or (tp := _partition_of_state(event.path or "")) is None:
            continue
        before = topics.states.get(tp)
        topics.apply(event)
        after = topics.states.get(tp)
        if event.kind is EventKind.ZNODE_CREATED:
            lives[tp] = lives.get(tp, 0) + 1
        if after is not None:
            yield StateWrite(event, tp, lives.get(tp, 0), before, after)


def _partition_of_state(path: str) -> TopicPartition | None:
    if not (path.startswith(BELOW_TOPICS) and path.endswith("/state")):
        return None
    known = paths.parse(path)
    return known.topic_partition if known else None


# --- safety ----------------------------------------------------------------------------------------------------------------


def controller_epochs_have_no_gap(events: Sequence[Event]) -> list[str]:
    """Each election raises /controller_epoch by one, and nothing else changes it."""
    found = []
    last: int | None = None
    for event in events:
        if event.kind in TREE_CHANGES and event.path == paths.CONTROLLER_EPOCH:
            epoch = int(event.data) if event.data and event.data.isdecimal() else None
            wanted = 0 if last is None else last + 1
            if epoch is None or (epoch != wanted and last is not None):
                found.append(f"#{event.seq}: /controller_epoch is {event.data or 'gone'} after {last}")
            last = epoch
    return found


def each_controller_epoch_is_won_once(events: Sequence[Event]) -> list[str]:
    """No two terms of controllers have the same epoch."""
    found = []
    winners: dict[int | None, str] = {}
    for event in events:
        if event.kind is EventKind.ELECTION_WON:
            if event.controller_epoch in winners:
                before = winners[event.controller_epoch]
                found.append(f"#{event.seq}: {event.node} won epoch {event.controller_epoch}, as {before} had")
            winners[event.controller_epoch] = event.node
    return found


def fenced_writes_are_of_the_controller_in_office(events: Sequence[Event]) -> list[str]:
    """What a former controller still has in hand comes to nothing: /controller_epoch has moved on (controller.md 13)."""
    found = []
    version: int | None = None
    fences: dict[int, int] = {}
    for event in events:
        if event.kind is EventKind.ZK_WRITE and event.controller_epoch_zk_version is not None:
            fences[event.seq] = event.controller_epoch_zk_version
        elif event.kind in TREE_CHANGES:
            if event.path == paths.CONTROLLER_EPOCH:
                version = event.zk_version if event.kind is EventKind.ZNODE_CHANGED else 0
            fence = fences.get(-1 if event.cause is None else event.cause)
            if fence is not None and fence != version:
                found.append(
                    f"#{event.seq}: {event.path} was written under version {fence} of /controller_epoch, it was {version}"
                )
    return found


def epochs_never_go_back(events: Sequence[Event]) -> list[str]:
    """A partition's leader epoch and the epoch of the controller that decided only grow, while it exists."""
    found = []
    for write in state_writes(events):
        if write.before is None:
            continue
        before, after = write.before.leader_and_isr.leader_epoch, write.after.leader_and_isr.leader_epoch
        if after < before:
            found.append(f"{write}, which was {before}")
        if write.after.controller_epoch < write.before.controller_epoch:
            found.append(
                f"{write}, by controller epoch {write.after.controller_epoch} after {write.before.controller_epoch}"
            )
    return found


def one_leader_for_each_leader_epoch(events: Sequence[Event]) -> list[str]:
    """Whoever asks in a leader epoch finds the same leader: a new one, or none, comes with a new epoch."""
    found = []
    leaders: dict[tuple[TopicPartition, int, int], BrokerId | None] = {}
    for write in state_writes(events):
        of = write.after.leader_and_isr
        before = leaders.setdefault((write.tp, write.life, of.leader_epoch), of.leader)
        if before != of.leader:
            found.append(f"{write}; {before} led it in this epoch")
    return found


def brokers_lead_only_what_was_decided(events: Sequence[Event]) -> list[str]:
    """A broker becomes leader only in a leader epoch that the partition's state gave to it."""
    decided: set[tuple[TopicPartition, int, int | None]] = set()
    for write in state_writes(events):
        of = write.after.leader_and_isr
        decided.add((write.tp, of.leader_epoch, of.leader))
    found = []
    for event in events:
        if event.kind is EventKind.BECAME_LEADER and (tp := _partition_of(event)) is not None:
            epoch, broker = event.leader_epoch or 0, _broker_of(event.node)
            if (tp, epoch, broker) not in decided:
                found.append(f"#{event.seq}: {event.node} leads {tp} in epoch {epoch}, which no state gave to it")
    return found


def leaders_are_in_the_isr(events: Sequence[Event]) -> list[str]:
    """Who leads is in sync, and a partition that has a state always has somebody who has its data."""
    found = []
    for write in state_writes(events):
        of = write.after.leader_and_isr
        if not of.isr or (of.leader is not None and of.leader not in of.isr):
            found.append(str(write))
    return found


def clean_leaders_come_from_the_isr(events: Sequence[Event]) -> list[str]:
    """Nobody is elected from outside the ISR as it was, unless an election says that it is unclean."""
    unclean = {
        (tp, event.leader_epoch, event.leader)
        for event in events
        if event.kind is EventKind.LEADER_ELECTION
        and event.rule == ElectionRule.UNCLEAN.value
        and (tp := _partition_of(event)) is not None
    }
    found = []
    for write in state_writes(events):
        leader = write.after.leader_and_isr.leader
        if write.before is None or leader is None:
            continue
        isr = write.before.leader_and_isr.isr
        if leader not in isr and (write.tp, write.after.leader_and_isr.leader_epoch, leader) not in unclean:
            found.append(f"{write}, who was not in the ISR {list(isr)}")
    return found


# --- once quiet ------------------------------------------------------------------------------------------------------------


def every_partition_that_can_be_led_is_led(events: Sequence[Event]) -> list[str]:
    """A partition with a registered member in its ISR has a registered leader; one without a state has no live replica.

    Topics whose deletion was asked for are left out: they get no elections any more.
    """
    state = folded(events)
    registered = state.registered.keys()
    found = []
    for tp in state.of_topics.partitions():
        leader, isr = state.of_topics.leader(tp), state.of_topics.isr(tp)
        assignment = state.of_topics.assignment(tp)
        able = isr if tp in state.of_topics.states else assignment.replicas if assignment else ()
        if leader not in registered and not registered.isdisjoint(able):
            found.append(f"{tp} has leader {leader}, though of {list(able)} there are {sorted(registered & set(able))}")
    return found


def isrs_hold_live_replicas_only(events: Sequence[Event]) -> list[str]:
    """A member of an ISR is one of the partition's replicas, and registered unless it is the last member.

    Where no broker is registered there is nobody to see to it.
    """
    state = folded(events)
    registered = state.registered.keys()
    if not registered:
        return []
    found = []
    for tp in state.of_topics.partitions():
        isr, assignment = state.of_topics.isr(tp), state.of_topics.assignment(tp)
        foreign = [broker for broker in isr if assignment is None or broker not in assignment.replicas]
        dead = [broker for broker in isr if broker not in registered]
        if foreign:
            found.append(f"{tp} has ISR {list(isr)}, but {foreign} are no replicas of it")
        if dead and len(isr) > 1:
            found.append(f"{tp} has ISR {list(isr)}, but {dead} are not registered")
    return found


def no_notification_is_left(events: Sequence[Event]) -> list[str]:
    """The controller has taken up whatever brokers told it of ISRs and log directories, if there is a controller."""
    state = folded(events)
    if state.controller_id is None:
        return []
    parents = (paths.ISR_CHANGE_NOTIFICATION, paths.LOG_DIR_EVENT_NOTIFICATION)
    return [f"{paths.child(parent, name)} is left" for parent in parents for name in state.children(parent)]


def there_is_one_controller(events: Sequence[Event]) -> list[str]:
    """Where brokers are registered, one of them holds /controller."""
    state = folded(events)
    if not state.registered or state.controller_id in state.registered:
        return []
    return [f"/controller names {state.controller_id}, registered are {sorted(state.registered)}"]


def leaders_know_that_they_lead(events: Sequence[Event]) -> list[str]:
    """Whoever leads a partition by its state, and runs, has become its leader in this very epoch."""
    state = folded(events)
    running, leading = _running(state), _leaderships(events)
    found = []
    for tp, of in _leaders(state):
        if of.leader in running:
            believed = leading.get(of.leader, {}).get(tp)
            if believed != of.leader_epoch:
                told = "does not lead it" if believed is None else f"leads it in epoch {believed}"
                found.append(f"{tp} is led by {of.leader} in leader epoch {of.leader_epoch}, but broker {of.leader} {told}")
    return found


def no_other_replica_leads(events: Sequence[Event]) -> list[str]:
    """Of a partition's replicas that run, only the one that its state names holds itself for the leader."""
    state = folded(events)
    running, leading = _running(state), _leaderships(events)
    found = []
    for tp, of in _leaders(state):
        assignment = state.of_topics.assignment(tp)
        for broker in sorted(running.intersection(assignment.replicas if assignment else ())):
            epoch = leading.get(broker, {}).get(tp)
            if epoch is not None and broker != of.leader:
                found.append(f"broker {broker} leads {tp} in epoch {epoch}, its state names {of.leader}")
    return found


def no_stray_leads(events: Sequence[Event]) -> list[str]:
    """A broker leads nothing of which it is no replica any more, nor of a topic that is gone.

    Kafka's controller takes a replica away without waiting for the broker's word (controller.md 12.3): one that was away
    meanwhile, but not restarted, keeps its replica and, if it led, goes on leading it in its old epoch.
    """
    state = folded(events)
    running, leading = _running(state), _leaderships(events)
    found = []
    for broker in sorted(running):
        for tp, epoch in sorted(leading.get(broker, {}).items()):
            assignment = state.of_topics.assignment(tp)
            if assignment is None or broker not in assignment.replicas:
                found.append(f"broker {broker} leads {tp} in epoch {epoch}, though it is no replica of it")
    return found


def _leaders(state: ClusterState) -> list[tuple[TopicPartition, LeaderAndIsr]]:
    """What the states say; topics whose deletion was asked for left out, of which brokers are not told any more."""
    deleting = state.of_topics.deleting
    return sorted((tp, s.leader_and_isr) for tp, s in state.of_topics.states.items() if tp.topic not in deleting)


def _running(state: ClusterState) -> set[BrokerId]:
    """Brokers that are registered, and run."""
    return {BrokerId(b) for b in state.registered if state.processes.get(f"broker-{b}") == "running"}


def _leaderships(events: Sequence[Event]) -> Mapping[BrokerId, Mapping[TopicPartition, int]]:
    """What each broker leads, and in which epoch, by what it was told and did; a dead one leads nothing."""
    leading: dict[BrokerId, dict[TopicPartition, int]] = {}
    for event in events:
        tp = _partition_of(event)
        if event.kind is EventKind.PROCESS_STATE and event.state in ("dead", "stopped"):
            leading.pop(_broker_of(event.node), None)
        elif event.kind is EventKind.BECAME_LEADER and tp is not None:
            leading.setdefault(_broker_of(event.node), {})[tp] = event.leader_epoch or 0
        elif tp is not None and (
            event.kind is EventKind.BECAME_FOLLOWER or (event.kind is EventKind.REPLICA_STOPPED and event.detail == DELETED)
        ):
            leading.get(_broker_of(event.node), {}).pop(tp, None)
    return leading


# --- once whole ------------------------------------------------------------------------------------------------------------


def nothing_is_left_to_do(events: Sequence[Event]) -> list[str]:
    """No reassignment, deletion or preferred election is under way, and nothing is left of what asked for one."""
    state = folded(events)
    moving = [f"{tp} is being reassigned" for tp in state.of_topics.reassigning()]
    asked = [path for path in (paths.REASSIGN_PARTITIONS, paths.PREFERRED_REPLICA_ELECTION) if path in state.znodes]
    asked += [paths.delete_topic(topic) for topic in sorted(state.of_topics.deleting)]
    return moving + [f"{path} is left" for path in asked]


def every_replica_is_in_sync(events: Sequence[Event]) -> list[str]:
    """Every partition has a state, and its ISR is its replicas, in whatever order."""
    of_topics = folded(events).of_topics
    found = []
    for tp in of_topics.partitions():
        assignment = of_topics.assignment(tp)
        if assignment is not None and sorted(of_topics.isr(tp)) != sorted(assignment.replicas):
            found.append(f"{tp} has ISR {list(of_topics.isr(tp))} of {list(assignment.replicas)}")
    return found


def no_znode_of_a_topic_is_orphaned(events: Sequence[Event]) -> list[str]:
    """What lies below /brokers/topics and /config/topics is of a topic that exists, and of a partition that it has."""
    state = folded(events)
    found = []
    for path in sorted(state.znodes):
        known = paths.parse(path) if path.startswith((BELOW_TOPICS, "/config/topics/")) else None
        if known is None:
            continue
        topic = known.topic if known.topic is not None else known.entity
        tp = known.topic_partition
        if topic not in state.of_topics.topics or (tp is not None and state.of_topics.assignment(tp) is None):
            found.append(f"{path} belongs to nothing")
    return found


# --- all of them -----------------------------------------------------------------------------------------------------------

SAFETY: Sequence[Invariant] = (
    controller_epochs_have_no_gap,
    each_controller_epoch_is_won_once,
    fenced_writes_are_of_the_controller_in_office,
    epochs_never_go_back,
    one_leader_for_each_leader_epoch,
    brokers_lead_only_what_was_decided,
    leaders_are_in_the_isr,
    clean_leaders_come_from_the_isr,
)
ONCE_QUIET: Sequence[Invariant] = (
    *SAFETY,
    there_is_one_controller,
    every_partition_that_can_be_led_is_led,
    isrs_hold_live_replicas_only,
    no_notification_is_left,
    leaders_know_that_they_lead,
    no_other_replica_leads,
)
ONCE_WHOLE: Sequence[Invariant] = (
    *ONCE_QUIET,
    nothing_is_left_to_do,
    every_replica_is_in_sync,
    no_znode_of_a_topic_is_orphaned,
)
NOT_PROMISED: Sequence[Invariant] = (no_stray_leads,)
"""What one would wish for as well, once all is quiet, but Kafka does not see to."""


def violations(events: Sequence[Event], invariants: Sequence[Invariant] = SAFETY) -> list[str]:
    """What these invariants have to say against a run, each sentence with the name of its invariant."""
    return [f"{invariant.__name__}: {told}" for invariant in invariants for told in invariant(events)]


def folded(events: Sequence[Event]) -> ClusterState:
    """The cluster as these events leave it."""
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


def _partition_of(event: Event) -> TopicPartition | None:
    if event.topic is None or event.partition is None:
        return None
    return TopicPartition(event.topic, event.partition)


def _broker_of(node: str) -> BrokerId:
    return BrokerId(int(node.removeprefix("broker-")))
