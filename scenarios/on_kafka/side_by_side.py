"""One scenario on real brokers and on ours, step by step, and what each wrote: Kafka is the measure.

Both wait between two steps until ZooKeeper has been quiet for a while, so that what follows from a step is known to be its.
Kafka's run comes first; ours lets the same brokers win the elections, since which of several is first is chance.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.comparing.differences import Comparison, Difference
from kcsim.scenarios.comparing.steering import ElectionSteering
from kcsim.scenarios.comparing.write_log import WriteLog
from kcsim.scenarios.comparing.writes import StepWrites, is_final
from kcsim.scenarios.judging.verdict import Verdict
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.steps import Wait
from kcsim.scenarios.on_kafka.cluster import KafkaCluster
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import ScenarioCluster
from kcsim.scenarios.worlds import run_in_world, run_with_kafka
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk import paths
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import TRANSACTIONS, Event

QUIET_MS = 1_500
QUIET_WITHIN_MS = 60_000
ANY_BROKER = "a broker"
MADE_SURE_OF = frozenset(
    {paths.CONTROLLER_EPOCH, *(above for path in paths.TOP_LEVEL_PATHS for above in paths.lineage(path))}
)
OnEvent = Callable[[Event], None] | None


class NeverQuietError(TimedOutError):
    """Something goes on without end, so that what follows from one step cannot be told from what follows from the next."""


@dataclass
class Side:
    """One of the two runs.

    Attributes:
        steps: what followed from each deed of the timetable (deeds_of) that came to its end.
        final: znodes at the end, path -> data.
        alive: brokers whose process still runs.
    """

    verdict: Verdict
    steps: tuple[StepWrites, ...]
    final: Mapping[str, str | None]
    alive: tuple[int, ...]

    @property
    def writes(self) -> int:
        return sum(len(step.writes or ()) for step in self.steps)


@dataclass
class SideBySide:
    """Both runs, and in what ours differs; the steps that both could do are compared."""

    kafka: Side
    ours: Side
    differences: tuple[Difference, ...]

    @property
    def is_whole(self) -> bool:
        """Whether both could do every step."""
        return self.kafka.verdict.failure is None and self.ours.verdict.failure is None


@dataclass
class _Paced:
    """Runs a scenario at the pace of ZooKeeper, and notes where in the event log its steps begin."""

    loaded: LoadedScenario
    cluster: ScenarioCluster
    before: Callable[[int], None] = lambda place: None
    begins: list[int] = field(default_factory=list)
    _last_ms: int = 0

    async def run(self) -> Verdict:
        self.cluster.log.subscribe(self._see)
        return await run_scenario(self.loaded, self.cluster, self._before_step)

    def _see(self, event: Event) -> None:
        if event.kind in TRANSACTIONS:
            self._last_ms = event.t_ms

    async def _before_step(self, place: int) -> None:
        if place > 0:
            await self._settle(is_new=not isinstance(self.loaded.scenario.timetable[place - 1], Wait))
        self.begins.append(len(self.cluster.log.events))
        self.before(place)

    async def _settle(self, is_new: bool) -> None:
        """Wait until nothing has been written for a while.

        Args:
            is_new: something was done that nobody may have answered yet.

        Raises: NeverQuietError.
        """
        runtime = self.cluster.runtime
        began_ms = runtime.now_ms()
        since_ms = began_ms if is_new else 0
        while (left_ms := max(since_ms, self._last_ms) + QUIET_MS - runtime.now_ms()) > 0:
            if runtime.now_ms() - began_ms >= QUIET_WITHIN_MS:
                told = f"ZooKeeper was not quiet within {QUIET_WITHIN_MS} ms of the step before"
                raise NeverQuietError(f"{told}: what goes on without end cannot be compared write by write")
            await runtime.sleep_ms(left_ms)

    def side(self, verdict: Verdict, events: list[Event]) -> Side:
        log = WriteLog(events)
        deeds = [place for place in deeds_of(self.loaded) if place < len(self.begins)]
        begins = [*(self.begins[place] for place in deeds), self.begins[-1]]
        steps = tuple(_unraced(log.step(begin, end)) for begin, end in pairwise(begins))
        state = self.cluster.state
        alive = sorted(node for node, process in state.processes.items() if process in ("running", "paused"))
        return Side(
            verdict=verdict,
            steps=steps,
            final={path: state.znodes[path].data for path in sorted(state.znodes) if is_final(path)},
            alive=tuple(int(node.removeprefix("broker-")) for node in alive if node in self.cluster.broker_names),
        )


def deeds_of(loaded: LoadedScenario) -> list[int]:
    """The places of the steps at which something is done, from 0. What is waited for afterwards belongs to them."""
    timetable = loaded.scenario.timetable
    return [place for place, step in enumerate(timetable) if place == 0 or not isinstance(step, Wait)]


def _unraced(step: StepWrites) -> StepWrites:
    """Who of several brokers that start at once makes the znodes that each makes sure of is a race: any of them did."""
    writes = (
        replace(write, by=ANY_BROKER) if write.op == "create" and write.path in MADE_SURE_OF else write
        for write in step.writes or ()
    )
    return replace(step, writes=tuple(writes))


def run_side_by_side(
    loaded: LoadedScenario,
    kafka: KafkaInstallation,
    choice: ZooKeeperChoice,
    ours: ZooKeeperChoice,
    seed: int,
    on_kafkas_event: OnEvent = None,
    on_our_event: OnEvent = None,
) -> SideBySide:
    """Run a scenario on both, and compare.

    Args:
        choice, ours: the ZooKeeper of each.

    Raises: NeverQuietError; else as run_in_world and run_with_kafka.
    """
    theirs = _run_on_kafka(loaded, kafka, choice, seed, on_kafkas_event)
    mine = _run_ours(loaded, ours, seed, theirs, on_our_event)
    return SideBySide(theirs, mine, tuple(_differences(theirs, mine)))


def _run_on_kafka(
    loaded: LoadedScenario, kafka: KafkaInstallation, choice: ZooKeeperChoice, seed: int, on_event: OnEvent
) -> Side:
    runs: list[tuple[_Paced, Verdict]] = []

    async def script(cluster: KafkaCluster) -> None:
        paced = _Paced(loaded, cluster)
        runs.append((paced, await paced.run()))

    info = RunInfo(loaded.scenario.name, seed, choice.kind.value, brokers=f"Apache Kafka {kafka.version}")
    log = run_with_kafka(kafka, choice, cluster_spec(loaded.scenario), info, script, on_event)
    paced, verdict = runs[0]
    return paced.side(verdict, log.events)


def _run_ours(loaded: LoadedScenario, choice: ZooKeeperChoice, seed: int, kafka: Side, on_event: OnEvent) -> Side:
    runs: list[tuple[_Paced, Verdict]] = []
    deeds = deeds_of(loaded)

    async def script(cluster: Cluster) -> None:
        steering = ElectionSteering(cluster, None)

        def steer(place: int) -> None:
            done = sum(deed <= place for deed in deeds)
            steering.winner = kafka.steps[done - 1].controller if 0 < done <= len(kafka.steps) else None

        cluster.reach_zookeeper_through(steering.steered)
        paced = _Paced(loaded, cluster, steer)
        runs.append((paced, await paced.run()))

    info = RunInfo(loaded.scenario.name, seed, choice.kind.value)
    log = run_in_world(choice, cluster_spec(loaded.scenario), info, script, on_event)
    paced, verdict = runs[0]
    return paced.side(verdict, log.events)


def _differences(kafka: Side, ours: Side) -> list[Difference]:
    comparison = Comparison()
    found: list[Difference] = []
    for number, (theirs, mine) in enumerate(zip(kafka.steps, ours.steps, strict=False), 1):
        found += comparison.of_step(number, theirs, mine)
    if kafka.verdict.failure is None and ours.verdict.failure is None:
        found += comparison.of_end(kafka.final, ours.final, kafka.alive, ours.alive)
    return found
