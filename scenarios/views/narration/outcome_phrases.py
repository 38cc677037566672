"""How a run went on after its incidents, in words: the third sentence of its story."""

from itertools import pairwise

from kcsim.eventlog.controller_intervals import ControllerInterval
from kcsim.scenarios.views.narration.run_facts import LateWrite, RunFacts
from kcsim.scenarios.views.narration.run_incidents import BROKER_PREFIX
from kcsim.scenarios.views.narration.story_words import at, listed, plural, was
from kcsim.vocabulary import TopicPartition

TAKEOVERS_NAMED = 3
CHANGES_NAMED = 2


def outcome_sentence(facts: RunFacts) -> str:
    """Return who took over, what became of the writes of former controllers, what changed, and how the run ended."""
    parts = [
        *_takeovers(facts),
        *_late_writes(facts),
        *_failed_events(facts),
        *_moved(facts),
        *_leaders(facts),
        *_groups(facts),
        _end(facts),
    ]
    return "; ".join(part for part in parts if part)


def _takeovers(facts: RunFacts) -> list[str]:
    terms = [interval for interval in facts.controllers if interval.broker is not None]
    if not terms:
        return []
    words = [_takeover(before, term) for before, term in pairwise(terms)]
    unfinished = facts.elections - len({(term.broker, term.epoch) for term in terms})
    more = f" (after {plural(unfinished, 'election')} whose winner did not complete its failover)" if unfinished > 0 else ""
    if facts.controllers[-1].broker is None:
        words.append("no broker took over before the end of the run")
    if len(words) > TAKEOVERS_NAMED:
        last = f"broker-{terms[-1].broker} with epoch {terms[-1].epoch} {at(terms[-1].from_ms, 'at ')}"
        return [f"{len(words)} controllers followed, the last of them {last}{more}"]
    return [f"{', then '.join(words)}{more}"] if words else []


def _takeover(before: ControllerInterval, term: ControllerInterval) -> str:
    if term.broker != before.broker:
        return f"broker-{term.broker} took over with epoch {term.epoch}"
    if term.epoch != before.epoch:
        return f"broker-{term.broker} was elected again, with epoch {term.epoch}"
    return f"broker-{term.broker} continued as the controller of epoch {term.epoch}"


def _late_writes(facts: RunFacts) -> list[str]:
    applied = {late.node for late in facts.late_writes if late.fate == "applied"}
    words = [_late_write(late) for late in facts.late_writes if late.fate != "refused" or late.node not in applied]
    for node, count in sorted(facts.stale_requests.items()):
        words.append(
            f"{plural(count, 'request')} of {node} {was(count)} refused by brokers that knew a higher controller epoch"
        )
    words += [f"a write that {node} had begun was not answered" for node in facts.unanswered]
    heard = {late.node for late in facts.late_writes} | facts.stale_requests.keys() | set(facts.unanswered)
    return words + [f"the old controller {node} wrote nothing after that" for node in _replaced(facts) if node not in heard]


def _replaced(facts: RunFacts) -> list[str]:
    """Return the former controller that ran on after a single failover."""
    if not facts.is_fenced:
        return []  # not all writes of a controller can be recognised
    ended = {node for i in facts.incidents if i.what in ("killed", "stopped") for node in i.subjects}
    terms = [interval.broker for interval in facts.controllers if interval.broker is not None]
    node = f"{BROKER_PREFIX}{terms[0]}" if len(terms) == 2 and terms[0] != terms[1] else None
    return [node] if node is not None and node not in ended else []


def _late_write(late: LateWrite) -> str:
    writes = "the write" if late.count == 1 else f"{late.count} writes"
    of = f"of {late.node}, still named in /controller," if late.is_in_office else f"of the old controller {late.node}"
    match late.fate:
        case "fenced":
            return f"{writes} {of} {was(late.count)} refused: /controller_epoch had changed"
        case "expired":
            return f"{writes} {of} {was(late.count)} given up: its session had expired"
        case "applied":
            return f"{writes} {of} {was(late.count)} applied"
        case _:
            return f"{writes} {of} {was(late.count)} refused"


def _failed_events(facts: RunFacts) -> list[str]:
    words = []
    for (event, error), count in facts.failed_events.items():
        times = "" if count == 1 else f" {count} times"
        words.append(f"{event} failed with {error}{times}")
    return words


def _moved(facts: RunFacts) -> list[str]:
    topics = facts.state.of_topics
    words = []
    moved = [
        (partition, before, now.target_replicas)
        for partition, before in facts.replicas_before.items()
        if partition.topic not in facts.ever_deleted
        and (now := topics.assignment(partition)) is not None
        and not now.is_being_reassigned
        and now.replicas != before
    ]
    if len(moved) > CHANGES_NAMED:
        words.append(f"{len(moved)} partitions moved to other replicas")
    else:
        words += [f"{p} moved from replicas {list(before)} to {list(now)}" for p, before, now in moved]
    if reassigning := topics.reassigning():
        words.append(f"the reassignment of {listed([str(p) for p in reassigning])} was not complete at the end")
    for topic, before in _partition_counts(facts).items():
        now_count = len(topics.topics[topic].assignments)
        if now_count != before:
            words.append(f"topic {topic} has {now_count} partitions instead of {before}")
    words += [f"topic {topic} was deleted" for topic in facts.deleted]
    words += [
        f"the deletion of topic {topic} was not complete at the end"
        for topic in sorted(topics.deleting & topics.topics.keys())
    ]
    return words


def _partition_counts(facts: RunFacts) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partition in facts.replicas_before:
        if partition.topic in facts.state.of_topics.topics and partition.topic not in facts.ever_deleted:
            counts[partition.topic] = counts.get(partition.topic, 0) + 1
    return counts


def _leaders(facts: RunFacts) -> list[str]:
    topics = facts.state.of_topics
    changed = [
        (partition, before, now)
        for partition, before in facts.leaders_before.items()
        if before is not None
        and partition.topic not in facts.ever_deleted
        and (now := topics.leader(partition)) not in (None, before)
    ]
    if len(changed) > CHANGES_NAMED:
        return [f"{len(changed)} of {plural(len(facts.leaders_before), 'partition')} got another leader"]
    return [f"{partition} is led by broker-{now} instead of broker-{before}" for partition, before, now in changed]


def _groups(facts: RunFacts) -> list[str]:
    words = []
    since = facts.incidents[0].t_ms if facts.incidents else facts.end_ms
    for group, history in sorted(facts.state.of_consumers.groups.items()):
        rebalances = [t_ms for t_ms in facts.rebalances.get(group, ()) if t_ms >= since]
        if not rebalances:
            continue
        often = "" if len(rebalances) == 1 else f" {len(rebalances)} times, the last time"
        state = (
            f"was stable in generation {history.generation}"
            if history.state == "Stable"
            else f"was in state {history.state}"
        )
        moved = {move.partition for move in history.moves if move.t_ms >= since}
        what = f", and {plural(len(moved), 'partition')} moved to other consumers" if moved else ""
        words.append(f"group {group} rebalanced{often} {at(rebalances[-1], 'at ')}, then {state}{what}")
    return words


def _end(facts: RunFacts) -> str:
    topics, state = facts.state.of_topics, facts.state
    partitions = list(topics.partitions())
    if not partitions:
        is_about_controllers = len(facts.controllers) > 1
        registered = f"{plural(len(state.registered), 'broker')} {was(len(state.registered))} registered"
        return "" if is_about_controllers else f"at the end {registered}"
    unled = [partition for partition in partitions if not _has_working_leader(facts, partition)]
    incomplete = [
        partition for partition in partitions if partition not in unled and not _has_complete_isr(facts, partition)
    ]
    if len(partitions) == 1:
        isr = "an incomplete ISR" if incomplete else "a complete ISR"
        return f"at the end {partitions[0]} had {'no working leader' if unled else f'a working leader and {isr}'}"
    everyone = "both partitions" if len(partitions) == 2 else f"all {len(partitions):,} partitions"
    text = (
        f"{len(unled):,} of {len(partitions):,} partitions had no working leader"
        if unled
        else f"{everyone} had a working leader"
    )
    if incomplete:
        return f"at the end {text}, and {len(incomplete):,} an incomplete ISR"
    return f"at the end {text}{'' if unled else ' and a complete ISR'}"


def _has_working_leader(facts: RunFacts, partition: TopicPartition) -> bool:
    leader = facts.state.of_topics.leader(partition)
    return leader in facts.state.registered and facts.state.processes.get(f"{BROKER_PREFIX}{leader}", "running") == "running"


def _has_complete_isr(facts: RunFacts, partition: TopicPartition) -> bool:
    assignment = facts.state.of_topics.assignment(partition)
    return assignment is not None and set(assignment.origin_replicas) <= set(facts.state.of_topics.isr(partition))
