"""Plays the steps of a recording on a cluster of our own, and records what it did in the same form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.comparing.steering import ElectionSteering
from kcsim.scenarios.comparing.write_log import WriteLog
from kcsim.scenarios.comparing.writes import StepWrites, is_final
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import Event, EventKind
from kcsim.zk.ports import ZooKeeper
from tests.conformance.replayed import looks
from tests.conformance.replayed.deeds import WITHIN_MS, Deeds
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.settings import TICK_TIME_MS, settings_of
from tests.conformance.replayed.tools.placements import placements
from tests.conformance.replayed.tools.tools import Tools

QUIET_MS = 1_500
"""A step begins when ZooKeeper has had no transaction for so long."""
QUIET_WITHIN_MS = 60_000
SEED = 1

TRANSACTIONS = frozenset(
    {
        EventKind.ZNODE_CREATED,
        EventKind.ZNODE_CHANGED,
        EventKind.ZNODE_DELETED,
        EventKind.SESSION_CREATED,
        EventKind.SESSION_CLOSED,
    }
)


def play(recording: Recording, zookeeper: str) -> Recording:
    """Play a recording's steps in a world of their own.

    Args:
        zookeeper: as --zookeeper of kcsim has it.

    Returns: what our cluster did; it ends with the first step that is not supported, or that could not be done.
    """
    source = f"played by kcsim, {zookeeper} ZooKeeper"
    try:
        spec = ClusterSpec(tuple(_brokers(recording)), settings_of(recording), TICK_TIME_MS)
    except NotSupportedError as error:
        first = Step(recording.steps[0].do, not_supported=str(error))
        return _recorded(recording, source, (first,), None, None)
    player: list[_Player] = []

    async def script(cluster: Cluster) -> None:
        player.append(_Player(recording, cluster))
        await player[0].play()

    info = RunInfo(recording.name, SEED, zookeeper)
    log = run_in_world(ZooKeeperChoice.parse(zookeeper), spec, info, script)
    steps = player[0].steps(log.events)
    return _recorded(recording, source, steps, player[0].alive, player[0].final)


def _brokers(recording: Recording) -> list[BrokerSpec]:
    """Every broker that ever runs."""
    later = [step.do[verb] for step in recording.steps for verb in ("start", "bounce") if verb in step.do]
    ids = dict.fromkeys([*recording.brokers, *later])
    return [BrokerSpec(broker, recording.racks.get(str(broker))) for broker in ids]


def _recorded(
    played: Recording,
    source: str,
    steps: tuple[Step, ...],
    alive: tuple[int, ...] | None,
    final: Mapping[str, str | None] | None,
) -> Recording:
    return Recording(
        name=played.name,
        source=source,
        brokers=played.brokers,
        racks=played.racks,
        settings=played.settings,
        steps=steps,
        alive=alive,
        final=final,
    )


@dataclass(frozen=True, slots=True)
class _Played:
    """A step that was begun: the events from `begin` up to but without `end` are its."""

    do: Mapping[str, Any]
    begin: int
    end: int
    outcome: Mapping[str, Any] | None = None
    problem: str | None = None
    not_supported: str | None = None


class _Player:
    """One run."""

    def __init__(self, recording: Recording, cluster: Cluster) -> None:
        self._recording = recording
        self._cluster = cluster
        self._steering = ElectionSteering(cluster, recording.brokers[0])
        self._last_transaction_ms = 0
        self._played: list[_Played] = []
        self.alive: tuple[int, ...] = ()
        self.final: dict[str, str | None] = {}
        cluster.log.subscribe(self._see)
        cluster.reach_zookeeper_through(self._steered)

    def _steered(self, zookeeper: ZooKeeper) -> ZooKeeper:
        recording = self._recording
        tools = Tools(self._cluster, zookeeper, recording.settings, recording.directory)
        self._deeds = Deeds(self._cluster, tools)
        return self._steering.steered(zookeeper)

    def _see(self, event: Event) -> None:
        if event.kind in TRANSACTIONS:
            self._last_transaction_ms = event.t_ms

    # --- steps

    async def play(self) -> None:
        """Start the brokers, then play step by step."""
        first, *others = [f"broker-{broker}" for broker in self._recording.brokers]
        await self._cluster.start([first])
        await self._until(lambda: looks.controller_is(self._cluster.state, self._recording.brokers[0]))
        if others:
            await self._cluster.start(others)
        await self._settle()
        for step in self._recording.steps:
            played = await self._play(step)
            self._played.append(played)
            if played.not_supported is not None or played.problem is not None:
                break
        self._look_around()

    async def _play(self, step: Step) -> _Played:
        self._steering.winner = step.controller
        begin = len(self._cluster.log.events)
        outcome: Mapping[str, Any] | None = None
        problem: str | None = None
        try:
            outcome = await self._deeds.do(step.do, placements(step.writes or ()))
        except NotSupportedError as error:
            return _Played(step.do, begin, begin, not_supported=str(error))
        except (ClusterError, TimedOutError) as error:
            problem = str(error)
        if step.do.get("settle", True):
            problem = await self._settle() or problem
        end = len(self._cluster.log.events)
        return _Played(step.do, begin, end, outcome, problem)

    async def _until(self, look: Callable[[], str | None]) -> None:
        await self._cluster.wait_until(look, WITHIN_MS)

    async def _settle(self) -> str | None:
        """Wait until the cluster is quiet. Returns: None, or a sentence when it is not within a bound."""
        runtime = self._cluster.runtime
        began_ms = runtime.now_ms()  # what a real ZooKeeper has just done may not be in the event log yet
        while (left_ms := max(began_ms, self._last_transaction_ms) + QUIET_MS - runtime.now_ms()) > 0:
            if runtime.now_ms() - began_ms >= QUIET_WITHIN_MS:
                return f"not quiet within {QUIET_WITHIN_MS} ms: the last transaction was {QUIET_MS - left_ms} ms ago"
            await runtime.sleep_ms(left_ms)
        return None

    def _look_around(self) -> None:
        state = self._cluster.state
        running = [node for node, process in state.processes.items() if process in ("running", "paused")]
        self.alive = tuple(sorted(int(node.removeprefix("broker-")) for node in running))
        self.final = {path: state.znodes[path].data for path in sorted(state.znodes) if is_final(path)}

    # --- what was recorded

    def steps(self, events: list[Event]) -> tuple[Step, ...]:
        """The steps played, with what they wrote, from the whole event log of the run."""
        writes = WriteLog(events)
        return tuple(_recorded_step(played, writes.step(played.begin, played.end)) for played in self._played)


def _recorded_step(played: _Played, followed: StepWrites) -> Step:
    return Step(
        do=played.do,
        controller=followed.controller,
        writes=followed.writes,
        sessions_closed=followed.sessions_closed,
        outcome=played.outcome,
        problem=played.problem,
        not_supported=played.not_supported,
    )
