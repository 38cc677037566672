"""The answer to a question about a state: whether it holds, since and until when, why, and what did not happen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.state_changes import PartitionChanged
from kcsim.scenarios.views.narration.causes import Causes, Story
from kcsim.scenarios.views.state_questions.cluster_evidence import ClusterEvidence
from kcsim.scenarios.views.state_questions.missing_steps import MissingStep, MissingSteps
from kcsim.scenarios.views.state_questions.question import StateQuestion, StateQuestionError
from kcsim.scenarios.views.state_questions.state_checks import actual, holds
from kcsim.scenarios.views.trace.time_point import ends_run
from kcsim.text import did_you_mean
from kcsim.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class FaultOfStep:
    """The fault to which a missing step leads back."""

    step: MissingStep
    faults: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """The answer.

    Attributes:
        holds: whether the state is so at that time; None if the trace does not say.
        actual: what the trace shows of the subject at that time.
        asked_ms: the time that was asked about.
        began: the event since which the answer is what it is; None: since the run's beginning.
        ended: the event with which it ceases to be so; None: not before the end of the run.
        story: the causes of `began`.
        missing: what did not happen, for a state that holds.
    """

    question: StateQuestion
    holds: bool | None
    actual: str
    asked_ms: int
    began: Event | None
    ended: Event | None
    story: Story | None
    missing: tuple[FaultOfStep, ...]


def answer(events: Sequence[Event], question: StateQuestion) -> StateAnswer:
    """Answer a question from a trace. Raises: StateQuestionError for a subject or time that the trace does not have."""
    run = list(_run_alone(events))
    if not run or not (question.at.is_the_end or question.at.is_reached_by(run[-1])):
        last = f"#{run[-1].seq}, {run[-1].t_ms / 1000:.3f} s" if run else "nothing"
        raise StateQuestionError(f"the run has no {question.at.text}: it ends with {last}")
    _check_subject(run, question)
    before = [event for event in run if not question.at.is_before(event)]
    after = run[len(before) :]
    seen, verdict, began = ClusterEvidence(), None, None
    for place, event in enumerate(before):
        seen.see(event)
        now = holds(seen, question)
        if now is not verdict:
            verdict, began = now, event if place else None
    missing = MissingSteps(seen, _session_ends(after), _partition_changes(after)).of(question) if verdict else []
    asked_ms = question.at.t_ms if question.at.t_ms is not None else (before[-1].t_ms if before else 0)
    text = actual(seen, question)
    ended = None
    for event in after:
        seen.see(event)
        if holds(seen, question) is not verdict:
            ended = event
            break
    causes = Causes(run)
    story = causes.story(began.seq, depth=0) if began is not None and verdict is not None else None
    known = {event.seq for event in story.chain} if story else set()
    steps = tuple(FaultOfStep(step, _faults(causes, step, known)) for step in missing)
    return StateAnswer(question, verdict, text, asked_ms, began, ended, story, steps)


def _run_alone(events: Iterable[Event]) -> Iterable[Event]:
    """Yield the events up to the end of the run, without its clean-up."""
    for event in events:
        yield event
        if ends_run(event):
            return


def _session_ends(events: Iterable[Event]) -> dict[str, Event]:
    return {event.session_id or "": event for event in events if event.kind is EventKind.SESSION_CLOSED}


def _partition_changes(events: Iterable[Event]) -> dict[TopicPartition, Event]:
    """Return the next change of each partition's state."""
    state, following = ClusterState(), dict[TopicPartition, Event]()
    for event in events:
        state.apply(event)
        for change in state.changes:
            if isinstance(change, PartitionChanged):
                following.setdefault(change.partition, event)
    return following


def _faults(causes: Causes, step: MissingStep, known: set[int]) -> tuple[Event, ...]:
    """Return the faults that a step's evidence follows from and that the answer does not name yet."""
    roots = {root.seq: root for seq in step.evidence if (root := causes.story(seq, depth=0).chain[0]).seq not in known}
    return tuple(root for _, root in sorted(roots.items()) if root.kind is EventKind.FAULT)


def _check_subject(run: Sequence[Event], question: StateQuestion) -> None:
    """Check that the trace has the subject of the question. Raises: StateQuestionError."""
    seen = ClusterEvidence()
    nodes = set()
    for event in run:
        seen.see(event)
        nodes.update({event.node, event.target or ""})
    brokers = {node for node in nodes if node.startswith("broker-")} | {f"broker-{b}" for b in seen.registrations}
    brokers |= {f"broker-{broker}" for broker in seen.brokers_ever}
    partitions = {str(partition) for partition in seen.partitions_ever}
    consumers = {node for node in nodes if node.startswith("consumer-")}
    checks = (
        (question.partition and str(question.partition), partitions, "partition"),
        (question.node if question.broker is not None else None, brokers, "broker"),
        (question.topic, seen.topics_ever, "topic"),
        (question.consumer, consumers, "consumer"),
    )
    for name, known, noun in checks:
        if name and name not in known:
            raise StateQuestionError(f"the trace has no {noun} {name}{did_you_mean(name, sorted(known))}")
