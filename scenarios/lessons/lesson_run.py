"""The run of a lesson: its events, the aliases of nodes, and the cluster's state as of any event."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.run_source import scenario_run_info
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.value_types import CONTROLLER
from kcsim.scenarios.lessons.run_points import AnyRunPoint, LaterPoint

SIMULATED = ZooKeeperChoice(ZooKeeperKind.SIMULATED)


class NoSuchRunPointError(Exception):
    """A page is bound to a point that its run does not reach after the point of the page before."""

    def __init__(self, point: object, after: Event) -> None:
        super().__init__(f"the run has no {point} after #{after.seq}, at {after.t_ms / 1000:.3f} s")


@dataclass(frozen=True)
class LessonRun:
    """Everything that a lesson's pages are made from.

    Attributes:
        events: from the start of the run to its end, without gaps: the index of an event is its seq.
        aliases: names given in the timetable -> node.
        brokers: names of all brokers.
        holders: for each event, the broker named in /controller after it: broker-N, or None.
    """

    events: Sequence[Event]
    aliases: Mapping[str, str]
    brokers: tuple[str, ...]
    holders: Sequence[str | None]

    @classmethod
    def of(cls, events: Sequence[Event], aliases: Mapping[str, str], brokers: tuple[str, ...]) -> "LessonRun":
        """Take a run's event log up to the end of the run; the clean-up afterwards is left out."""
        ended = next((event.seq for event in events if event.kind is EventKind.RUN_ENDED), len(events) - 1)
        kept = tuple(events[: ended + 1])
        return cls(kept, dict(aliases), brokers, tuple(_holders(kept)))

    def as_of(self, seq: int) -> EvaluationContext:
        """Return what conditions are evaluated on after an event: the events so far, the state and the names then."""
        events, state = self.events[: seq + 1], ClusterState()
        for event in events:
            state.apply(event)
        return EvaluationContext(events, state, self.brokers, self.aliases)

    def _names(self, seq: int) -> Mapping[str, str]:
        """Return name -> node as of an event: a pattern that names the controller means the one of that time."""
        holder = self.holders[seq]
        return self.aliases if holder is None else {**self.aliases, CONTROLLER: holder}

    def matching(self, pattern: EventPattern, first: int, last: int) -> Iterator[Event]:
        """Yield the events that match a pattern, from `first` to `last`, both included."""
        for event in self.events[first : last + 1]:
            if pattern.matches(event, self._names(event.seq)):
                yield event

    def find(self, point: AnyRunPoint, after: int) -> int:
        """Return the seq of a point of the run. Raises: NoSuchRunPointError.

        Args:
            after: the seq of the point before; a matching event must come later.
        """
        match point:
            case "start":
                return 0
            case "end":
                return len(self.events) - 1
            case LaterPoint(after_ms):
                until_ms = self.events[after].t_ms + after_ms
                return max(event.seq for event in self.events if event.t_ms <= until_ms)
            case EventPattern():
                found = next(self.matching(point, after + 1, len(self.events) - 1), None)
                if found is None:
                    raise NoSuchRunPointError(point, self.events[after])
                return found.seq


def _holders(events: Sequence[Event]) -> Iterator[str | None]:
    state = ClusterState()
    for event in events:
        state.apply(event)
        yield None if (holder := state.controller_id) is None else f"broker-{holder}"


class FailedRunError(Exception):
    """The scenario of a lesson could not be run to its end."""


def run_lesson(
    loaded: LoadedScenario,
    choice: ZooKeeperChoice = SIMULATED,
    zookeeper: str = "simulated",
    seed: int = 1,
    trace: Path | None = None,
) -> LessonRun:
    """Run a lesson's scenario, and return the run.

    Args:
        choice: the ZooKeeper to run on, which must be one that we start.
        zookeeper: the name of that ZooKeeper in the run's first event.
        trace: where to write the event log.

    Raises: FailedRunError when a step could not be done; what the run's environment raises.
    """
    aliases: dict[str, str] = {}
    verdicts: list[Verdict] = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster, aliases=aliases))

    spec = cluster_spec(loaded.scenario)
    choice = replace(choice, members=max(choice.members, loaded.scenario.zookeeper.members))
    log = run_in_environment(choice, spec, scenario_run_info(loaded, seed, zookeeper), script, trace=trace)
    if (failure := verdicts[0].failure) is not None:
        raise FailedRunError(f"{failure.file}:{failure.line}: {failure.step}: {failure.reason}")
    return LessonRun.of(log.events, aliases, tuple(broker.name for broker in spec.brokers))
