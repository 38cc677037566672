"""Looks phrases up: what a run says of `leader of orders-0` and the like as of an event, and which event made it so."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from kcsim.scenarios.consumers.consumer_config import node_of
from kcsim.scenarios.language.words import parse_partition
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answers import Answer
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.phrases import IN, Phrase
from kcsim.scenarios.state import ClusterState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import NO_LEADER, TopicPartition

SETS_LEADER = frozenset({EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR})
"""What changes who leads, or tries to; the latter only if it was the leader that was removed."""
SETS_EPOCH = frozenset({EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.LEADER_EPOCH_BUMPED})
SETS_ISR = frozenset(
    {EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK}
)
ABOUT_GROUPS = frozenset({EventKind.GROUP_REBALANCE, EventKind.GROUP_GENERATION, EventKind.GROUP_STABLE})
OWNING = frozenset({EventKind.PARTITIONS_ASSIGNED, EventKind.PARTITIONS_REVOKED, EventKind.PARTITIONS_LOST})


class Looking:
    """One look at a run as of an event."""

    def __init__(self, run: LessonRun, seq: int) -> None:
        self.run, self.seq = run, seq
        self.state: ClusterState = run.as_of(seq)

    def last(self, suits: Callable[[Event], bool]) -> Event | None:
        """The latest event that suits."""
        return next(filter(suits, reversed(self.run.events[: self.seq + 1])), None)

    def last_change(self, path: str) -> Event | None:
        """The latest creation, change or deletion of a znode."""
        return self.last(lambda event: event.path == path and event.node == "zookeeper")

    def last_coming_or_going(self, path: str) -> Event | None:
        """The latest creation or deletion of a znode."""
        kinds = (EventKind.ZNODE_CREATED, EventKind.ZNODE_DELETED)
        return self.last(lambda event: event.path == path and event.kind in kinds)

    def decided(self, partition: TopicPartition, kinds: Collection[EventKind]) -> Event | None:
        """What decided last about a partition."""
        about = (partition.topic, partition.partition)
        found = self.last(
            lambda event: (
                event.kind in kinds
                and (event.topic, event.partition) == about
                and (kinds is not SETS_LEADER or _concerns_leader(event))
            )
        )
        return found or self.last_change(paths.topic_partition_state(partition))


def _concerns_leader(event: Event) -> bool:
    return event.kind is EventKind.LEADER_ELECTION or event.leader == NO_LEADER


def look_up(run: LessonRun, phrase: Phrase, seq: int) -> Answer:
    """Say what is so after an event."""
    return _LOOK_UPS[phrase.word](Looking(run, seq), phrase.subject)


# --- the cluster -----------------------------------------------------------------------------------------------------------


def _controller(looking: Looking, _: str) -> Answer:
    won = looking.last(lambda event: event.kind is EventKind.ELECTION_WON)
    changed = looking.last_change(paths.CONTROLLER)
    # An election that is over again decides nothing: then the change of the znode has told.
    return answers.broker(looking.state.controller_id, won if won and changed and changed.seq < won.seq else changed)


def _controller_epoch(looking: Looking, _: str) -> Answer:
    return answers.number(looking.state.controller_epoch, looking.last_change(paths.CONTROLLER_EPOCH))


def _registered(looking: Looking, _: str) -> Answer:
    below = f"{paths.BROKER_IDS}/"
    changed = looking.last(lambda event: event.node == "zookeeper" and (event.path or "").startswith(below))
    return answers.brokers(looking.state.registered, changed)


def _offline(looking: Looking, _: str) -> Answer:
    return answers.number(len(looking.state.of_topics.offline(looking.state.registered)))


def _under_replicated(looking: Looking, _: str) -> Answer:
    return answers.number(len(looking.state.of_topics.under_replicated()))


def _time(looking: Looking, _: str) -> Answer:
    return answers.word(f"{looking.run.events[looking.seq].t_ms / 1000:.3f} s")


# --- partitions ------------------------------------------------------------------------------------------------------------


def _leader(looking: Looking, subject: str) -> Answer:
    partition = parse_partition(subject)
    return answers.broker(looking.state.of_topics.leader(partition), looking.decided(partition, SETS_LEADER))


def _leader_epoch(looking: Looking, subject: str) -> Answer:
    partition = parse_partition(subject)
    state = looking.state.of_topics.states.get(partition)
    return answers.number(state.leader_and_isr.leader_epoch if state else None, looking.decided(partition, SETS_EPOCH))


def _isr(looking: Looking, subject: str) -> Answer:
    partition = parse_partition(subject)
    return answers.brokers(looking.state.of_topics.isr(partition), looking.decided(partition, SETS_ISR))


def _stored_isr(looking: Looking, subject: str) -> Answer:
    """The same in the order in which it is stored."""
    partition = parse_partition(subject)
    return answers.replicas(looking.state.of_topics.isr(partition), looking.decided(partition, SETS_ISR))


def _replicas(looking: Looking, subject: str) -> Answer:
    partition = parse_partition(subject)
    assignment = looking.state.of_topics.assignment(partition)
    return answers.replicas(assignment.replicas if assignment else (), looking.last_change(paths.topic(partition.topic)))


def _preferred(looking: Looking, subject: str) -> Answer:
    return answers.broker(looking.state.of_topics.broker_in_role("preferred", parse_partition(subject)))


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _session(looking: Looking, subject: str) -> Answer:
    node = looking.run.node(subject, looking.seq)
    last = looking.last(lambda event: event.kind is EventKind.SESSION_STATE and event.node == node)
    return answers.word(last.state or "" if last else "none", last)


def _process(looking: Looking, subject: str) -> Answer:
    node = looking.run.node(subject, looking.seq)
    last = looking.last(lambda event: event.kind is EventKind.PROCESS_STATE and event.node == node)
    return answers.word(looking.state.processes.get(node, "not started"), last)


def _broker_epoch(looking: Looking, subject: str) -> Answer:
    node = looking.run.node(subject, looking.seq)
    broker_id = node.removeprefix("broker-")
    epoch = looking.state.registered.get(int(broker_id)) if broker_id.isdecimal() else None
    return answers.number(epoch, looking.last_coming_or_going(f"{paths.BROKER_IDS}/{broker_id}"))


def _name(looking: Looking, subject: str) -> Answer:
    return answers.word(looking.run.node(subject, looking.seq))


# --- consumers -------------------------------------------------------------------------------------------------------------


def _owner(looking: Looking, subject: str) -> Answer:
    partition, _, wanted = subject.partition(IN)
    groups = looking.state.of_consumers.groups
    owners = sorted({owner for name in groups if wanted in ("", name) for owner in groups[name].owners.get(partition, ())})
    last = looking.last(
        lambda event: event.kind in OWNING and partition in (event.partitions or ()) and (not owners or event.node in owners)
    )
    return answers.word(", ".join(owners) or answers.NOBODY, last)


def _owned(looking: Looking, subject: str) -> Answer:
    node = node_of(subject)
    last = looking.last(lambda event: event.kind in OWNING and event.node == node)
    return answers.word(", ".join(looking.state.of_consumers.owned.get(node, ())) or "nothing", last)


def _generation(looking: Looking, subject: str) -> Answer:
    group = looking.state.of_consumers.groups.get(subject)
    return answers.number(group.generation if group else 0, _group_event(looking, subject))


def _group_state(looking: Looking, subject: str) -> Answer:
    group = looking.state.of_consumers.groups.get(subject)
    return answers.word(group.state if group else "Empty", _group_event(looking, subject))


def _group_event(looking: Looking, group: str) -> Event | None:
    return looking.last(lambda event: event.kind in ABOUT_GROUPS and event.group == group)


# --- znodes ----------------------------------------------------------------------------------------------------------------


def _existence(looking: Looking, subject: str) -> Answer:
    return answers.yes_or_no(subject in looking.state.znodes, looking.last_coming_or_going(subject))


def _data(looking: Looking, subject: str) -> Answer:
    znode = looking.state.znodes.get(subject)
    return answers.word((znode.data or "nothing") if znode else "no such znode", looking.last_change(subject))


def _version(looking: Looking, subject: str) -> Answer:
    znode = looking.state.znodes.get(subject)
    return answers.number(znode.zk_version if znode else None, looking.last_change(subject))


def _children(looking: Looking, subject: str) -> Answer:
    return answers.number(len(looking.state.children(subject)))


_LOOK_UPS: Mapping[str, Callable[[Looking, str], Answer]] = MappingProxyType(
    {
        "controller": _controller,
        "controller-epoch": _controller_epoch,
        "registered": _registered,
        "offline-partitions": _offline,
        "under-replicated": _under_replicated,
        "time": _time,
        "leader": _leader,
        "leader-epoch": _leader_epoch,
        "isr": _isr,
        "stored-isr": _stored_isr,
        "replicas": _replicas,
        "preferred": _preferred,
        "owner": _owner,
        "session": _session,
        "process": _process,
        "broker-epoch": _broker_epoch,
        "name": _name,
        "owned": _owned,
        "generation": _generation,
        "group-state": _group_state,
        "existence": _existence,
        "data": _data,
        "version": _version,
        "children": _children,
    }
)
