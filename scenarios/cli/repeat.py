"""kcsim run --repeat: runs a scenario with several seeds and counts how often each expectation held."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.run_options import MAX_SEED, RunOptions, prepare, run_info, runner_of

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.engine.expectations.verdict import Verdict
    from kcsim.scenarios.language.scenario_file import LoadedScenario

SEEDS_SHOWN = 12
OUTCOMES = ("held", "violated", "undecided", "not observable")


@dataclass
class ExpectationCount:
    """The outcomes of one expectation or invariant in several runs.

    Attributes:
        seeds: outcome other than held -> the seeds of the runs with it, in order.
        observed: seed -> what was observed instead, for the same runs.
    """

    claim: str
    seeds: dict[str, list[int]] = field(default_factory=dict)
    observed: dict[int, str] = field(default_factory=dict)

    def held(self, runs: int) -> int:
        """Return in how many of the runs it held."""
        return runs - sum(map(len, self.seeds.values()))


@dataclass
class RepeatedRuns:
    """The results of several runs of one scenario.

    Attributes:
        expectations: in the order of the scenario, then violated invariants; a claim that is made twice is counted twice.
        failures: seed -> the step that could not be done, and why.
        statuses: the exit status of each run.
    """

    runs: int = 0
    expectations: dict[tuple[str, int], ExpectationCount] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    statuses: set[int] = field(default_factory=set)

    def add(self, seed: int, verdict: "Verdict") -> None:
        """Count the results of one run."""
        self.runs += 1
        self.statuses.add(verdict.exit_status)
        if (failure := verdict.failure) is not None:
            self.failures[seed] = f"{failure.file}:{failure.line}: {failure.step}: {failure.reason}"
        times: dict[str, int] = {}
        for result in verdict.results:
            times[result.claim] = times.get(result.claim, 0) + 1
            key = (result.claim, times[result.claim])
            count = self.expectations.setdefault(key, ExpectationCount(result.claim))
            if result.outcome.value != OUTCOMES[0]:
                count.seeds.setdefault(result.outcome.value, []).append(seed)
                count.observed[seed] = result.observed

    @property
    def exit_status(self) -> int:
        """0: all expectations held in all runs; 1: one was violated; 2: one was undecided, none violated."""
        for status in (ExitStatus.VIOLATED, ExitStatus.UNDECIDED):
            if status in self.statuses:
                return status
        return ExitStatus.HELD if self.runs else ExitStatus.UNDECIDED


def run_repeatedly(loaded: "LoadedScenario", options: RunOptions, runs: int) -> NoReturn:
    """Run a scenario with `runs` seeds, from that of the options on; print the counts and end the command.

    Ctrl-C ends it with the counts of the runs that were complete.
    """
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind

    if options.trace is not None or options.zk_log is not None:
        kept = "--trace" if options.trace is not None else "--zk-log"
        fail(f"{kept}: not with --repeat; run the seed in question again, with {kept}", ExitStatus.USAGE)
    if options.seed > MAX_SEED - runs + 1:
        fail(f"--repeat: there are no {runs} seeds from {options.seed} on", ExitStatus.USAGE)
    loaded, spec, choice, kafka = prepare(loaded, options)
    if choice.kind is ZooKeeperKind.EXTERNAL:
        why = "the znodes of each run stay on a ZooKeeper that is not ours"
        fail(f"--repeat: {why}; use --zookeeper simulated, embedded, ensemble, docker or model", ExitStatus.USAGE)
    counted, interrupted = RepeatedRuns(), False
    try:
        for seed in _with_progress(range(options.seed, options.seed + runs), counted, loaded.scenario.name):
            counted.add(seed, _verdict(loaded, spec, choice, replace(options, seed=seed), kafka))
    except KeyboardInterrupt:
        interrupted = True
        print(f"interrupted after {counted.runs} of {runs} runs", file=sys.stderr)
    if options.output is OutputFormat.JSON:
        print(json.dumps(counts_json(loaded.scenario.name, options.seed, runs, counted), indent=2, ensure_ascii=False))
    else:
        for line in count_lines(loaded.scenario.name, options.seed, counted):
            print(line)
    raise CommandExit(ExitStatus.INTERRUPTED if interrupted else counted.exit_status)


def _verdict(
    loaded: "LoadedScenario",
    spec: "ClusterSpec",
    choice: "ZooKeeperChoice",
    options: RunOptions,
    kafka: "KafkaInstallation | None",
) -> "Verdict":
    from contextlib import nullcontext

    from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.scenarios.engine.runner import run_scenario
    from kcsim.scenarios.explore.ctrl_c import ctrl_c_deferred
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    verdicts: list[Verdict] = []

    async def script(cluster: ScenarioCluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    info = run_info(loaded, choice, options, kafka)
    is_virtual = choice.kind is ZooKeeperKind.SIMULATED
    try:
        with ctrl_c_deferred() if is_virtual else nullcontext():
            runner_of(options, kafka)(choice, spec, info, script)
    except (ServerError, ZooKeeperUnavailableError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    return verdicts[0]


def _with_progress(seeds: range, counted: RepeatedRuns, name: str) -> Iterator[int]:
    """Yield the seeds; on a terminal, show a bar meanwhile."""
    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stderr)
    if not console.is_terminal:
        yield from seeds
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=len(seeds))
        for seed in seeds:
            yield seed
            bar.update(task, completed=counted.runs)


# --- text and JSON ---------------------------------------------------------------------------------------------------------


def count_lines(name: str, first_seed: int, counted: RepeatedRuns) -> Iterator[str]:
    """Yield the counts of each expectation, and the seeds of the runs in which it did not hold."""
    last_seed = first_seed + counted.runs - 1
    if counted.runs == 0:
        yield f"{name}: no run was complete"
        return
    times = "1 run" if counted.runs == 1 else f"{counted.runs} runs"
    yield f"{name}: {times}, " + (f"seeds {first_seed} to {last_seed}" if counted.runs > 1 else f"seed {first_seed}")
    yield ""
    yield "  held  violated  undecided  expectation"
    for count in counted.expectations.values():
        violated, undecided = (len(count.seeds.get(outcome, ())) for outcome in OUTCOMES[1:3])
        yield f"{count.held(counted.runs):6}  {violated:8}  {undecided:9}  {count.claim}"
        for outcome, seeds in count.seeds.items():
            yield f"{'':27}  {outcome} with {_listed(seeds)}"
            yield f"{'':27}  seed {seeds[0]}: {count.observed[seeds[0]]}"
    if counted.failures:
        yield ""
        yield f"A step could not be done with {_listed([*counted.failures])}"
        seed, reason = next(iter(counted.failures.items()))
        yield f"  seed {seed}: {reason}"


def _listed(seeds: Sequence[int]) -> str:
    shown = ", ".join(map(str, seeds[:SEEDS_SHOWN]))
    more = f" and {len(seeds) - SEEDS_SHOWN} more" if len(seeds) > SEEDS_SHOWN else ""
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {shown}{more}"


def counts_json(name: str, first_seed: int, wanted: int, counted: RepeatedRuns) -> dict[str, Any]:
    """Return the counts with all seeds."""
    return {
        "scenario": name,
        "first_seed": first_seed,
        "runs_wanted": wanted,
        "runs": counted.runs,
        "exit_status": int(counted.exit_status),
        "failures": [{"seed": seed, "reason": reason} for seed, reason in counted.failures.items()],
        "expectations": [
            {"claim": count.claim, "held": count.held(counted.runs), "seeds": count.seeds}
            for count in counted.expectations.values()
        ],
    }
