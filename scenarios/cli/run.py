"""kcsim run: runs a scenario and reports whether its expectations held."""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.controller.protections import PROTECTION_NAMES
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import BrokersKind, check_for_real_brokers, chosen_kafka
from kcsim.scenarios.cli.setting_option import parse_settings
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.run_setup import RunInfo
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.brokers.config import Value
    from kcsim.eventlog.events import Event
    from kcsim.scenarios.engine.expectations.verdict import ExpectationResult, Verdict
    from kcsim.scenarios.language.scenario_file import LoadedScenario
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline

MAX_SEED = 2**63 - 1
"""The largest value that a column of the event log holds."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run of a scenario. `settings` override those of the scenario."""

    zookeeper: str
    seed: int
    brokers: BrokersKind = BrokersKind.SIMULATED
    kafka_home: Path | None = None
    settings: "Mapping[str, Value]" = field(default_factory=dict)
    without: Sequence[str] = ()
    trace: Path | None = None
    zk_log: Path | None = None
    output: OutputFormat = OutputFormat.TABLE
    execute: bool = False

    def command(self, scenario: str) -> str:
        """Return the command line without the options that only say where results are kept."""
        words = ["kcsim", "run", scenario, "--zookeeper", self.zookeeper, "--seed", str(self.seed)]
        words += [] if self.brokers is BrokersKind.SIMULATED else ["--brokers", self.brokers.value]
        for name, value in sorted(self.settings.items()):
            words += ["--setting", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        for protection in self.without:
            words += ["--without", protection]
        return shlex.join(words)


def run(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or a name from `kcsim scenario list`.")],
    zookeeper: Annotated[
        str,
        typer.Option(
            help="embedded: a real ZooKeeper in a JVM of our own. ensemble: three of them. docker: in containers. "
            "simulated: a model, in virtual time. Or the connect string of one that runs: host:port,…/chroot.",
            metavar="WHICH",
        ),
    ] = "embedded",
    brokers: Annotated[
        BrokersKind,
        typer.Option(
            help="simulated: ours. kafka: processes of a real Apache Kafka 2.4 to 3.9, which the scenario is done to as far "
            "as it can be; what cannot is reported before anything starts."
        ),
    ] = BrokersKind.SIMULATED,
    kafka_home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --brokers kafka: where Kafka is, with its jars in DIR/libs; else KAFKA_HOME, else what `make kafka` "
            "has fetched.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of every random choice. Simulated, the same seed gives the same run.", min=-MAX_SEED - 1, max=MAX_SEED
        ),
    ] = 1,
    trace: Annotated[
        Path | None, typer.Option(help="Keep the event log here: Parquet if the name ends in .parquet, else JSON lines.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Switch off a protection of Kafka, to see what it prevents: {', '.join(PROTECTION_NAMES)}. "
            "Can be given several times.",
            metavar="PROTECTION",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A broker's setting, instead of the scenario's; may be repeated."),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Run it N times, with the seeds from --seed on, and count how often each expectation held.",
        ),
    ] = None,
    zk_log: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep ZooKeeper's transaction log here, in its own format: for kcsim zk log and kcsim import zookeeper.",
        ),
    ] = None,
    output: Annotated[
        OutputFormat, typer.Option(help="json: the verdict as JSON on stdout, the timeline on stderr.")
    ] = OutputFormat.TABLE,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute",
            help="Really write to a ZooKeeper that kcsim has not started; without it, only report what would be done.",
        ),
    ] = False,
) -> None:
    """Run a scenario: a cluster, actions on it, and expectations.

    Prints events as they happen, then the run in three sentences, then each expectation with the events that decided it.

    \b
    kcsim run controller-failover
    kcsim run zookeeper-leader-loss --zookeeper docker
    kcsim run my-scenario.yaml --zookeeper simulated --seed 7 --trace run.jsonl
    kcsim run controller-failover --setting zookeeper.session.timeout.ms=18000
    kcsim run controller-race --zookeeper simulated --repeat 50
    kcsim run zombie-deletes-topic --without controller-epoch-fence
    kcsim run broker-crash-and-return --brokers kafka --kafka-home ~/kafka_2.13-2.8.2

    Exit status: 0 all expectations held, 1 one was violated, 2 one could not be decided, 64 the scenario or the
    command is invalid (nothing was started then).
    """
    settings = parse_settings(setting)
    options = RunOptions(
        zookeeper, seed, brokers, kafka_home, settings, tuple(without or ()), trace, zk_log, output, execute
    )
    if repeat is not None:
        from kcsim.scenarios.cli.repeat import run_repeatedly

        run_repeatedly(load(scenario), options, repeat)
    run_once(load(scenario), options)


def run_once(loaded: "LoadedScenario", options: RunOptions) -> None:
    """Check the options, run the scenario, print its verdict, and end the command with its exit status."""
    from kcsim.scenarios.views.narration.story import story_of

    loaded, spec, choice, kafka = prepare(loaded, options)
    if choice.connect is not None and not options.execute:
        print_dry_run(loaded, choice.connect)
        return
    verdict, timeline, events = _run(loaded, spec, choice, options, kafka)
    facts = {
        "brokers": options.brokers.value,
        "zookeeper": options.zookeeper,
        "seed": options.seed,
        "settings": dict(options.settings),
        "events": len(events),
        "trace": options.trace and str(options.trace),
    }
    story = story_of(events).sentences
    switched_off = [protection.name for protection in spec.protections.off]
    _show(verdict, story, timeline, options.output, {**facts, "without": switched_off})
    raise CommandExit(verdict.exit_status)


def prepare(
    loaded: "LoadedScenario", options: RunOptions
) -> "tuple[LoadedScenario, ClusterSpec, ZooKeeperChoice, KafkaInstallation | None]":
    """Check the options of a run; return the scenario with its settings, the cluster, the ZooKeeper and the real Kafka."""
    from kcsim.scenarios.engine.run_source import with_settings
    from kcsim.scenarios.engine.runner import cluster_spec

    check_protections(options.without)
    choice = chosen_zookeeper(options.zookeeper, loaded)
    check_trace(options.trace)
    check_zk_log(options.zk_log, choice)
    kafka = None
    if options.brokers is BrokersKind.KAFKA:
        if options.without:
            fail("--without: what Kafka protects itself with cannot be taken from a real one", ExitStatus.USAGE)
        check_for_real_brokers(loaded, choice)
        kafka = chosen_kafka(options.kafka_home)
    elif options.kafka_home is not None:
        fail("--kafka-home: only with --brokers kafka", ExitStatus.USAGE)
    loaded = with_settings(loaded, options.settings)
    return loaded, cluster_spec(loaded.scenario, options.without), choice, kafka


def run_info(
    loaded: "LoadedScenario", choice: "ZooKeeperChoice", options: RunOptions, kafka: "KafkaInstallation | None"
) -> "RunInfo":
    """Return the description of the run for its first event."""
    from kcsim.eventlog.run_record import RunSource
    from kcsim.scenarios.engine.run_source import scenario_run_info, source_name

    where = options.zookeeper if choice.members == 1 else f"{options.zookeeper}, {choice.members} members"
    name = source_name(loaded)
    source = RunSource(
        name,
        loaded.text or "",
        options.zookeeper,
        options.brokers.value,
        dict(sorted(options.settings.items())),
        tuple(options.without),
        options.command(name),
    )
    brokers = f"Apache Kafka {kafka.version}" if kafka else None
    return scenario_run_info(loaded, options.seed, where, brokers=brokers, source=source)


def load(name: str) -> "LoadedScenario":
    """Load a scenario by file or name. Problems are reported line by line and end the command."""
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario

    try:
        return load_scenario(find_scenario(name))
    except ScenarioFileError as error:
        fail(str(error), ExitStatus.USAGE)


def chosen_zookeeper(text: str, loaded: "LoadedScenario") -> "ZooKeeperChoice":
    """Read --zookeeper, and check that the scenario can be run there."""
    choice = zookeeper_choice(text, loaded.scenario.zookeeper.members)
    if choice.connect is not None:
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True):
            if hasattr(step, "zookeeper"):
                why = f"this step is done to servers of ZooKeeper, and those at {text} are not ours"
                hint = "run it with --zookeeper embedded, docker or simulated"
                fail(f"{loaded.file}:{line}: {why}; {hint}", ExitStatus.USAGE)
    return choice


def check_protections(names: Sequence[str]) -> None:
    """Reject unknown protection names."""
    from kcsim.text import comma_separated, did_you_mean

    for name in names:
        if name not in PROTECTION_NAMES:
            hint = did_you_mean(name, PROTECTION_NAMES) or f"; there are {comma_separated(PROTECTION_NAMES)}"
            fail(f"--without: unknown protection {name!r}{hint}", ExitStatus.USAGE)


def check_trace(trace: Path | None) -> None:
    """Check before the run, not after it, that its trace can be written."""
    if trace is None:
        return
    if trace.is_dir():
        fail(f"--trace: {trace} is a directory; name a file", ExitStatus.USAGE)
    if not trace.parent.is_dir():
        fail(f"--trace: there is no directory {trace.parent}", ExitStatus.USAGE)
    if not os.access(trace if trace.exists() else trace.parent, os.W_OK):
        fail(f"--trace: {trace} cannot be written", ExitStatus.USAGE)


def check_zk_log(directory: Path | None, choice: "ZooKeeperChoice") -> None:
    """Check that ZooKeeper's log can be kept: there is one server, and the directory has no log yet."""
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.zk.files.log_writer import LogExistsError, check_no_log

    if directory is None:
        return
    if choice.kind not in (ZooKeeperKind.SIMULATED, ZooKeeperKind.EMBEDDED) or choice.members > 1:
        fail("--zk-log: only with --zookeeper simulated or embedded, and one server of it", ExitStatus.USAGE)
    if directory.exists() and not directory.is_dir():
        fail(f"--zk-log: {directory} is no directory", ExitStatus.USAGE)
    try:
        check_no_log(directory)
    except LogExistsError as error:
        fail(f"--zk-log: {error}", ExitStatus.USAGE)


def print_dry_run(loaded: "LoadedScenario", connect: str) -> None:
    """Print the dry run on a ZooKeeper that is not ours."""
    from kcsim.scenarios.engine.runner import cluster_spec

    scenario = loaded.scenario
    brokers = [broker.name for broker in cluster_spec(scenario).brokers]
    print(f"Dry run: nothing has been written to {connect}.")
    print(f"{scenario.name} would create Kafka's znodes there, register {', '.join(brokers)}, elect controllers, and then:")
    for step, line in zip(scenario.timetable, loaded.step_lines, strict=True):
        print(f"  {loaded.file}:{line}: {step.verb()}")
    print("Znodes that Kafka keeps would stay. Run it again with --execute to do it.")


def _run(
    loaded: "LoadedScenario",
    spec: "ClusterSpec",
    choice: "ZooKeeperChoice",
    options: RunOptions,
    kafka: "KafkaInstallation | None",
) -> "tuple[Verdict, ConsoleTimeline, Sequence[Event]]":
    from kcsim.brokers.cluster.run_in_environment import run_in_environment, run_with_kafka
    from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
    from kcsim.eventlog.event_log import TraceWriteError
    from kcsim.scenarios.engine.runner import run_scenario
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import NoChrootError, OccupiedError, ServerError

    trace, zk_log = options.trace, options.zk_log
    timeline = ConsoleTimeline(
        console_on(sys.stderr if options.output is OutputFormat.JSON else sys.stdout),
        tuple(broker.name for broker in spec.brokers),
        clients=loaded.scenario.workload.nodes,
    )
    verdicts = []

    async def script(cluster: ScenarioCluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    info = run_info(loaded, choice, options, kafka)
    try:
        if kafka is not None:
            log = run_with_kafka(kafka, choice, spec, info, script, timeline, trace, zk_log)
        else:
            log = run_in_environment(choice, spec, info, script, timeline, trace, zk_log)
    except (NoChrootError, OccupiedError) as error:
        fail(f"--zookeeper: {error}", ExitStatus.USAGE)
    except TraceWriteError as error:
        fail(f"--trace: {error}", ExitStatus.UNDECIDED if verdicts else ExitStatus.USAGE)
    except (ServerError, ZooKeeperUnavailableError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    except OSError as error:
        if zk_log is None:
            raise
        fail(f"--zk-log: {zk_log}: {error.strerror or error}", ExitStatus.UNDECIDED)
    return verdicts[0], timeline, log.events


def _show(
    verdict: "Verdict", story: Sequence[str], timeline: "ConsoleTimeline", output: OutputFormat, run_facts: dict[str, Any]
) -> None:
    from kcsim.scenarios.views.narration.timeline import console_on, show_verdict

    if output is OutputFormat.TABLE:
        show_verdict(console_on(sys.stdout), verdict, timeline.evidence, story)
        if run_facts["trace"]:
            print(f"trace: {run_facts['trace']}, {run_facts['events']} events")
        return
    failure = verdict.failure
    result = {
        "scenario": verdict.scenario,
        **run_facts,
        "story": list(story),
        "exit_status": verdict.exit_status,
        "failure": failure and {"file": failure.file, "line": failure.line, "step": failure.step, "reason": failure.reason},
        "expectations": [_judged(judged, timeline) for judged in verdict.results],
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))


def _judged(judged: "ExpectationResult", timeline: "ConsoleTimeline") -> dict[str, Any]:
    evidence = [
        {
            "seq": event.seq,
            "t_ms": event.t_ms,
            "node": event.node,
            "kind": event.kind.value,
            "says": timeline.sentence(event),
        }
        for event in judged.evidence
    ]
    return {
        "claim": judged.claim,
        "invariant": judged.invariant,
        "outcome": judged.outcome.value,
        "seen": judged.observed,
        "evidence": evidence,
    }
