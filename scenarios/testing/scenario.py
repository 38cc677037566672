"""Runs scenarios in tests.

An expectation or invariant that does not hold is a failed assertion with the verdict in words.
"""

import io
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.controller.protections import PROTECTION_NAMES
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, summary
from kcsim.scenarios.engine.python_api import RunResult
from kcsim.scenarios.engine.run_source import scenario_run_info, with_hardening
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario, load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.testing.artefacts import TIMELINE, TRACE, ZOOKEEPER_LOG, Artefacts, shown, unused
from kcsim.scenarios.testing.errors import BadOptionError, FixtureUnavailableError, ScenarioFailedError
from kcsim.scenarios.testing.failure_timeline import ZooKeeperLog
from kcsim.scenarios.testing.run_text import timeline_of, write_trace
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.scenarios.views.narration.story import story_of
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
from kcsim.text import did_you_mean

SCENARIO_FILE = "scenario.yaml"


class ScenarioRunner:
    """The value of the fixture kcsim_scenario: call it with a scenario.

    Args:
        zookeeper: the ZooKeeper on which scenarios run unless a call names another.
        new_root: makes an empty root on a ZooKeeper that is not ours.
    """

    def __init__(
        self,
        zookeeper: str,
        seed: int,
        artefacts: Artefacts,
        new_root: "Callable[[], ZooKeeperForTest]",
        skip_or_fail: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._zookeeper = zookeeper
        self._seed = seed
        self._artefacts = artefacts
        self._new_root = new_root
        self._skip_or_fail = skip_or_fail

    def __call__(
        self,
        scenario: "str | Path | Scenario | LoadedScenario",
        *,
        zookeeper: str | None = None,
        seed: int | None = None,
        without: Sequence[str] = (),
        hardening: bool = False,
        check: bool = True,
    ) -> RunResult:
        """Run a scenario on simulated brokers.

        Args:
            scenario: a file, the name of one in the library, or a scenario made in Python.
            zookeeper: simulated, embedded, ensemble or docker.
            without: names of protections to switch off.
            hardening: whether to switch hardening on, also if the scenario does not.
            check: whether an expectation or invariant that did not hold, or was not decided, fails the test; if False, read
                `held` and `verdict` of the returned result.

        Raises: ScenarioFileError, with every problem of the file and its line; ScenarioFailedError.
        """
        loaded = with_hardening(_loaded(scenario)) if hardening else _loaded(scenario)
        where, seed = zookeeper or self._zookeeper, self._seed if seed is None else seed
        with self._skip_or_fail(), TemporaryDirectory() as scratch:
            ran = self._run(loaded, where, seed, without, Path(scratch))
        if check and not ran.held:
            raise ScenarioFailedError(failure_text(ran, loaded))
        return ran

    def _run(self, loaded: LoadedScenario, where: str, seed: int, without: Sequence[str], scratch: Path) -> RunResult:
        for name in without:
            if name not in PROTECTION_NAMES:
                raise BadOptionError(f"unknown protection {name!r}{did_you_mean(name, PROTECTION_NAMES)}")
        scenario = loaded.scenario
        choice = ZooKeeperChoice.parse(where)
        choice = replace(choice, members=max(choice.members, scenario.zookeeper.members))
        if choice.kind is ZooKeeperKind.EXTERNAL:
            choice = replace(choice, connect=self._foreign_root(loaded))
        keeps_log = choice.kind in (ZooKeeperKind.SIMULATED, ZooKeeperKind.EMBEDDED) and choice.members == 1
        verdicts = []

        async def script(cluster: Cluster) -> None:
            verdicts.append(await run_scenario(loaded, cluster))

        info = scenario_run_info(loaded, seed, where, without, hardening=loaded.scenario.cluster.hardening)
        data = scratch / "zookeeper-data" if keeps_log else None
        log = run_in_environment(choice, cluster_spec(scenario, without), info, script, zk_log=data)
        ran = RunResult(verdicts[0], log.events)
        zookeeper_log = "" if data is None else "".join(f"{line}\n" for line in ZooKeeperLog(data).lines())
        options = f"--zookeeper {where} --seed {seed}" + "".join(f" --without {name}" for name in without)
        options += " --hardening" if scenario.cluster.hardening else ""
        self._artefacts.offer(lambda directory: self._write(directory, ran, loaded, options, zookeeper_log))
        return ran

    def _foreign_root(self, loaded: LoadedScenario) -> str:
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True):
            if hasattr(step, "zookeeper"):
                raise FixtureUnavailableError(
                    f"{loaded.file}:{line}: a step is done to servers of ZooKeeper, and these are not ours"
                )
        return self._new_root().connect_string

    def _write(self, directory: Path, ran: RunResult, loaded: LoadedScenario, options: str, zookeeper_log: str) -> None:
        scenario, file = loaded.scenario, unused(directory, SCENARIO_FILE)
        if (given := Path(loaded.file)).is_file():
            shutil.copyfile(given, file)
        else:
            file.write_text(scenario.to_yaml(), encoding="utf-8")
        timeline = timeline_of(ran.events, _brokers(loaded), scenario.workload.nodes)
        unused(directory, TIMELINE).write_text(f"{timeline}\n{failure_text(ran, loaded)}\n", encoding="utf-8")
        write_trace(ran.events, unused(directory, TRACE))
        if zookeeper_log:
            unused(directory, ZOOKEEPER_LOG).write_text(zookeeper_log, encoding="utf-8")
        self._artefacts.notes.append(f"kcsim run {shlex.quote(shown(file))} {options}")


def _loaded(scenario: "str | Path | Scenario | LoadedScenario") -> LoadedScenario:
    match scenario:
        case LoadedScenario():
            return scenario
        case Scenario():
            return load_text(scenario.to_yaml(), f"{scenario.name}.yaml")
        case _:
            return load_scenario(find_scenario(str(scenario)))


def failure_text(ran: RunResult, loaded: LoadedScenario) -> str:
    """Return the verdict in words: a summary, the story of the run, then what did not hold, with the deciding events."""
    timeline = ConsoleTimeline(console_on(io.StringIO()), _brokers(loaded), clients=loaded.scenario.workload.nodes)
    for event in ran.events:
        timeline(event)
    lines = [f"{ran.verdict.scenario}: {summary(ran.verdict)}", *(f"  {text}" for text in story_of(ran.events).sentences)]
    for judged in ran.verdict.results:
        if judged.outcome is not ExpectationOutcome.HELD:
            name = f" ({judged.invariant})" if judged.invariant else ""
            lines += [f"  {judged.outcome.value}: {judged.claim}{name}", f"    seen: {judged.observed}"]
            lines += [f"    {line}" for line in timeline.evidence(judged)]
    return "\n".join(lines)


def _brokers(loaded: LoadedScenario) -> tuple[str, ...]:
    return tuple(f"broker-{broker.id}" for broker in loaded.scenario.cluster.members())
