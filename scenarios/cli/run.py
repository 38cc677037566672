"""kcsim run: runs a scenario and reports whether its expectations held."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.controller.protections import PROTECTION_NAMES
from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import BrokersKind
from kcsim.scenarios.cli.run_options import MAX_SEED, RunOptions, load, prepare, run_info, runner_of
from kcsim.scenarios.cli.setting_option import HardeningOption, parse_settings

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.eventlog.events import Event
    from kcsim.scenarios.engine.expectations.verdict import ExpectationResult, Verdict
    from kcsim.scenarios.language.scenario_file import LoadedScenario
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline


def run(
    scenario: Annotated[
        str,
        typer.Argument(autocompletion=completion.scenarios, help="A scenario file, or a name from `kcsim scenario list`."),
    ],
    zookeeper: Annotated[
        str,
        typer.Option(
            help="embedded: a real ZooKeeper in a JVM of our own. ensemble: three of them. docker: in containers. "
            "simulated: a model, in virtual time. model: the same in real time, without Java. Or the connect string of one "
            "that runs: host:port,…/chroot.",
            metavar="WHICH",
        ),
    ] = "embedded",
    brokers: Annotated[
        BrokersKind,
        typer.Option(
            help="simulated: ours, in this process. processes: ours, each in a process of its own. kafka: processes of a "
            "real Apache Kafka 2.4 to 3.9. What a scenario cannot do to processes is reported before anything starts."
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
            autocompletion=completion.protections,
        ),
    ] = None,
    hardening: HardeningOption = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="A broker's setting, instead of the scenario's; may be repeated.",
        ),
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
    client: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Run this program beside the scenario, as a client of its brokers, which have TCP ports then. {servers} in "
            "the command, and KCSIM_BOOTSTRAP_SERVERS in its environment, are the bootstrap servers. Its status 0 is one "
            "more expectation.",
        ),
    ] = None,
    client_within: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long the client may go on after the last step.")
    ] = 60.0,
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
    kcsim run controller-failover --brokers processes
    kcsim run fault-unreadable-state --zookeeper simulated --hardening
    kcsim run broker-crash-and-return --brokers kafka --kafka-home ~/kafka_2.13-2.8.2
    kcsim run controller-failover --zookeeper model --client 'python3 my_consumer.py {servers}'

    Exit status: 0 all expectations held, 1 one was violated, 2 one could not be decided, 5 a dry run, 64 the scenario
    or the command is invalid (nothing was started then).
    """
    settings = parse_settings(setting)
    options = RunOptions(
        zookeeper,
        seed,
        brokers,
        kafka_home,
        settings,
        tuple(without or ()),
        trace,
        zk_log,
        output,
        execute,
        hardening=hardening,
    )
    if client is not None:
        from kcsim.scenarios.cli.client_program import parse_client

        if repeat is not None:
            fail("--repeat: not with --client", ExitStatus.USAGE)
        options = replace(options, client=parse_client(client, client_within))
    if repeat is not None:
        from kcsim.scenarios.cli.repeat import run_repeatedly

        run_repeatedly(load(scenario), options, repeat)
    run_once(load(scenario), options)


def run_once(loaded: "LoadedScenario", options: RunOptions) -> None:
    """Check the options, run the scenario, print its verdict, and end the command with its exit status."""
    from kcsim.scenarios.views.narration.story import story_of

    loaded, spec, choice, kafka = prepare(loaded, options)
    if choice.connect is not None and not options.execute:
        print_dry_run(loaded, choice.connect, options.output)
        raise CommandExit(ExitStatus.DRY_RUN)
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
    _show(verdict, story, timeline, options.output, {**facts, "without": switched_off, "hardening": spec.is_hardened})
    raise CommandExit(verdict.exit_status)


def print_dry_run(loaded: "LoadedScenario", connect: str, output: OutputFormat) -> None:
    """Print the dry run on a ZooKeeper that is not ours."""
    from kcsim.scenarios.engine.runner import cluster_spec

    scenario = loaded.scenario
    brokers = [broker.name for broker in cluster_spec(scenario).brokers]
    if output is OutputFormat.JSON:
        steps = [
            {"file": str(loaded.file), "line": line, "step": step.verb()}
            for step, line in zip(scenario.timetable, loaded.step_lines, strict=True)
        ]
        dry_run = {"scenario": scenario.name, "dry_run": True, "zookeeper": connect, "brokers": brokers, "steps": steps}
        print(json.dumps({**dry_run, "exit_status": ExitStatus.DRY_RUN}, indent=2, ensure_ascii=False))
        return
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
    from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
    from kcsim.eventlog.event_log import TraceWriteError
    from kcsim.scenarios.engine.runner import run_scenario
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import InMigrationError, NoChrootError, OccupiedError, ServerError

    trace, zk_log = options.trace, options.zk_log
    timeline = ConsoleTimeline(
        console_on(sys.stderr if options.output is OutputFormat.JSON else sys.stdout),
        tuple(broker.name for broker in spec.brokers),
        clients=loaded.scenario.workload.nodes,
    )
    verdicts = []

    async def script(cluster: ScenarioCluster) -> None:
        scenario = partial(run_scenario, loaded, cluster)
        if options.client is not None:
            scenario = partial(options.client.beside, cluster, loaded.scenario.cluster.topics, scenario)
        verdicts.append(await scenario())

    info = run_info(loaded, choice, options, kafka)
    try:
        log = runner_of(options, kafka)(choice, spec, info, script, timeline, trace, zk_log)
    except (InMigrationError, NoChrootError, OccupiedError) as error:
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
