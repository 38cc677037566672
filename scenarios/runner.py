"""Runs a scenario: does on a cluster what the timetable says, when it says so, then judges what was expected.

A step that cannot be done, or a wait that runs out, leaves the run undecided: what came after it never happened. Beside the
expectations stand the invariants, which hold of every run: those that are violated are part of the verdict.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import RUN_BEGAN, SCENARIO
from kcsim.scenarios.invariants import Watch, named
from kcsim.scenarios.judging.conditions import judge
from kcsim.scenarios.judging.seen import Finding, Seen
from kcsim.scenarios.judging.verdict import Judged, Outcome, StepFailure, Verdict
from kcsim.scenarios.judging.violations import BY_ZNODES, judged_violations
from kcsim.scenarios.language.claims import Condition, Expectation
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.steps import AnyStep, verb_of_step
from kcsim.scenarios.language.topic_words import ALL_PARTITIONS
from kcsim.scenarios.language.words import ALL, listed
from kcsim.scenarios.recovery import Recovery
from kcsim.scenarios.rest import REST_MS, Rest
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec, ScenarioCluster
from kcsim.scenarios.step_runner import FAILURES, StepRunner
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.ports import Promise, Task
from kcsim.zk.vocabulary import TopicPartition

BeforeStep = Callable[[int], Awaitable[None]]
TICKS_OF_A_SESSION = 20
"""The longest session that ZooKeeper grants by itself."""
ALL_COME_BACK = "Once every fault is undone, all brokers and servers run again."


def cluster_spec(scenario: Scenario, without: Iterable[str] = ()) -> ClusterSpec:
    """The cluster that a scenario asks for.

    Args:
        without: names of protections that it is to lack besides. Raises: ValueError for an unknown one.
    """
    brokers = tuple(BrokerSpec(broker.id, broker.rack) for broker in scenario.cluster.members())
    protections = scenario.protections.without(without)
    tick_time_ms, longest_ms = scenario.zookeeper.tick_time, _max_session_timeout_ms(scenario)
    return ClusterSpec(brokers, scenario.cluster.settings, tick_time_ms, protections, longest_ms)


def _max_session_timeout_ms(scenario: Scenario) -> int | None:
    """ZooKeeper's maxSessionTimeout: as long as the brokers ask for, unless the scenario says what a tick is."""
    asked = scenario.cluster.settings.get("zookeeper.session.timeout.ms")
    if "tick_time" in scenario.zookeeper.model_fields_set or not isinstance(asked, int):
        return None
    return max(TICKS_OF_A_SESSION * scenario.zookeeper.tick_time, asked)


async def run_scenario(
    loaded: LoadedScenario,
    cluster: ScenarioCluster,
    before_step: BeforeStep | None = None,
    aliases: dict[str, str] | None = None,
) -> Verdict:
    """Run the timetable on a cluster whose brokers have not been started, judge the expectations, log the judgements.

    Args:
        before_step: awaited before each step, told its place from 0, and when the last is done.
        aliases: takes the names that steps give: name -> node.

    Returns: also when a step failed: the verdict says which, and nothing is decided then.
    """
    return await _Run(loaded, cluster, before_step, {} if aliases is None else aliases).run()


class _Run:
    """One run of one scenario; `aliases` grows with the names that steps give."""

    def __init__(
        self, loaded: LoadedScenario, cluster: ScenarioCluster, before_step: BeforeStep | None, aliases: dict[str, str]
    ) -> None:
        self._loaded = loaded
        self._cluster = cluster
        self._before_step = before_step
        self._aliases = aliases
        self._seen = Seen(cluster.log.events, cluster.state, cluster.broker_names, self._aliases)
        self._steps = StepRunner(
            cluster, loaded.scenario, self._seen, self._aliases, lambda condition: self._wait(condition, condition.within)
        )
        self._failures: list[StepFailure] = []
        self._aside: list[tuple[Task, Promise[None]]] = []  # steps that wait for their moment, and looks at a moment
        self._moments: dict[int, Finding] = {}  # place of an expectation -> what was seen at its moment
        self._rest = Rest()
        self._held_to = _held_to(loaded.scenario, cluster)
        inside = cluster if isinstance(cluster, Cluster) else None
        self._watch = Watch(named(self._held_to), inside, cluster.state)
        self._began_ms = cluster.runtime.now_ms()

    async def run(self) -> Verdict:
        scenario, log = self._loaded.scenario, self._cluster.log
        for event in log.events:
            self._rest.apply(event)
        log.subscribe(self._rest.apply)
        log.subscribe(self._watch.see)
        failure = await self._do_timetable()
        undone = await self._recover() if failure is None else []
        if self._steps.simulated is not None:
            self._steps.simulated.end()
        self._look_at_the_end(failure)
        judged = [await self._judge(place, expectation, failure) for place, expectation in enumerate(scenario.expect)]
        judged += [*undone, *judged_violations(self._watch.violations, log.events)]
        for one in judged:
            fields = EventFields(outcome=one.outcome.value, rule=one.claim, detail=one.seen)
            cause = one.evidence[-1].seq if one.evidence else RUN_BEGAN
            log.append(SCENARIO, EventKind.EXPECTATION, cause, fields)
        return Verdict(scenario.name, tuple(judged), failure, self._held_to)

    # --- the timetable

    async def _do_timetable(self) -> StepFailure | None:
        timetable = self._loaded.scenario.timetable
        self._began_ms = self._now_ms()
        self._look_at_moments()
        for place, step in enumerate(timetable):
            if self._before_step is not None:
                await self._before_step(place)
            await self._sleep_until(self._began_ms + step.at if step.at is not None else self._now_ms() + (step.after or 0))
            if step.when is None:
                await self._do(place, step)
            else:
                self._set_aside(f"{verb_of_step(step)} when", self._do(place, step))
            if self._failures:
                break
        else:
            for _, done in self._aside:
                await done.wait()
        for task, _ in self._aside:
            task.kill()
        if self._before_step is not None:
            await self._before_step(len(timetable))
        if not self._failures:
            self._tell_unstruck()
        return self._failures[0] if self._failures else None

    async def _do(self, place: int, step: AnyStep) -> None:
        """Do one step as often as it says; what cannot be done is noted."""
        try:
            if step.when is not None and not await self._has_come_true(step):
                return
            first_ms = self._now_ms()
            for time in range(step.times):
                await self._sleep_until(first_ms + time * (step.every or 0))
                await self._steps.do(place, step)
        except FAILURES as error:
            self._fail(place, str(error))

    async def _has_come_true(self, step: AnyStep) -> bool:
        assert step.when is not None
        try:
            await self._wait(step.when, step.when.within)
        except TimedOutError as error:
            why = f"what it waits for has not come true: {error}"
            if not step.if_possible:
                raise TimedOutError(why) from None
            self._steps.pass_over(step, why)
            return False
        return True

    def _fail(self, place: int, reason: str) -> None:
        step = verb_of_step(self._loaded.scenario.timetable[place])
        self._failures.append(StepFailure(self._loaded.file, self._loaded.step_lines[place], step, reason))

    def _tell_unstruck(self) -> None:
        """A fault that was armed and never struck had no effect, and that is an error unless it need not be possible."""
        for place, unseen in self._steps.unstruck():
            step = self._loaded.scenario.timetable[place]
            why = f"had no effect: {unseen} before the timetable was done"
            if step.if_possible:
                self._steps.pass_over(step, why)
            else:
                self._fail(place, why)

    # --- time

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    async def _sleep_until(self, due_ms: int) -> None:
        if (left_ms := due_ms - self._now_ms()) > 0:
            await self._cluster.runtime.sleep_ms(left_ms)

    def _set_aside(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on beside the timetable, which is done when this is done, too."""
        done: Promise[None] = self._cluster.runtime.promise()

        async def do() -> None:
            await work
            done.resolve(None)

        self._aside.append((self._cluster.runtime.spawn(name, do()), done))

    def _look_at_moments(self) -> None:
        for place, expectation in enumerate(self._loaded.scenario.expect):
            if expectation.at is not None and self._cluster.untold(expectation) is None:
                self._set_aside("expectation", self._look_at_moment(place, expectation, self._began_ms + expectation.at))

    async def _look_at_moment(self, place: int, expectation: Expectation, due_ms: int) -> None:
        await self._sleep_until(due_ms)
        self._moments[place] = await self._look_within(expectation)

    # --- afterwards

    async def _recover(self) -> list[Judged]:
        """Undo the faults if the scenario says so. Returns: a judgement if that was not possible."""
        afterwards = self._loaded.scenario.afterwards
        if afterwards is None:
            return []
        why = await Recovery(self._cluster, self._rest, self._steps.simulated).run(afterwards.within)
        return [] if why is None else [Judged(ALL_COME_BACK, Outcome.VIOLATED, why)]

    def _look_at_the_end(self, failure: StepFailure | None) -> None:
        """Judge the invariants that hold at rest, if the run has come to it."""
        if failure is not None:
            return
        is_whole = self._loaded.scenario.afterwards is not None
        is_quiet = self._rest.quiet_ms(self._now_ms()) >= REST_MS and not self._is_in_trouble()
        self._watch.at_end(quiet=is_quiet, whole=is_whole)

    def _is_in_trouble(self) -> bool:
        simulated = self._steps.simulated
        return self._rest.somebody_waits() or (simulated is not None and not simulated.network_is_well())

    # --- conditions

    async def _wait(self, condition: Condition, within_ms: int) -> None:
        await self._cluster.wait_until(lambda: None if (f := self._look(condition)).holds else f.seen, within_ms)

    def _look(self, condition: Condition) -> Finding:
        return judge(condition, self._seen)

    async def _look_within(self, expectation: Expectation) -> Finding:
        """What is seen when an expectation has come true, or its time is up."""
        if expectation.within:
            with suppress(TimedOutError):  # what is seen then is the verdict
                await self._wait(expectation, expectation.within)
        return self._look(expectation)

    async def _judge(self, place: int, expectation: Expectation, failure: StepFailure | None) -> Judged:
        claim = expectation.claim or claim_of(expectation)
        if (why := self._cluster.untold(expectation)) is not None:
            return Judged(claim, Outcome.UNTOLD, why)
        if failure is not None:
            finding = self._look(expectation)
            return Judged(claim, Outcome.UNDECIDED, finding.seen, finding.evidence)
        finding = self._moments[place] if expectation.at is not None else await self._look_within(expectation)
        return Judged(claim, Outcome.HELD if finding.holds else Outcome.VIOLATED, finding.seen, finding.evidence)


def _held_to(scenario: Scenario, cluster: ScenarioCluster) -> tuple[str, ...]:
    """The invariants that the run is held to: of real brokers not all can be seen."""
    names = scenario.invariants.names()
    return names if isinstance(cluster, Cluster) else tuple(name for name in names if name in BY_ZNODES)


def claim_of(expectation: Expectation) -> str:
    """An expectation in the words of its file, where it has no claim of its own."""
    return ", ".join(f"{part.replace('_', '-')}: {_in_words(value)}" for part, value in expectation.parts())


def _in_words(value: object) -> str:
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {item}" for name, item in value.model_dump(exclude_defaults=True).items())
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{partition} {_in_words(item)}" for partition, item in value.items())
    if value == ALL_PARTITIONS:
        return ALL
    if isinstance(value, tuple | list):
        return listed(value)
    return str(value)
