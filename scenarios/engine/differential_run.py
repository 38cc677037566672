"""Run one scenario on real brokers and on simulated ones, step by step, and compare their writes: Kafka is the reference.

Both runs wait between two steps until ZooKeeper has been quiet for QUIET_MS, so that a step's consequences are attributed to
it. Kafka runs first. Our run then lets the same brokers win the elections, since which of several brokers wins is chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment, run_with_kafka
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION, RELEASES, Release
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import TRANSACTIONS, Event
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.run_source import scenario_run_info
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.engine.steering import ElectionSteering
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.steps import WaitStep
from kcsim.zk.capture.write_comparison.differences import WriteComparison, WriteDifference
from kcsim.zk.capture.write_comparison.write_log import WriteLog
from kcsim.zk.capture.write_comparison.writes import StepWrites, is_final
from kcsim.znodes import paths

QUIET_MS = 1_500
QUIET_WITHIN_MS = 60_000
ANY_BROKER = "a broker"
MADE_SURE_OF = frozenset(
    {paths.CONTROLLER_EPOCH, *(above for path in paths.TOP_LEVEL_PATHS for above in paths.lineage(path))}
)
OnEvent = Callable[[Event], None] | None


class NoQuiescenceError(TimedOutError):
    """Activity goes on without end, so that the consequences of one step cannot be separated from those of the next."""


@dataclass
class ComparedRun:
    """One of the two runs.

    Attributes:
        steps: the writes that followed from each completed action of the timetable (action_places).
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
class DifferentialRun:
    """Both runs, and how ours differs from Kafka's; only the steps that both completed are compared."""

    kafka: ComparedRun
    ours: ComparedRun
    differences: tuple[WriteDifference, ...]

    @property
    def agrees(self) -> bool:
        return not self.differences

    @property
    def is_whole(self) -> bool:
        """Whether both runs completed every step."""
        return self.kafka.verdict.failure is None and self.ours.verdict.failure is None


@dataclass
class _PacedRun:
    """Runs a scenario at the pace of ZooKeeper, and records where in the event log each step begins.

    `begins` has the place in the log of each step that was begun, by its index, and of the end by the number of steps.
    """

    loaded: LoadedScenario
    cluster: ScenarioCluster
    before: Callable[[int], None] = lambda place: None
    begins: dict[int, int] = field(default_factory=dict)
    _last_ms: int = 0

    async def run(self) -> Verdict:
        self.cluster.log.subscribe(self._see)
        return await run_scenario(self.loaded, self.cluster, self._before_step)

    def _see(self, event: Event) -> None:
        if event.kind in TRANSACTIONS:
            self._last_ms = event.t_ms

    async def _before_step(self, place: int) -> None:
        if place > 0:
            await self._settle(is_new=not isinstance(self.loaded.scenario.timetable[place - 1], WaitStep))
        self.begins[place] = len(self.cluster.log.events)
        self.before(place)

    async def _settle(self, is_new: bool) -> None:
        """Wait until nothing has been written for QUIET_MS.

        Args:
            is_new: an action has been executed to which the brokers may not have reacted yet.

        Raises: NoQuiescenceError.
        """
        runtime = self.cluster.runtime
        began_ms = runtime.now_ms()
        since_ms = began_ms if is_new else 0
        while (left_ms := max(since_ms, self._last_ms) + QUIET_MS - runtime.now_ms()) > 0:
            if runtime.now_ms() - began_ms >= QUIET_WITHIN_MS:
                reason = f"ZooKeeper was not quiet within {QUIET_WITHIN_MS} ms of the step before"
                raise NoQuiescenceError(f"{reason}: what goes on without end cannot be compared write by write")
            await runtime.sleep_ms(left_ms)

    def side(self, verdict: Verdict, events: Sequence[Event]) -> ComparedRun:
        log = WriteLog(events)
        begins = [self.begins[place] for place in action_places(self.loaded) if place in self.begins]
        begins.append(self.begins[len(self.loaded.scenario.timetable)])
        steps = tuple(_unraced(log.step(begin, end)) for begin, end in pairwise(begins))
        state = self.cluster.state
        alive = sorted(node for node, process in state.processes.items() if process in ("running", "paused"))
        return ComparedRun(
            verdict=verdict,
            steps=steps,
            final={path: state.znodes[path].data for path in sorted(state.znodes) if is_final(path)},
            alive=tuple(int(node.removeprefix("broker-")) for node in alive if node in self.cluster.broker_names),
        )


def action_places(loaded: LoadedScenario) -> list[int]:
    """Return the indices of the first step and of all steps except waits. The waits after a step belong to that step."""
    timetable = loaded.scenario.timetable
    return [place for place, step in enumerate(timetable) if place == 0 or not isinstance(step, WaitStep)]


def _unraced(step: StepWrites) -> StepWrites:
    """Make creations of common znodes equal: each of several brokers that start at once tries them, and any may win."""
    writes = (
        replace(write, by=ANY_BROKER) if write.op == "create" and write.path in MADE_SURE_OF else write
        for write in step.writes or ()
    )
    return replace(step, writes=tuple(writes))


def run_differential(
    loaded: LoadedScenario,
    kafka: KafkaInstallation,
    choice: ZooKeeperChoice,
    ours: ZooKeeperChoice,
    seed: int,
    on_kafkas_event: OnEvent = None,
    on_our_event: OnEvent = None,
) -> DifferentialRun:
    """Run a scenario on Kafka's brokers and on ours, and compare.

    Args:
        choice, ours: the ZooKeeper of Kafka's run and of our run.

    Raises: NoQuiescenceError; otherwise as run_in_environment and run_with_kafka.
    """
    theirs = _run_on_kafka(loaded, kafka, choice, seed, on_kafkas_event)
    mine = _run_ours(loaded, spec_like(kafka, cluster_spec(loaded.scenario)), ours, seed, theirs, on_our_event)
    return DifferentialRun(theirs, mine, tuple(_differences(theirs, mine)))


def run_ours_alone(loaded: LoadedScenario, choice: ZooKeeperChoice, seed: int) -> Verdict:
    """Run a scenario on our brokers only. Raises: as run_in_environment."""
    verdicts: list[Verdict] = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    run_in_environment(choice, cluster_spec(loaded.scenario), scenario_run_info(loaded, seed, choice.kind.value), script)
    return verdicts[0]


def spec_like(kafka: KafkaInstallation, spec: ClusterSpec) -> ClusterSpec:
    """Return the cluster with the release of this Kafka, as far as that is simulated, and the protocol version it gets."""
    release = Release(".".join(map(str, kafka.release)))
    if spec.release is not None or release not in RELEASES:
        return spec
    settings = {PROTOCOL_VERSION: DEFAULT_PROTOCOL_VERSION, **spec.settings}
    return replace(spec, settings=settings, release=release)


def _run_on_kafka(
    loaded: LoadedScenario, kafka: KafkaInstallation, choice: ZooKeeperChoice, seed: int, on_event: OnEvent
) -> ComparedRun:
    runs: list[tuple[_PacedRun, Verdict]] = []

    async def script(cluster: ProcessCluster) -> None:
        paced = _PacedRun(loaded, cluster)
        runs.append((paced, await paced.run()))

    info = scenario_run_info(loaded, seed, choice.kind.value, brokers=f"Apache Kafka {kafka.version}")
    log = run_with_kafka(kafka, choice, cluster_spec(loaded.scenario), info, script, on_event)
    paced, verdict = runs[0]
    return paced.side(verdict, log.events)


def _run_ours(
    loaded: LoadedScenario,
    spec: ClusterSpec,
    choice: ZooKeeperChoice,
    seed: int,
    kafka: ComparedRun,
    on_event: OnEvent,
) -> ComparedRun:
    runs: list[tuple[_PacedRun, Verdict]] = []
    actions = action_places(loaded)

    async def script(cluster: Cluster) -> None:
        steering = ElectionSteering(cluster, None)

        def steer(place: int) -> None:
            done = sum(action <= place for action in actions)
            steering.winner = kafka.steps[done - 1].controller if 0 < done <= len(kafka.steps) else None

        cluster.reach_zookeeper_through(steering.steered)
        paced = _PacedRun(loaded, cluster, steer)
        runs.append((paced, await paced.run()))

    info = scenario_run_info(loaded, seed, choice.kind.value)
    log = run_in_environment(choice, spec, info, script, on_event)
    paced, verdict = runs[0]
    return paced.side(verdict, log.events)


def _differences(kafka: ComparedRun, ours: ComparedRun) -> list[WriteDifference]:
    comparison = WriteComparison()
    found: list[WriteDifference] = []
    for number, (theirs, mine) in enumerate(zip(kafka.steps, ours.steps, strict=False), 1):
        found += comparison.of_step(number, theirs, mine)
    if kafka.verdict.failure is None and ours.verdict.failure is None:
        found += comparison.of_end(kafka.final, ours.final, kafka.alive, ours.alive)
    return found
