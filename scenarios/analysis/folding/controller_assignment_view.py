"""A partition's assignment as each controller knows it, which can differ from the assignment in its topic's znode.

A controller reads a topic when it takes over, or when it first sees the topic. A later write to the topic's znode by another
client, for a partition that the controller already knows, has no effect on it. The controller records reassignments itself.
"""

from dataclasses import dataclass

from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.scenarios.analysis.folding.controller_action import ControllerView
from kcsim.scenarios.analysis.folding.partition_state import UNASSIGNED
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.vocabulary import BrokerId, ReplicaAssignment


@dataclass(slots=True)
class KnownAssignment:
    """The assignment in one controller's term; the first `noted` of the topic's notes have been applied."""

    since: int
    assignment: ReplicaAssignment
    before: ReplicaAssignment
    noted: int = 0


class ControllerAssignmentView:
    """One partition's assignment as the controllers know it.

    Attributes:
        known: by the controller's node.
    """

    def __init__(self, timeline: Timeline, topic: str, partition: int) -> None:
        self._timeline = timeline
        self._topic_timeline = timeline.topic_timeline(topic)
        self._partition = partition
        self.known: dict[str, KnownAssignment] = {}

    def assignment(self, node: str, view: ControllerView, seq: int) -> ReplicaAssignment:
        """Return the assignment as the controller on `node` knows it at its event `seq`."""
        known = self.known.get(node)
        if known is None or known.since != view.since:
            known = self.known[node] = self._as_read(view)
        notes = self._topic_timeline.noted
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

    def _as_read(self, view: ControllerView) -> KnownAssignment:
        read_at = self._timeline.read_at.get(view.since)
        assignment = UNASSIGNED if read_at is None else self._stored(read_at)
        return KnownAssignment(view.since, assignment, assignment)

    def _stored(self, seq: int) -> ReplicaAssignment:
        return self._topic_timeline.assignment_at(seq, self._partition) or UNASSIGNED

    # --- reassignments

    def reassignment(self, step: ReplayFact, view: ControllerView) -> str | None:
        """Apply a step of a reassignment. Returns: the computed assignment, if it differs from the one in the step."""
        current = self.assignment(step.node, view, step.seq)
        known = self.known[step.node]
        wanted = assignment_of(step)
        match step.step:
            case "started" if wanted != current:
                known.before, known.assignment = current, wanted
                computed = reassigned_to(current, wanted.target_replicas)
                if computed != wanted:
                    return describe_assignment(computed)
            case "completing":
                known.assignment = ReplicaAssignment(wanted.target_replicas)
            case "failed" if self._stored(step.seq) != known.assignment:
                known.assignment = known.before
            case _:
                pass
        return None

    def wanted(self, step: ReplayFact) -> tuple[ReplicaAssignment, ...]:
        """Return what a reassignment may write into the topic's znode at this step or after it."""
        assignment = assignment_of(step)
        return assignment, ReplicaAssignment(assignment.target_replicas)


def describe_assignment(assignment: ReplicaAssignment) -> str:
    """Describe an assignment in a mismatch: [1, 2, 3] adding [3], removing [1]."""
    adding, removing = list(assignment.adding_replicas), list(assignment.removing_replicas)
    return f"{list(assignment.replicas)} adding {adding}, removing {removing}"


def assignment_of(step: ReplayFact) -> ReplicaAssignment:
    """Return the assignment that a step of a reassignment records."""
    return ReplicaAssignment(
        *(tuple(map(BrokerId, ids or ())) for ids in (step.replicas, step.adding_replicas, step.removing_replicas))
    )
