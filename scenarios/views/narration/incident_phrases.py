"""The incidents of a run in words: the first sentence of its story."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from kcsim.eventlog.cluster_state import SERVER_PREFIX
from kcsim.scenarios.views.narration.run_facts import RunFacts
from kcsim.scenarios.views.narration.run_incidents import (
    BROKER_PREFIX,
    CONSUMER_PREFIX,
    INJECT_ERROR,
    NETWORK_FAULTS,
    PRODUCER_PREFIX,
    Incident,
)
from kcsim.scenarios.views.narration.story_words import at, for_time, listed, plural, was

INCIDENTS_NAMED = 4
NAMED_RESTARTS = 4
SAME_TIME_MS = 50
"""Incidents of one kind that follow each other so closely are described together."""

PROCESS_VERBS = {
    "froze": "froze",
    "killed": "{was} killed",
    "stopped": "stopped",
    "unregistered": "lost {its} registration",
    "disconnected": "{was} cut off from ZooKeeper",
    "fail-log-dir": "lost a log directory",
    "stall": "stopped polling",
    "slow-follower": "got another limit of replication",
}
NETWORK_VERBS = {"partition": "cut", "slow-link": "slowed down", "lossy-link": "partly lost"}
OTHER_PHRASES = {
    "expired": "the session of {subject} was expired",
    "break-connections": "the connection between {subject} and {others} broke",
    INJECT_ERROR: "{subject} answered clients with an injected error",
    "reassign": "the reassignment of {partitions} was requested",
    "alter-partition-reassignments": "a change of the reassignment of {partitions} was requested",
    "elect-preferred": "an election of the preferred {leaders} was requested",
    "elect-leaders": "an election of the {leaders} was requested",
    "delete-topic": "the deletion of topic {subject} was requested",
    "create-topic": "topic {subject} was created",
    "add-partitions": "more partitions of topic {subject} were requested",
    "set-config": "settings of {subject} were changed",
    "create by hand": "{subject} was created by hand",
    "set by hand": "{subject} was overwritten by hand",
    "delete by hand": "{subject} was deleted by hand",
}
STARTED_AGAIN = ("killed", "stopped")


def incidents_sentence(facts: RunFacts) -> str:
    """Return what failed and what was done, and when; of a run without incidents, what it prepared."""
    incidents = facts.incidents
    if not incidents:
        return _preparations(facts)
    groups = list(_groups(incidents))
    named = groups if len(groups) <= INCIDENTS_NAMED + 1 else groups[:INCIDENTS_NAMED]
    phrases = [_phrase(group, _former_controllers(named[:i])) for i, group in enumerate(named)]
    if len(named) < len(groups):
        phrases.append(f"{len(groups) - len(named)} more incidents followed, the last at {at(incidents[-1].t_ms)}")
    return "; ".join(phrases)


def _former_controllers(groups: Sequence[Sequence[Incident]]) -> set[str]:
    return {incident.subjects[0] for group in groups for incident in group if incident.was_controller}


def _preparations(facts: RunFacts) -> str:
    brokers = sum(node.startswith(BROKER_PREFIX) for node in facts.state.processes)
    done = [f"{plural(brokers, 'broker')} started"] if brokers else []
    topics = [i.subjects[0] for i in facts.preparations if i.what == "create-topic"]
    if topics:
        done.append(f"{'topic' if len(topics) == 1 else 'topics'} {listed(topics)} {was(len(topics))} created")
    producers = sorted({n for i in facts.preparations for n in i.subjects if n.startswith(PRODUCER_PREFIX)})
    if producers:
        done.append(f"{plural(len(producers), 'producer')} wrote records")
    consumers = {n for i in facts.preparations for n in i.subjects if n.startswith(CONSUMER_PREFIX)}
    if consumers:
        done.append(f"{plural(len(consumers), 'consumer')} started")
    if not facts.state.processes:
        return "no broker lost its registration"
    nothing = "no fault took effect" if facts.faults else "no fault was injected"
    return f"{nothing}: {', '.join(done)}" if done else nothing


def _restarts(incidents: Sequence[Incident]) -> str:
    nodes = [i.subjects[0] for i in incidents]
    controller = next((i.subjects[0] for i in incidents if i.was_controller), None)
    times = f"from {at(incidents[0].t_ms)} to {at(max(i.until_ms or i.t_ms for i in incidents))}"
    if len(nodes) > NAMED_RESTARTS:
        role = f", among them the controller {controller}," if controller else ""
        return f"{plural(len(nodes), 'broker')}{role} were restarted one after another, {times}"
    words = listed([f"the controller {node}" if node == controller else node for node in nodes], NAMED_RESTARTS)
    return f"{words} were restarted one after another, {times}"


def _groups(incidents: Sequence[Incident]) -> Iterator[list[Incident]]:
    """Yield incidents that are described together: like failures nearly at one time, and restarts one after another."""
    group: list[Incident] = []
    for incident in incidents:
        if group and not _belongs(group, incident):
            yield group
            group = []
        group.append(incident)
    yield group


def _belongs(group: Sequence[Incident], incident: Incident) -> bool:
    last = group[-1]
    is_like = incident.what == last.what and incident.what in PROCESS_VERBS
    if not is_like or _kind(incident) != _kind(last):
        return False
    if incident.t_ms - last.t_ms <= SAME_TIME_MS:
        return len(group) == 1 or not _is_sequence(group)
    return _is_sequence([last, incident]) and (len(group) == 1 or _is_sequence(group))


def _is_sequence(group: Sequence[Incident]) -> bool:
    """Return whether these are restarts, each begun after the one before had ended."""
    pairs = pairwise(group)
    return all(i.what == "stopped" and i.until_ms is not None for i in group) and all(
        (before.until_ms or 0) <= after.t_ms for before, after in pairs
    )


def _kind(incident: Incident) -> str:
    return incident.subjects[0].partition("-")[0]


def _phrase(group: Sequence[Incident], former: Collection[str]) -> str:
    first = group[0]
    if len(group) > 1 and _is_sequence(group):
        return _restarts(group)
    if first.what in PROCESS_VERBS:
        return f"{_nodes(group, former)} {_predicate(group)}"
    if first.what in NETWORK_FAULTS:
        return f"{_links(first)} {at(first.t_ms, 'at ')}{for_time(first.t_ms, first.until_ms)}"
    template = OTHER_PHRASES.get(first.what, f"{first.what} was done to {{subject}}")
    subject, others = listed(first.subjects), listed(first.others)
    if first.what == "expired":
        subject += _roles(first, former)
    partitions = first.subjects[0] or plural(first.count, "partition")
    leaders = f"leader{'s' * (first.count > 1)} of {partitions}"
    phrase = template.format(subject=subject, others=others, partitions=partitions, leaders=leaders)
    return f"{phrase} {at(first.t_ms, 'at ')}"


def _nodes(group: Sequence[Incident], former: Collection[str]) -> str:
    nodes = [node for incident in group for node in incident.subjects]
    if len(nodes) == 1:
        return f"{nodes[0]}{_roles(group[0], former)}"
    if nodes[0].startswith(SERVER_PREFIX):
        return f"{listed(nodes)} of ZooKeeper"
    controllers = {incident.subjects[0] for incident in group if incident.was_controller}
    return listed([f"the controller {node}" if node in controllers else node for node in nodes])


def _roles(incident: Incident, former: Collection[str]) -> str:
    if incident.subjects[0].startswith(SERVER_PREFIX):
        return " of ZooKeeper"
    is_next = bool(former) and incident.subjects[0] not in former
    roles = [f"the {'next ' * is_next}controller"] if incident.was_controller else []
    if incident.led:
        roles.append(f"leader of {incident.led[0] if len(incident.led) == 1 else plural(len(incident.led), 'partition')}")
    return f", {' and '.join(roles)}," if roles else ""


def _predicate(group: Sequence[Incident]) -> str:
    """Return what happened to the nodes of a group, when, and until when."""
    first, ends = group[0], [incident.until_ms for incident in group]
    verb_of_all = was(sum(len(incident.subjects) for incident in group))
    its = "its" if verb_of_all == "was" else "their"
    verb, when = PROCESS_VERBS[first.what].format(was=verb_of_all, its=its), at(first.t_ms, "at ")
    last = max((end for end in ends if end is not None), default=None)
    if last is None or None in ends:
        return f"{verb} {when}"
    if first.what not in STARTED_AGAIN:
        return f"{verb} {when}{for_time(first.t_ms, last)}"
    if last - first.t_ms <= SAME_TIME_MS:
        return f"{verb_of_all} restarted {when}" if first.what == "stopped" else f"{verb} and started again {when}"
    by = "at " if len(set(ends)) == 1 else "by "
    return f"{verb} {when} and started again {at(last, by)}"


def _links(incident: Incident) -> str:
    one, other = listed(incident.subjects), listed(incident.others)
    verb = NETWORK_VERBS[incident.what]
    if not incident.both_ways:
        return f"messages from {one} to {other} were {verb}"
    is_pair = len(incident.subjects) == len(incident.others) == 1
    ends = f"{one} and {other}" if is_pair else f"{one} on one side and {other} on the other"
    return f"the network between {ends} was {verb}" if verb == "cut" else f"messages between {ends} were {verb}"
