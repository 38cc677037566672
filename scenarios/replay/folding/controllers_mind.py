"""Who hosts a partition as each controller has it in mind, which is not always as its topic's znode has it.

A controller reads a topic when it takes over, or when it first sees it; what somebody writes there afterwards for a
partition that it knows already passes it by. Reassignments it notes itself.
"""

import re
from dataclasses import dataclass

from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.scenarios.replay.folding.fact import Fact
from kcsim.scenarios.replay.folding.moment import View
from kcsim.scenarios.replay.folding.partition_story import UNASSIGNED
from kcsim.scenarios.replay.folding.timeline import Timeline
from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment

_MOVING = re.compile(r"adding (.*), removing (.*)")
_ID = re.compile(r"-?\d+")


@dataclass(slots=True)
class _Known:
    """Of one controller in one term of office; `noted` of the notes on the topic have been gone through."""

    since: int
    assignment: ReplicaAssignment
    before: ReplicaAssignment
    noted: int = 0


class ControllersMind:
    """Of one partition, by the controller's node."""

    def __init__(self, timeline: Timeline, topic: str, partition: int) -> None:
        self._timeline = timeline
        self._story = timeline.story(topic)
        self._partition = partition
        self._known: dict[str, _Known] = {}

    def assignment(self, node: str, view: View, seq: int) -> ReplicaAssignment:
        """As the controller on `node` has it at its event `seq`."""
        known = self._known.get(node)
        if known is None or known.since != view.since:
            known = self._known[node] = self._as_read(view)
        notes = self._story.noted
        while known.noted < len(notes) and notes[known.noted][0] < seq:
            at, by, is_new = notes[known.noted]
            known.noted += 1
            if by != node or at <= view.since:
                continue
            if not is_new:
                known.assignment = UNASSIGNED
            elif not known.assignment.replicas:
                known.assignment = self._stored(at)
        if not known.assignment.replicas:
            known.assignment = self._stored(seq)
        return known.assignment

    def _as_read(self, view: View) -> _Known:
        read_at = self._timeline.read_at.get(view.since)
        assignment = UNASSIGNED if read_at is None else self._stored(read_at)
        return _Known(view.since, assignment, assignment)

    def _stored(self, seq: int) -> ReplicaAssignment:
        return self._story.assignment_at(seq, self._partition) or UNASSIGNED

    # --- reassignments

    def reassignment(self, step: Fact, view: View) -> str | None:
        """Take a step of a reassignment in. Returns: what it should have come to, if it is not what the step tells."""
        current = self.assignment(step.node, view, step.seq)
        known = self._known[step.node]
        wanted = assignment_of(step)
        match step.step:
            case "started" if wanted != current:
                known.before, known.assignment = current, wanted
                computed = reassigned_to(current, wanted.target_replicas)
                if computed != wanted:
                    adding, removing = list(computed.adding_replicas), list(computed.removing_replicas)
                    return f"{list(computed.replicas)} adding {adding}, removing {removing}"
            case "completing":
                known.assignment = ReplicaAssignment(wanted.target_replicas)
            case "failed" if self._stored(step.seq) != known.assignment:
                known.assignment = known.before
            case _:
                pass
        return None

    def wanted(self, step: Fact) -> tuple[ReplicaAssignment, ...]:
        """What a reassignment may write into the topic's znode at this step or after it."""
        assignment = assignment_of(step)
        return assignment, ReplicaAssignment(assignment.target_replicas)


def assignment_of(step: Fact) -> ReplicaAssignment:
    """The assignment that a step of a reassignment tells of."""
    told = _MOVING.search(step.inputs or "")
    adding, removing = (_ids(ids) for ids in told.groups()) if told else ((), ())
    return ReplicaAssignment(tuple(BrokerId(b) for b in step.replicas or ()), adding, removing)


def _ids(text: str) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(int(b)) for b in _ID.findall(text))
