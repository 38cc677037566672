"""A run that a lesson is about: its events, who is called what in them, and the cluster as of any of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.judging.verdict import Verdict
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.words import CONTROLLER
from kcsim.scenarios.lessons.moments import AnyMoment, Later
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.state import ClusterState
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.events import Event, EventKind

SIMULATED = ZooKeeperChoice(ZooKeeperKind.SIMULATED)


class NoSuchMomentError(Exception):
    """A page is bound to a point that its run does not have after the point before."""

    def __init__(self, moment: object, after: Event) -> None:
        super().__init__(f"the run has no {moment} after #{after.seq}, at {after.t_ms / 1000:.3f} s")


@dataclass(frozen=True)
class LessonRun:
    """Everything that a lesson's pages are made from.

    Attributes:
        events: from the start of the run to its end, without gaps: the place of one is its seq.
        aliases: names given in the timetable -> node.
        brokers: names of all brokers.
        holders: for each event, who held /controller after it: broker-N, or None.
    """

    events: Sequence[Event]
    aliases: Mapping[str, str]
    brokers: tuple[str, ...]
    holders: Sequence[str | None]

    @classmethod
    def of(cls, events: Sequence[Event], aliases: Mapping[str, str], brokers: tuple[str, ...]) -> "LessonRun":
        """Take a run's event log up to its end; what is cleaned up afterwards is no part of it."""
        ended = next((event.seq for event in events if event.kind is EventKind.RUN_ENDED), len(events) - 1)
        kept = tuple(events[: ended + 1])
        return cls(kept, dict(aliases), brokers, tuple(_holders(kept)))

    def as_of(self, seq: int) -> ClusterState:
        """The cluster after an event."""
        state = ClusterState()
        for event in self.events[: seq + 1]:
            state.apply(event)
        return state

    def node(self, name: str, seq: int) -> str:
        """The node that a name stands for after an event."""
        return self._names(seq).get(name, name)

    def _names(self, seq: int) -> Mapping[str, str]:
        holder = self.holders[seq]
        return self.aliases if holder is None else {**self.aliases, CONTROLLER: holder}

    def matching(self, pattern: EventPattern, first: int, last: int) -> Iterator[Event]:
        """The events that are meant, from `first` to `last`, both included."""
        for event in self.events[first : last + 1]:
            if pattern.matches(event, self._names(event.seq)):
                yield event

    def find(self, moment: AnyMoment, after: int) -> int:
        """The seq of a point of the run. Raises: NoSuchMomentError.

        Args:
            after: the point before; an event that is meant comes later.
        """
        match moment:
            case "start":
                return 0
            case "end":
                return len(self.events) - 1
            case Later(after_ms):
                until_ms = self.events[after].t_ms + after_ms
                return max(event.seq for event in self.events if event.t_ms <= until_ms)
            case EventPattern():
                found = next(self.matching(moment, after + 1, len(self.events) - 1), None)
                if found is None:
                    raise NoSuchMomentError(moment, self.events[after])
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
    """Run a lesson's scenario, to be read afterwards.

    Args:
        choice: where; one that is ours to start.
        zookeeper: what its first event calls that.
        trace: where to keep the event log.

    Raises: FailedRunError when a step could not be done; what run_in_world raises.
    """
    aliases: dict[str, str] = {}
    verdicts: list[Verdict] = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster, aliases=aliases))

    spec = cluster_spec(loaded.scenario)
    choice = replace(choice, members=max(choice.members, loaded.scenario.zookeeper.members))
    log = run_in_world(choice, spec, RunInfo(loaded.scenario.name, seed, zookeeper), script, trace=trace)
    if (failure := verdicts[0].failure) is not None:
        raise FailedRunError(f"{failure.file}:{failure.line}: {failure.step}: {failure.reason}")
    return LessonRun.of(log.events, aliases, tuple(broker.name for broker in spec.brokers))
