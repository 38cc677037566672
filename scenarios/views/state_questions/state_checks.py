"""Whether a state that is asked about holds, and what the trace shows of its subject instead."""

from kcsim.eventlog.cluster_state import ENDED
from kcsim.scenarios.views.narration.story_words import plural
from kcsim.scenarios.views.state_questions.cluster_evidence import ClusterEvidence
from kcsim.scenarios.views.state_questions.question import StateForm, StateQuestion
from kcsim.text import comma_separated, format_ids
from kcsim.vocabulary import TopicPartition


def holds(seen: ClusterEvidence, question: StateQuestion) -> bool | None:
    """Return whether the state holds; None if the trace does not have what would say so."""
    partition, broker, topics = question.partition, question.broker, seen.state.of_topics
    if partition is not None:
        return _holds_of_partition(seen, question.form, partition, broker)
    match question.form:
        case StateForm.NO_CONTROLLER:
            # Without processes, as in a log of ZooKeeper, it is unknown whether the broker that /controller names works.
            is_unknown = not seen.state.processes and (seen.controller is None or seen.state.controller_id is not None)
            return None if is_unknown else seen.state.working_controller is None
        case StateForm.DEAD | StateForm.FROZEN:
            process = seen.state.processes.get(question.node)
            wanted = ENDED if question.form is StateForm.DEAD else ("paused",)
            return None if process is None and not seen.state.processes else process in wanted
        case StateForm.NOT_REGISTERED:
            return broker not in seen.state.registered if seen.registrations else None
        case StateForm.SESSION_EXPIRED:
            return seen.state.has_lost_session(question.node) if question.node in seen.state.links else None
        case StateForm.NOT_DELETED:
            return question.topic in topics.deleting
        case _:  # OWNS_NOTHING
            known = question.node in seen.state.of_consumers.processes or question.node in seen.state.of_consumers.owned
            return not seen.state.of_consumers.owned.get(question.node) if known else None


def _holds_of_partition(
    seen: ClusterEvidence, form: StateForm, partition: TopicPartition, broker: int | None
) -> bool | None:
    topics = seen.state.of_topics
    if form is StateForm.PRODUCE_PENDING:
        return bool(seen.records.pending(partition)) if seen.records.has_producers else None
    assignment, leader = topics.assignment(partition), topics.leader(partition)
    if form in (StateForm.UNDER_REPLICATED, StateForm.REASSIGNMENT_PENDING) and assignment is None:
        return None if partition in topics.states else False
    match form:
        case StateForm.OFFLINE if assignment is None and partition not in topics.states:
            return False  # it does not exist
        case StateForm.OFFLINE if leader is not None and not (seen.registrations and seen.state.processes):
            # Such a trace does not show whether the leader runs; that it is not registered, it may show.
            return True if seen.registrations and leader not in seen.state.registered else None
        case StateForm.OFFLINE:
            return not seen.serves(leader)
        case StateForm.UNDER_REPLICATED:
            return assignment is not None and len(topics.isr(partition)) < len(assignment.origin_replicas)
        case StateForm.REASSIGNMENT_PENDING:
            return assignment is not None and assignment.is_being_reassigned
        case StateForm.IN_ISR | StateForm.NOT_IN_ISR:
            return (broker in topics.isr(partition)) is (form is StateForm.IN_ISR)
        case _:  # LEADS, NOT_LEADER
            return (leader == broker) is (form is StateForm.LEADS)


def actual(seen: ClusterEvidence, question: StateQuestion) -> str:
    """Return what the trace shows of the question's subject."""
    partition, node = question.partition, question.node
    if question.form is StateForm.PRODUCE_PENDING and partition is not None:
        waiting = seen.records.pending(partition)
        facts = []
        for name, records in waiting.items():
            if records.unanswered:
                facts.append(
                    f"{name} has no acknowledgement for {plural(records.unanswered, 'record')} that a leader appended"
                )
            if records.refused:
                facts.append(f"the last attempt of {name} was refused with {records.refused.error}")
        none = "no records wait" if seen.records.has_producers else "the trace has no events about producers"
        return "; ".join(facts) or none
    if partition is not None:
        return partition_text(seen, partition)
    match question.form:
        case StateForm.NO_CONTROLLER:
            working = seen.state.working_controller
            if working is not None:
                return f"broker-{working} works as the controller"
            named = seen.state.controller_id
            return "/controller does not exist" if named is None else f"/controller names {described(seen, named)}"
        case StateForm.NOT_DELETED:
            if question.topic in seen.state.of_topics.topics:
                return f"topic {question.topic} exists"
            return f"topic {question.topic} does not exist"
        case StateForm.OWNS_NOTHING:
            owned = seen.state.of_consumers.owned.get(node, ())
            process = seen.state.processes.get(node, "unknown")
            return f"{node} ({process}) owns {comma_separated(owned) or 'nothing'}"
        case _:
            return described(seen, question.broker or 0)


def described(seen: ClusterEvidence, broker: int) -> str:
    """Return a broker with its process, registration and session."""
    node = f"broker-{broker}"
    process = seen.state.not_running(node) or ("running" if seen.state.processes else "process unknown")
    registered = "registered" if broker in seen.state.registered else "not registered"
    session = ", its session has ended" if seen.state.has_lost_session(node) else ""
    return f"{node} ({process}, {registered}{session})"


def partition_text(seen: ClusterEvidence, partition: TopicPartition) -> str:
    """Return a partition's leader, ISR and replicas as ZooKeeper has them."""
    topics = seen.state.of_topics
    assignment, leader = topics.assignment(partition), topics.leader(partition)
    if assignment is None and partition not in topics.states:
        return f"{partition} does not exist"
    led = "has no leader" if leader is None else f"is led by {described(seen, leader)}"
    moving = (
        f", adding {format_ids(assignment.adding_replicas)}, removing {format_ids(assignment.removing_replicas)}"
        if assignment is not None and assignment.is_being_reassigned
        else ""
    )
    replicas = format_ids(assignment.replicas) if assignment is not None else "not in the trace"
    return f"{partition} {led}, ISR {format_ids(topics.isr(partition))}, replicas {replicas}{moving}"
