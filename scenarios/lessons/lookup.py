"""Looks up phrases such as `leader of orders-0`: their value in a run as of an event, and the event behind the value."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.eventlog.node_names import consumer_node
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.language.value_types import parse_partition
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answers import LessonAnswer
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.lookup_terms import IN, LookupTerm
from kcsim.vocabulary import NO_LEADER, TopicPartition
from kcsim.znodes import paths

SETS_LEADER = frozenset({EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR})
"""Kinds of events that change or try to change the leader; a removal from the ISR only if the leader was removed."""
SETS_EPOCH = frozenset({EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.LEADER_EPOCH_BUMPED})
SETS_ISR = frozenset(
    {EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK}
)
ABOUT_GROUPS = frozenset({EventKind.GROUP_REBALANCE, EventKind.GROUP_GENERATION, EventKind.GROUP_STABLE})
OWNING = frozenset({EventKind.PARTITIONS_ASSIGNED, EventKind.PARTITIONS_REVOKED, EventKind.PARTITIONS_LOST})


def _latest(
    context: EvaluationContext, kinds: Collection[EventKind], matches: Callable[[Event], bool] = lambda _: True
) -> Event | None:
    """Return the latest event of these kinds that satisfies a condition."""
    found = (next(filter(matches, reversed(context.of_kind(kind))), None) for kind in kinds)
    return max((event for event in found if event is not None), key=lambda event: event.seq, default=None)


def _last_change(context: EvaluationContext, path: str) -> Event | None:
    """Return the latest creation, change or deletion of a znode."""
    return next(reversed(context.changes_of(path)), None)


def _last_creation_or_deletion(context: EvaluationContext, path: str) -> Event | None:
    changes = reversed(context.changes_of(path))
    return next((event for event in changes if event.kind is not EventKind.ZNODE_CHANGED), None)


def _last_decision(context: EvaluationContext, partition: TopicPartition, kinds: Collection[EventKind]) -> Event | None:
    """Return the latest decision of these kinds about a partition, or else the latest change of its state znode."""
    about = (partition.topic, partition.partition)
    found = _latest(
        context,
        kinds,
        lambda event: (event.topic, event.partition) == about and (kinds is not SETS_LEADER or _concerns_leader(event)),
    )
    return found or _last_change(context, paths.topic_partition_state(partition))


def _concerns_leader(event: Event) -> bool:
    return event.kind is EventKind.LEADER_ELECTION or event.leader == NO_LEADER


def look_up(run: LessonRun, term: LookupTerm, seq: int) -> LessonAnswer:
    """Return the value of a term after an event."""
    return _LOOK_UPS[term.word](run.as_of(seq), term.subject)


# --- the cluster -----------------------------------------------------------------------------------------------------------


def _controller(context: EvaluationContext, _: str) -> LessonAnswer:
    won = _latest(context, (EventKind.ELECTION_WON,))
    changed = _last_change(context, paths.CONTROLLER)
    # If the znode changed after the last election was won, that election no longer decides: the change is the evidence.
    return answers.broker(context.state.controller_id, won if won and changed and changed.seq < won.seq else changed)


def _controller_epoch(context: EvaluationContext, _: str) -> LessonAnswer:
    return answers.number(context.state.controller_epoch, _last_change(context, paths.CONTROLLER_EPOCH))


def _registered(context: EvaluationContext, _: str) -> LessonAnswer:
    below = f"{paths.BROKER_IDS}/"
    changed = _latest(context, ZNODE_CHANGES, lambda event: (event.path or "").startswith(below))
    return answers.brokers(context.state.registered, changed)


def _offline(context: EvaluationContext, _: str) -> LessonAnswer:
    return answers.number(len(context.state.of_topics.offline(context.state.registered)))


def _under_replicated(context: EvaluationContext, _: str) -> LessonAnswer:
    return answers.number(len(context.state.of_topics.under_replicated()))


def _time(context: EvaluationContext, _: str) -> LessonAnswer:
    return answers.word(f"{context.events[-1].t_ms / 1000:.3f} s")


# --- partitions ------------------------------------------------------------------------------------------------------------


def _leader(context: EvaluationContext, subject: str) -> LessonAnswer:
    partition = parse_partition(subject)
    return answers.broker(context.state.of_topics.leader(partition), _last_decision(context, partition, SETS_LEADER))


def _leader_epoch(context: EvaluationContext, subject: str) -> LessonAnswer:
    partition = parse_partition(subject)
    state = context.state.of_topics.states.get(partition)
    return answers.number(
        state.leader_and_isr.leader_epoch if state else None, _last_decision(context, partition, SETS_EPOCH)
    )


def _isr(context: EvaluationContext, subject: str) -> LessonAnswer:
    partition = parse_partition(subject)
    return answers.brokers(context.state.of_topics.isr(partition), _last_decision(context, partition, SETS_ISR))


def _stored_isr(context: EvaluationContext, subject: str) -> LessonAnswer:
    """Return the ISR in the order in which it is stored."""
    partition = parse_partition(subject)
    return answers.replicas(context.state.of_topics.isr(partition), _last_decision(context, partition, SETS_ISR))


def _replicas(context: EvaluationContext, subject: str) -> LessonAnswer:
    partition = parse_partition(subject)
    assignment = context.state.of_topics.assignment(partition)
    return answers.replicas(assignment.replicas if assignment else (), _last_change(context, paths.topic(partition.topic)))


def _preferred(context: EvaluationContext, subject: str) -> LessonAnswer:
    return answers.broker(context.state.of_topics.broker_in_role("preferred", parse_partition(subject)))


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _session(context: EvaluationContext, subject: str) -> LessonAnswer:
    node = context.node(subject)
    last = _latest(context, (EventKind.SESSION_STATE,), lambda event: event.node == node)
    return answers.word(last.state or "" if last else "none", last)


def _process(context: EvaluationContext, subject: str) -> LessonAnswer:
    node = context.node(subject)
    last = _latest(context, (EventKind.PROCESS_STATE,), lambda event: event.node == node)
    return answers.word(context.state.processes.get(node, "not started"), last)


def _broker_epoch(context: EvaluationContext, subject: str) -> LessonAnswer:
    node = context.node(subject)
    broker_id = node.removeprefix("broker-")
    epoch = context.state.registered.get(int(broker_id)) if broker_id.isdecimal() else None
    return answers.number(epoch, _last_creation_or_deletion(context, f"{paths.BROKER_IDS}/{broker_id}"))


def _name(context: EvaluationContext, subject: str) -> LessonAnswer:
    return answers.word(context.node(subject))


# --- consumers -------------------------------------------------------------------------------------------------------------


def _owner(context: EvaluationContext, subject: str) -> LessonAnswer:
    partition, _, wanted = subject.partition(IN)
    groups = context.state.of_consumers.groups
    owners = sorted({owner for name in groups if wanted in ("", name) for owner in groups[name].owners.get(partition, ())})
    last = _latest(
        context, OWNING, lambda event: partition in (event.partitions or ()) and (not owners or event.node in owners)
    )
    return answers.word(", ".join(owners) or answers.NO_HOLDER, last)


def _owned(context: EvaluationContext, subject: str) -> LessonAnswer:
    node = consumer_node(subject)
    last = _latest(context, OWNING, lambda event: event.node == node)
    return answers.word(", ".join(context.state.of_consumers.owned.get(node, ())) or "nothing", last)


def _generation(context: EvaluationContext, subject: str) -> LessonAnswer:
    group = context.state.of_consumers.groups.get(subject)
    return answers.number(group.generation if group else 0, _group_event(context, subject))


def _group_state(context: EvaluationContext, subject: str) -> LessonAnswer:
    group = context.state.of_consumers.groups.get(subject)
    return answers.word(group.state if group else "Empty", _group_event(context, subject))


def _group_event(context: EvaluationContext, group: str) -> Event | None:
    return _latest(context, ABOUT_GROUPS, lambda event: event.group == group)


# --- znodes ----------------------------------------------------------------------------------------------------------------


def _existence(context: EvaluationContext, subject: str) -> LessonAnswer:
    return answers.yes_or_no(subject in context.state.znodes, _last_creation_or_deletion(context, subject))


def _data(context: EvaluationContext, subject: str) -> LessonAnswer:
    znode = context.state.znodes.get(subject)
    return answers.word((znode.data or "nothing") if znode else "no such znode", _last_change(context, subject))


def _version(context: EvaluationContext, subject: str) -> LessonAnswer:
    znode = context.state.znodes.get(subject)
    return answers.number(znode.zk_version if znode else None, _last_change(context, subject))


def _children(context: EvaluationContext, subject: str) -> LessonAnswer:
    return answers.number(len(context.state.children(subject)))


_LOOK_UPS: Mapping[str, Callable[[EvaluationContext, str], LessonAnswer]] = MappingProxyType(
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
