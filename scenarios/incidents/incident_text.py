"""An investigation as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcsim.scenarios.incidents.findings import FaultCandidate, IncidentFinding
from kcsim.scenarios.incidents.investigation import ChangedRun, Investigation
from kcsim.scenarios.incidents.outcome import IncidentOutcome, Milestone, SimulatedOutcome
from kcsim.scenarios.views.narration.story_words import duration, plural, sentence
from kcsim.scenarios.views.terminal.table import table
from kcsim.text import comma_separated
from kcsim.zk.capture.zxid_or_time import time_text

LINES_SHOWN = 40
"""Of a story, unless everything is asked for."""
NEVER_SHOWN = (
    "why a process stood still or ended: no log of Kafka or ZooKeeper has that",
    "what clients saw, and whether records were lost",
)
ONLY_BROKERS = "writes that no broker logs, such as those of a client by hand, and when exactly; ZooKeeper's log has them"
ONLY_ZOOKEEPER = "whether a broker whose session expired was dead, frozen or cut off: its server.log tells"


def incident_lines(found: Investigation, everything: bool) -> Iterator[str]:
    """Yield the lines of an investigation."""
    yield from _heading(found)
    if found.summary:
        yield from ("", f"In short (times count from {time_text(found.logs.began_ms)})")
        yield from (f"  {text}" for text in found.summary)
    if found.story:
        yield from ("", "What happened (UTC)")
        yield from _story(found, everything)
    yield ""
    yield from _diagnosis(found)
    yield ""
    yield from _reproduction(found)
    if found.changed is not None:
        yield ""
        yield from changed_lines(found, found.changed)
    yield from ("", "What these logs do not show")
    yield from (f"  {what}" for what in not_shown(found))


def _heading(found: Investigation) -> Iterator[str]:
    logs = found.logs
    last_ms = logs.events[-1].t_ms if logs.events else 0
    begin, end = time_text(logs.began_ms), time_text(logs.began_ms + last_ms)
    history = "ZooKeeper's transaction log" if logs.has_transactions else "log files of brokers"
    of_brokers = comma_separated(f"broker-{broker}" for broker in logs.lines) or "none"
    yield f"{logs.source}: {plural(len(logs.events), 'event')} from {history}, {begin} to {end}"
    timeout_ms = logs.session_timeout_ms
    shown = "not shown" if timeout_ms is None else duration(timeout_ms)
    yield f"log files of: {of_brokers}; session time-out: {shown}"


def _time(found: Investigation, t_ms: int) -> str:
    """Return the time of day."""
    return time_text(found.logs.began_ms + t_ms).partition("T")[2].rstrip("Z")


def _story(found: Investigation, everything: bool) -> Iterator[str]:
    shown = found.story if everything else found.story[:LINES_SHOWN]
    for line in shown:
        because = f"; because {line.because[1]} at {_time(found, line.because[0])}" if line.because else ""
        yield f"  {_time(found, line.t_ms)}  {line.text}{because}"
    if len(shown) < len(found.story):
        yield f"  ({len(found.story) - len(shown)} more lines: --all)"


# --- the first fault


def _diagnosis(found: Investigation) -> Iterator[str]:
    diagnosis = found.diagnosis
    if diagnosis.overall is not None:
        yield sentence(diagnosis.overall)
    first = diagnosis.first
    if first is None:
        return
    if diagnosis.overall is not None:
        yield ""
    yield from _finding(found, first, "The likely first fault")
    others = [one for one in diagnosis.findings if one is not first]
    if others:
        yield ""
        yield "Besides"
    for one in others:
        when = f"{_time(found, one.began_ms)}"
        yield f"  {when}  {one.subject} {_what(one)}"


def _what(finding: IncidentFinding) -> str:
    if finding.fault is not None:
        return finding.fault.value
    kinds = "; or it ".join(candidate.kind.value for candidate in finding.possible)
    return f"{finding.seen}; it {kinds}" if kinds else f"{finding.seen}; no fault explains it"


def _finding(found: Investigation, first: IncidentFinding, title: str) -> Iterator[str]:
    when = f"at {_time(found, first.began_ms)} ({first.began_text})"
    until = f", until {_time(found, first.ended_ms)}" if first.ended_ms is not None else ""
    if first.fault is not None:
        yield f"{title}: {first.subject} {first.fault.value}, {when}{until}"
    elif first.possible:
        yield f"{title}: {first.subject} {first.seen}, {when}{until}"
        yield f"These logs cannot tell which: it {'; or it '.join(one.kind.value for one in first.possible)}"
    else:
        yield f"{title}: {first.subject} {first.seen}, {when}{until}; everything that could explain it is refuted"
    for candidate in first.possible:
        yield from _candidate(candidate, first.fault is None)
    rest = [one for one in first.candidates if one not in first.possible]
    refuted = [one for one in rest if one.is_refuted]
    for one in rest:
        if not one.is_refuted and one.is_possible:
            yield f"  not excluded: {one.kind.value}"
            yield from _evidence(one)
    if refuted:
        yield "  excluded:"
    for one in refuted:
        reasons = "; ".join(str(evidence) for evidence in one.against if evidence.is_strong)
        yield f"    {one.kind.value}: {reasons}"
    deciders = [one.kind.decided_by for one in first.possible if one.kind.decided_by]
    if deciders:
        yield "  what would tell more:"
        yield from (f"    {text}" for text in dict.fromkeys(deciders))


def _candidate(candidate: FaultCandidate, is_named: bool) -> Iterator[str]:
    if is_named:
        yield f"  {candidate.kind.value}"
    yield from _evidence(candidate)


def _evidence(candidate: FaultCandidate) -> Iterator[str]:
    yield from (f"    for: {evidence}" for evidence in candidate.speaks_for)
    yield from (f"    against: {evidence}" for evidence in candidate.against)


# --- the reproduction


def _reproduction(found: Investigation) -> Iterator[str]:
    run, in_logs, made = found.run, found.in_logs, found.reproduction
    if run is None or in_logs is None or made is None:
        yield f"No scenario: {found.why_not}"
        return
    yield f"Reproduced in the simulated world, with seed {run.seed}"
    yield from (f"  {line}" for line in table(("after the first fault", "logs", "simulated"), _rows(in_logs, run.outcome)))
    if run.differences:
        yield f"  {plural(len(run.differences), 'difference')}:"
        yield from (f"    {line}" for line in run.differences)
    else:
        checked = plural(len(in_logs.partitions), "partition")
        yield f"  no difference: registrations, controllers, epochs, and every leader and ISR of {checked}, in order"
    if run.failure is not None:
        yield f"  the run ended early: {run.failure}"
    for text in made.assumed:
        yield f"  assumed: {text}"


def _rows(in_logs: IncidentOutcome, simulated: IncidentOutcome) -> Sequence[tuple[str, str, str]]:
    """Return a row for each milestone, with its time in the logs and in the run."""
    left = list(simulated.milestones)
    rows = []
    for milestone in in_logs.milestones:
        match = next((one for one in left if one.what == milestone.what), None)
        if match is not None:
            left.remove(match)
        rows.append((milestone.what, duration(milestone.after_ms), "-" if match is None else duration(match.after_ms)))
    rows += [(one.what, "-", duration(one.after_ms)) for one in left]
    changed = str(len(in_logs.partitions)), str(len(simulated.partitions))
    return [*rows, ("partitions whose leader or ISR changed", *changed)]


# --- other settings


def changed_lines(found: Investigation, changed: ChangedRun) -> Iterator[str]:
    """Yield what would have been otherwise with other settings."""
    assert found.run is not None
    settings = comma_separated(f"{name}={value}" for name, value in changed.settings.items())
    before, after = found.run.outcome, changed.run.outcome
    yield f"With {settings}, simulated with the same faults at the same times"
    yield f"  {_compared('no fail-over', 'a fail-over', before.failovers, after.failovers)}"
    yield f"  {_compared('no registration lost', 'a registration lost', before.losses, after.losses)}"
    yield f"  partitions without a working leader for a time: {_outages(after)}; without the change, {_outages(before)}"
    if changed.run.failure is not None:
        yield f"  but: {changed.run.failure}; the simulation ends there"
    if changed.run.differences:
        yield "  in detail:"
        yield from (f"    {line}" for line in changed.run.differences)
    first = found.diagnosis.first
    timeout_ms = found.logs.session_timeout_ms
    if first is not None and "up to a third" in first.began_text and timeout_ms is not None:
        yield f"  the logs show the beginning of the fault to within {duration(timeout_ms // 3)} only"


def _outages(outcome: IncidentOutcome) -> str:
    """Return how many partitions could not be used, and for how long at most."""
    outages = {tp: length_ms for tp, length_ms in outcome.outages_ms.items() if length_ms > 0}
    return f"{len(outages)}, for up to {duration(max(outages.values()))}" if outages else "none"


def _compared(none: str, some: str, before: Sequence[Milestone], after: Sequence[Milestone]) -> str:
    """Return how one kind of milestone would have been otherwise. Args: none, some: what there would have been."""
    if not before and not after:
        return f"there would have been {none}, as without the change"
    if not after:
        return f"there would have been {none}; without the change, {_list(before)}"
    if not before:
        return f"there would have been {some}: {_list(after)}; without the change there is none"
    return f"there would still have been {some}: {_list(after)}; without the change, {_list(before)}"


def _list(milestones: Sequence[Milestone]) -> str:
    return ", ".join(f"{one.what} after {duration(one.after_ms)}" for one in milestones)


def not_shown(found: Investigation) -> list[str]:
    """Return what the logs do not show: that of this kind of log, and what the import noticed."""
    logs = found.logs
    known = sorted({int(event.broker_id) for event in logs.events if event.broker_id is not None})
    missing = [broker for broker in known if broker not in logs.lines]
    texts = list(NEVER_SHOWN)
    if not logs.has_transactions:
        texts.append(ONLY_BROKERS)
    if not logs.lines:
        texts.append(ONLY_ZOOKEEPER)
    elif missing:
        texts.append(f"what {comma_separated(f'broker-{broker}' for broker in missing)} logged: there are no files of it")
    return [*texts, *logs.not_shown]


# --- JSON


def incident_json(found: Investigation) -> dict[str, Any]:
    """Return an investigation as JSON; times are ms since 1970, those of outcomes ms after the first fault."""
    logs, diagnosis = found.logs, found.diagnosis
    first = diagnosis.first
    return {
        "source": logs.source,
        "began_ms": logs.began_ms,
        "session_timeout_ms": logs.session_timeout_ms,
        "overall": diagnosis.overall,
        "first_fault": None if first is None else _finding_json(found, first),
        "findings": [_finding_json(found, one) for one in diagnosis.findings],
        "summary": list(found.summary),
        "story": [
            {
                "t_ms": logs.began_ms + line.t_ms,
                "text": line.text,
                "because": None if line.because is None else line.because[1],
                "because_t_ms": None if line.because is None else logs.began_ms + line.because[0],
            }
            for line in found.story
        ],
        "scenario": None if found.reproduction is None else found.reproduction.text,
        "why_no_scenario": found.why_not,
        "assumed": [] if found.reproduction is None else list(found.reproduction.assumed),
        "in_logs": None if found.in_logs is None else _outcome_json(found.in_logs),
        "simulated": None if found.run is None else _run_json(found.run),
        "changed": None
        if found.changed is None
        else {"settings": dict(found.changed.settings), **_run_json(found.changed.run)},
        "not_shown": not_shown(found),
    }


def _finding_json(found: Investigation, one: IncidentFinding) -> dict[str, Any]:
    began_ms = found.logs.began_ms
    return {
        "subject": one.subject,
        "seen": one.seen,
        "fault": None if one.fault is None else one.fault.name,
        "possible": [candidate.kind.name for candidate in one.possible],
        "began_ms": began_ms + one.began_ms,
        "began_text": one.began_text,
        "seen_ms": began_ms + one.seen_ms,
        "ended_ms": None if one.ended_ms is None else began_ms + one.ended_ms,
        "candidates": [
            {
                "fault": candidate.kind.name,
                "for": [str(evidence) for evidence in candidate.speaks_for],
                "against": [str(evidence) for evidence in candidate.against],
                "is_excluded": candidate.is_refuted,
                "decided_by": candidate.kind.decided_by,
            }
            for candidate in one.candidates
        ],
    }


def _outcome_json(outcome: IncidentOutcome) -> dict[str, Any]:
    return {
        "milestones": [{"what": one.what, "after_ms": one.after_ms} for one in outcome.milestones],
        "controller_epoch_raised_by": outcome.elections,
        "outages_ms": {str(tp): length_ms for tp, length_ms in sorted(outcome.outages_ms.items())},
        "partitions": {
            str(tp): [{"leader": leader, "isr": list(isr)} for leader, isr in states]
            for tp, states in sorted(outcome.partitions.items())
        },
    }


def _run_json(run: SimulatedOutcome) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "differences": list(run.differences),
        "failure": run.failure,
        **_outcome_json(run.outcome),
    }
