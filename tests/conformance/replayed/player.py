"""Player of a recording's steps on any cluster, ours or Kafka's; it returns what followed from each step."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kcsim.brokers.cluster.cluster_spec import BrokerSpec
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import TRANSACTIONS, Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.zk.capture.write_comparison.write_log import WriteLog
from kcsim.zk.capture.write_comparison.writes import StepWrites, is_final
from tests.conformance.replayed import looks
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.recording import Recording, Step
from tests.conformance.replayed.step_actions import WITHIN_MS, StepActions
from tests.conformance.replayed.tools.placements import placements

QUIET_MS = 1_500
"""A step begins when ZooKeeper has had no transaction for this long."""
QUIET_SLEEP_MS = 50
"""The quiet time is spent in sleeps of this length.

Brokers run in the player's process: where that is starved, they are late, and so is the end of each sleep.
"""
QUIET_WITHIN_MS = 60_000


def every_broker(recording: Recording) -> tuple[BrokerSpec, ...]:
    """Return every broker that runs at some time."""
    later = [step.do[verb] for step in recording.steps for verb in ("start", "bounce") if verb in step.do]
    ids = dict.fromkeys([*recording.brokers, *later])
    return tuple(BrokerSpec(broker, recording.racks.get(str(broker))) for broker in ids)


@dataclass(frozen=True, slots=True)
class _Played:
    """A step that was begun; its events are those from `begin` up to but not including `end`."""

    do: Mapping[str, Any]
    begin: int
    end: int
    outcome: Mapping[str, Any] | None = None
    problem: str | None = None
    is_refused: bool = False  # nothing was done
    not_supported: str | None = None


class Player:
    """One run of a recording's steps.

    Args:
        before: called with each step just before it is played.
        leaves_out_refused: whether a refused step is left out, instead of being the last.
        catch_up: returns when all that has happened is in the event log; None: the event log is always complete.
        quiet_within_ms: how long a step may go on.
        controller_of: broker -> the id in /controller when this broker is the controller.
        quiet_after_start_ms: how long no transaction may come after a broker was started, before the next step begins.

    Attributes:
        alive: brokers whose process still runs at the end.
        final: znodes at the end, path -> data.
    """

    def __init__(
        self,
        recording: Recording,
        cluster: ScenarioCluster,
        actions: StepActions,
        before: Callable[[Step], None] = lambda step: None,
        leaves_out_refused: bool = False,
        catch_up: Callable[[], Awaitable[None]] | None = None,
        quiet_within_ms: int = QUIET_WITHIN_MS,
        controller_of: Callable[[int], int] = lambda broker: broker,
        quiet_after_start_ms: int = QUIET_MS,
    ) -> None:
        self._recording = recording
        self._cluster = cluster
        self._actions = actions
        self._before = before
        self._leaves_out_refused = leaves_out_refused
        self._catch_up = catch_up
        self._quiet_within_ms = quiet_within_ms
        self._controller_of = controller_of
        self._quiet_after_start_ms = quiet_after_start_ms
        self._last_transaction_ms = 0
        self._quiet_sleeps = 0  # since the last transaction
        self._played: list[_Played] = []
        self.alive: tuple[int, ...] = ()
        self.final: dict[str, str | None] = {}
        cluster.log.subscribe(self._see)

    def _see(self, event: Event) -> None:
        if event.kind in TRANSACTIONS:
            self._last_transaction_ms = event.t_ms
            self._quiet_sleeps = 0

    # --- steps

    async def play(self) -> None:
        """Start the brokers, then play step by step, until the end or the first step that cannot be played."""
        first, *others = [f"broker-{broker}" for broker in self._recording.brokers]
        await self._cluster.start([first])
        winner = self._controller_of(self._recording.brokers[0])
        await self._until(lambda: looks.controller_is(self._cluster.state, winner))
        if others:
            await self._cluster.start(others)
        await self._settle()
        for step in self._recording.steps:
            self._before(step)
            played = await self._play(step)
            if played.is_refused and self._leaves_out_refused:
                # Events in transit meanwhile belong to the previous step, which has settled with the refused one.
                self._played[-1:] = [_followed_by_refused(before, played) for before in self._played[-1:]]
                continue
            self._played.append(played)
            if played.not_supported is not None or played.problem is not None:
                break
        self._look_around()

    async def _play(self, step: Step) -> _Played:
        # What has followed already from a step that does not settle belongs to the next one.
        begin = self._played[-1].end if self._played else len(self._cluster.log.events)
        outcome: Mapping[str, Any] | None = None
        problem: str | None = None
        is_refused = False
        try:
            outcome = await self._actions.do(step.do, placements(step.writes or ()))
        except NotSupportedError as error:
            return _Played(step.do, begin, begin, not_supported=str(error))
        except ClusterError as error:
            if self._catch_up is not None:
                await self._catch_up()
            problem, is_refused = str(error), not self._written_by_acts(begin)  # one that is done in part is not left out
        except TimedOutError as error:
            problem = str(error)
        if not step.do.get("settle", True) and not (is_refused and self._leaves_out_refused):
            end = await self._end_of_action(begin, has_waited="sleep" in step.do)
        else:
            quiet_ms = self._quiet_after_start_ms if "start" in step.do else QUIET_MS
            if (noise := await self._settle(quiet_ms)) is not None:
                problem, is_refused = noise, False
            end = len(self._cluster.log.events)
        return _Played(step.do, begin, end, outcome, problem, is_refused)

    async def _end_of_action(self, begin: int, has_waited: bool) -> int:
        """Return the end of a step that does not wait for quiet.

        Args:
            has_waited: whether it has waited for some seconds: what followed meanwhile belongs to it. Otherwise it ends
                after its own writes, before what follows from them.
        """
        events = self._cluster.log.events
        if self._catch_up is None:
            return len(events)
        await self._catch_up()
        if has_waited:
            return len(events)
        written = self._written_by_acts(begin)
        return written[-1] + 1 if written else len(events)

    def _written_by_acts(self, begin: int) -> list[int]:
        """Return the transactions, since this event, that the steps themselves have made."""
        events = self._cluster.log.events[begin:]
        acts = {event.seq for event in events if event.kind is EventKind.ADMIN_ACT}
        return [event.seq for event in events if event.kind in TRANSACTIONS and event.cause in acts]

    async def _until(self, look: Callable[[], str | None]) -> None:
        await self._cluster.wait_until(look, WITHIN_MS)

    async def _settle(self, quiet_ms: int = QUIET_MS) -> str | None:
        """Wait until the cluster is quiet. Returns: None, or a sentence when the cluster is not quiet within the bound."""
        # One sleep less than fit must pass without a transaction, as the first may begin before the last transaction.
        quiet_sleeps = quiet_ms // QUIET_SLEEP_MS - 1
        runtime = self._cluster.runtime
        began_ms = runtime.now_ms()  # the latest transactions of a real ZooKeeper may not be in the event log yet
        self._quiet_sleeps = 0
        while True:
            left_ms = max(began_ms, self._last_transaction_ms) + quiet_ms - runtime.now_ms()
            if left_ms <= 0 and self._quiet_sleeps >= quiet_sleeps:
                return None
            if runtime.now_ms() - began_ms >= self._quiet_within_ms:
                return f"not quiet within {self._quiet_within_ms} ms: the last transaction was {quiet_ms - left_ms} ms ago"
            await runtime.sleep_ms(min(left_ms, QUIET_SLEEP_MS) if left_ms > 0 else QUIET_SLEEP_MS)
            self._quiet_sleeps += 1

    def _look_around(self) -> None:
        state = self._cluster.state
        running = [node for node, process in state.processes.items() if process in ("running", "paused")]
        self.alive = tuple(sorted(int(node.removeprefix("broker-")) for node in running))
        self.final = {path: state.znodes[path].data for path in sorted(state.znodes) if is_final(path)}

    # --- results

    def played(self, source: str) -> Recording:
        """Return the run as a recording, from the whole event log.

        Args:
            source: a description of the run's origin, for readers.
        """
        writes = WriteLog(self._cluster.log.events)
        steps = tuple(_step(played, writes.step(played.begin, played.end)) for played in self._played)
        return replace(self._recording, source=source, steps=steps, alive=self.alive, final=self.final, directory=None)


def _followed_by_refused(before: _Played, refused: _Played) -> _Played:
    """Return a step with what followed from it until the end of a refused step after it, which has waited for quiet."""
    return replace(before, do={key: value for key, value in before.do.items() if key != "settle"}, end=refused.end)


def _step(played: _Played, followed: StepWrites) -> Step:
    return Step(
        do=played.do,
        controller=followed.controller,
        writes=followed.writes,
        sessions_closed=followed.sessions_closed,
        outcome=played.outcome,
        problem=played.problem,
        not_supported=played.not_supported,
    )
