"""An investigation of an incident: its logs, the diagnosis, the reproduction, and the same with other settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcsim.brokers.config import Value
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.run_source import with_settings
from kcsim.scenarios.incidents.broker_signs import BrokerSign, SignKind, short_place
from kcsim.scenarios.incidents.diagnosis import Diagnosis, diagnose, is_ordinary_act
from kcsim.scenarios.incidents.findings import FaultKind
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.incidents.incident_timetable import FIRST_FAULT_MS
from kcsim.scenarios.incidents.outcome import IncidentOutcome, SimulatedOutcome, nearest_run, outcome_of, simulated_outcome
from kcsim.scenarios.incidents.reproduction import NotReproducibleError, Reproduction, reproduce
from kcsim.scenarios.views.narration.event_description import describe
from kcsim.scenarios.views.narration.narrator import Narrator
from kcsim.scenarios.views.narration.story import story_of
from kcsim.scenarios.views.narration.story_words import duration

SIGNS_OF_NOTE = frozenset(
    {
        *(SignKind.STARTED, SignKind.TERMINATED, SignKind.SHUT_DOWN, SignKind.SILENCE, SignKind.EXPIRED),
        *(SignKind.DISK_LOST, SignKind.HALTED, SignKind.RESIGNED),
    }
)
REPEATED_WITHIN_MS = 100
WITHOUT_AND_WITH = ("without the change", "with it")
ROOTS = frozenset({EventKind.ZNODE_DELETED, EventKind.BROKER_REGISTERED, EventKind.ADMIN_ACT, EventKind.ELECTION_WON})
"""Events that are named as causes."""


@dataclass(frozen=True, slots=True)
class StoryLine:
    """A line of the story. Attributes: t_ms: after the first event. because: the cause, with its time; None: not shown."""

    t_ms: int
    text: str
    because: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """The simulated incident with other settings, beside the one with those of the logs."""

    settings: Mapping[str, Value]
    run: SimulatedOutcome


@dataclass(frozen=True, slots=True)
class Investigation:
    """All results.

    Attributes:
        summary: the story in three sentences; their times are seconds after the first event.
        story: what happened from the first finding on.
        in_logs: the outcome that the logs show; None: there is nothing to reproduce.
        reproduction, run: the scenario and its run.
        why_not: why there is no reproduction.
        changed: the same with other settings; None: none were given.
    """

    logs: IncidentLogs
    diagnosis: Diagnosis
    summary: tuple[str, ...]
    story: tuple[StoryLine, ...]
    in_logs: IncidentOutcome | None = None
    reproduction: Reproduction | None = None
    run: SimulatedOutcome | None = None
    why_not: str | None = None
    changed: ChangedRun | None = None


def investigate(logs: IncidentLogs, settings: Mapping[str, Value]) -> Investigation:
    """Investigate an incident; settings that are not empty are those of another run."""
    diagnosis = diagnose(logs)
    story = tuple(story_of_incident(logs, diagnosis))
    summary = story_of(event for event in logs.events if not is_ordinary_act(event)).sentences
    try:
        made = reproduce(logs, diagnosis)
    except NotReproducibleError as error:
        return Investigation(logs, diagnosis, summary, story, why_not=str(error))
    in_logs = outcome_of(logs.events, made.first_ms)
    loaded = made.loaded()
    run = nearest_run(loaded, in_logs, FIRST_FAULT_MS)
    changed = None
    if settings:
        other = with_settings(loaded, settings)
        changed = ChangedRun(settings, simulated_outcome(other, run.outcome, FIRST_FAULT_MS, run.seed, WITHOUT_AND_WITH))
    return Investigation(logs, diagnosis, summary, story, in_logs, made, run, None, changed)


def story_of_incident(logs: IncidentLogs, diagnosis: Diagnosis) -> list[StoryLine]:
    """Return what happened from the first finding on, with causes: events, signs and findings, in order of time."""
    if not diagnosis.findings:
        return []
    first_ms = diagnosis.findings[0].began_ms
    narrator, by_seq, found = Narrator(), dict[int, Event](), list[StoryLine]()
    for event in logs.events:
        by_seq[event.seq] = event
        text = narrator.narrate(event)
        if text is None or event.t_ms < first_ms or event.kind in (EventKind.RUN_STARTED, EventKind.RUN_ENDED):
            continue
        found.append(StoryLine(event.t_ms, f"{event.node} {text}", _cause(event, by_seq)))
    found += map(_sign_line, _signs_of_note(logs, first_ms))
    for finding in diagnosis.findings:
        if finding.fault not in (FaultKind.REASSIGNED, FaultKind.TOPIC_DELETED):
            what = finding.fault.value if finding.fault else f"{finding.seen}; when exactly it began, and why, is not shown"
            found.append(StoryLine(finding.began_ms, f"{finding.subject} {what}"))
    return sorted(found, key=lambda line: line.t_ms)


def _signs_of_note(logs: IncidentLogs, first_ms: int) -> Iterator[BrokerSign]:
    """Yield the signs that belong into a story; a sign that a broker logs twice, once."""
    last: dict[tuple[int, SignKind], int] = {}
    for sign in logs.signs:
        if sign.kind in SIGNS_OF_NOTE and sign.t_ms >= first_ms:
            key = sign.broker, sign.kind
            if key not in last or sign.t_ms - last[key] > REPEATED_WITHIN_MS:
                yield sign
            last[key] = sign.t_ms


def _sign_line(sign: BrokerSign) -> StoryLine:
    detail = f": {sign.detail}" if sign.detail else ""
    if sign.kind is SignKind.SILENCE:
        detail = f" for {duration(sign.value)}"
    return StoryLine(sign.t_ms, f"broker-{sign.broker} logs: {sign.kind.value}{detail} ({short_place(sign.place)})")


def _cause(event: Event, by_seq: Mapping[int, Event]) -> tuple[int, str] | None:
    """Return the nearest cause that people know by name."""
    at = by_seq.get(-1 if event.cause is None else event.cause)
    while at is not None:
        if at.kind in ROOTS and at.seq != event.seq:
            return at.t_ms, describe(at)
        at = by_seq.get(-1 if at.cause is None else at.cause)
    return None
