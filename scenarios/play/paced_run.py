"""A run in virtual time that goes no further than it is allowed to, and to which acts can be done meanwhile.

The run has a thread of its own. Its time passes up to a limit that others move: slowly for slow motion, not at all for a
pause, at once to the end for a rerun. An act is done at the limit, after everything that happens until then. So the same
scenario, seed and acts give the same bytes, however fast or slow the run was watched: a run can be run again up to a moment.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.eventlog.events import Event
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.scenarios.engine.runner import cluster_spec
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.engine.step_runner import FAILURES
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.vocabulary import TopicPartition


class PacedRun:
    """One run. Its methods may be called from any thread.

    Args:
        acts: what is done in any case, in the order of their times; more can be added with `act`.
        on_event: called in the thread of the run with each event.
        on_refusal: called in the thread of the run with each act that could not be done, and why.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        acts: Sequence[Act],
        on_event: Callable[[Event], None],
        on_refusal: Callable[[Act, str], None],
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._on_event = on_event
        self._on_refusal = on_refusal
        self._changed = threading.Condition()
        self._limit_ms = 0
        self._is_ending = False
        self._planned = deque(acts)
        self._done: list[Act] = []
        self._next_ms: int | None = None
        self._is_waiting = False
        self._runtime = SimulatedRuntime()
        self._pass_time = self._runtime.pass_time_through(self._let_time_pass)
        self._thread = threading.Thread(target=self._run, name="paced run", daemon=True)
        self._failure: BaseException | None = None
        self._steps: SingleSteps | None = None
        self._ended = self._runtime.promise()

    # --- from other threads

    def start(self) -> None:
        self._thread.start()

    def allow_until(self, limit_ms: int) -> None:
        """Let time pass up to this moment. A limit in the past has no effect."""
        with self._changed:
            self._limit_ms = max(self._limit_ms, limit_ms)
            self._go_on()

    def wait_until_reached(self, timeout_s: float | None = None) -> bool:
        """Wait until everything has happened up to the limit. Returns: whether it has, within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_waiting or not self._thread.is_alive(), timeout_s)

    def act(self, step: str, declares: Mapping[str, Any] | None = None) -> Act:
        """Do a step at the limit. Args: declares: what the step is the first to name. Returns: the act, with its time."""
        with self._changed:
            act = Act(self._limit_ms, step, declares or {})
            self._planned.append(act)
            self._go_on()
        return act

    @property
    def acts(self) -> list[Act]:
        """The acts that were done so far, and those that are to be done."""
        with self._changed:
            return [*self._done, *self._planned]

    @property
    def next_ms(self) -> int | None:
        """The time of the next thing to happen after the limit; None while things up to the limit still happen."""
        with self._changed:
            return self._next_ms if self._is_waiting else None

    def counts(self) -> Mapping[TopicPartition, RecordCounts]:
        """Return the fate of the records that producers have written so far; nothing while the run passes time."""
        with self._changed:
            return self._steps.workload.counts() if self._steps is not None and self._is_waiting else {}

    def stop(self) -> None:
        """End the run, and wait for its end. Raises: what the run has raised."""
        with self._changed:
            self._is_ending = True
            self._go_on()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _go_on(self) -> None:
        self._is_waiting = False
        self._changed.notify_all()

    # --- in the thread of the run

    def _run(self) -> None:
        spec = cluster_spec(self._scenario)
        info = RunInfo(self._scenario.name, self._seed, "simulated")
        members = self._scenario.zookeeper.members
        try:
            run_simulated(members, spec, info, self._script, [self._on_event], runtime=self._runtime)
        except BaseException as error:
            self._failure = error
        finally:
            with self._changed:
                self._changed.notify_all()

    async def _script(self, cluster: Cluster) -> None:
        self._steps = SingleSteps(cluster, self._scenario)
        await self._ended.wait()

    def _let_time_pass(self) -> None:
        """Pass to the next time at which something happens, as soon as the limit allows it. Acts that are due come first.

        It is called when everything has happened that happens at the present time.
        """
        with self._changed:
            while not self._is_ending:
                next_ms = self._runtime.next_ms
                act = self._due_act()
                if next_ms is not None and next_ms <= (self._limit_ms if act is None else act.at_ms):
                    self._pass_time()
                    return
                if act is not None:
                    self._done.append(self._planned.popleft())
                    delay_ms = max(act.at_ms - self._runtime.now_ms(), 0)
                    self._runtime.call_later(partial(self._begin, act), delay_ms)
                    if delay_ms:
                        self._pass_time()
                    return
                self._next_ms = next_ms
                self._is_waiting = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._is_waiting)
        if self._ended.is_settled:
            self._pass_time()  # the run has not come so far as to wait for its end
        self._ended.resolve(None)

    def _due_act(self) -> Act | None:
        """Return the next act, if the limit allows it and the cluster is there to act on."""
        is_due = self._steps is not None and self._planned and self._planned[0].at_ms <= self._limit_ms
        return self._planned[0] if is_due else None

    def _begin(self, act: Act) -> None:
        self._runtime.spawn(f"act: {act.step}", self._do(act))

    async def _do(self, act: Act) -> None:
        assert self._steps is not None
        try:
            if act.declares:
                self._steps.declare(act.declares)
            await self._steps.do([act.step])
        except ScenarioFileError as error:
            self._on_refusal(act, "; ".join(problem.message for problem in error.problems))
        except FAILURES as error:
            self._on_refusal(act, str(error))
