"""kcsim up: a running cluster for experiments."""

import random
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.kafka_argument import check_transaction_log
from kcsim.scenarios.cli.ports_option import parse_ports
from kcsim.scenarios.cli.run_options import MAX_SEED, check_trace, load, with_setting_options
from kcsim.scenarios.cli.setting_option import HardeningOption, parse_settings
from kcsim.scenarios.cli.stop_signals import on_stop_signals, stop_signals_as_ctrl_c
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.scenario_cluster import ControlledCluster
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.controller.admin.topics import NewTopic
    from kcsim.eventlog.event_log import FailSafeTraceWriter
    from kcsim.eventlog.events import Event
    from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import ClusterLifecycle
    from kcsim.scenarios.language.schema import ClusterModel, Scenario
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline
    from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster

EVENTS_IN_MEMORY = 100_000
"""A cluster can be up for days. What conditions and `observed` look at is recent; --trace keeps everything."""
ADDRESS_SETTINGS = frozenset({"host.name", "port", "advertised.port"})
OWN_DEFAULTS = {"controlled.shutdown.retry.backoff.ms": 500}
"""Defaults that differ from Kafka's: the last brokers to stop have no broker to move their leaders to."""


def up(
    scenario: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.scenarios,
            help="A scenario whose cluster, topics, producers and consumers to start; its timetable is not run.",
        ),
    ] = None,
    brokers: Annotated[
        int | None, typer.Option(help="How many; their ids are 1, 2, 3, … Without a scenario: 3.", min=1)
    ] = None,
    racks: Annotated[int | None, typer.Option(help="Distribute the brokers over this number of racks.", min=1)] = None,
    processes: Annotated[
        bool,
        typer.Option(
            "--processes",
            help="Run each broker in a process of its own: a kill is SIGKILL, a pause SIGSTOP; proxies cut links.",
        ),
    ] = False,
    zookeeper: Annotated[
        str,
        typer.Option(
            help="embedded: a real ZooKeeper in a JVM of our own. ensemble: three of them. docker: in a container. "
            "model: a model of it, without Java. Or the connect string of one that runs: host:port,…/chroot.",
            metavar="WHICH",
        ),
    ] = "embedded",
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME:PARTITIONS:RF", help="Create this topic; may be repeated.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="A broker's setting under Kafka's name; may be repeated.",
        ),
    ] = None,
    hardening: HardeningOption = False,
    ports: Annotated[
        str | None,
        typer.Option(
            metavar="PORTS",
            help="The ports of 127.0.0.1 on which Kafka's clients reach the brokers, one for each: 9092-9094, or 9092,9095. "
            "Without it: free ones.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the placement of topics.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    trace: Annotated[
        Path | None, typer.Option(help="Keep the event log here: Parquet if the name ends in .parquet, else JSON lines.")
    ] = None,
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="What other commands call it, where several are up.")
    ] = "default",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every detail: all state changes, UpdateMetadata requests, …")
    ] = False,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute",
            help="Really write to a ZooKeeper that kcsim has not started; without it, only report what would be done.",
        ),
    ] = False,
) -> None:
    """Start a cluster to experiment with, and keep it up until Ctrl-C.

    Prints events on stderr as they happen. Control it from another terminal; it prints the commands to try, and the
    bootstrap servers for Kafka's clients.

    \b
    kcsim up --brokers 6 --racks 3 --topic orders:12:3
    kcsim up --ports 9092-9094
    kcsim up --brokers 5 --processes
    kcsim up --setting zookeeper.session.timeout.ms=2000 --trace up.jsonl
    kcsim up leader-crash-acks-all
    kcsim up --hardening
    kcsim fault kill controller
    kcsim step 'slow-follower: broker-2, rate: 5'

    Ctrl-C (or SIGTERM, SIGHUP) stops the brokers in order and deletes ZooKeeper's data; a second Ctrl-C does not wait for
    the brokers. controlled.shutdown.retry.backoff.ms is 500 here, unless you set it.

    Exit status: 0 stopped, 2 it could not be started, 5 a dry run, 64 the arguments are invalid, 130 stopped by a second
    Ctrl-C.
    """
    if scenario is None:
        choice = _choice(zookeeper)
        described = _described(brokers or 3, racks, setting or [], topic or [])
    else:
        if brokers is not None or racks is not None or topic:
            fail("--brokers, --racks and --topic: the scenario says which there are", ExitStatus.USAGE)
        described = _of_file(scenario, setting or [])
        choice = _choice(zookeeper, described.zookeeper.members)
    if hardening:
        described = described.with_hardening()
    model = described.cluster
    topics = _topics(model)
    client_ports = None if ports is None else parse_ports(ports, [broker.id for broker in model.members()])
    if given := sorted(ADDRESS_SETTINGS & model.settings.keys()):
        fail(f"{' and '.join(given)}: brokers listen on 127.0.0.1; --ports says on which ports", ExitStatus.USAGE)
    check_trace(trace)
    if processes:
        check_transaction_log(choice, "--processes")
    if choice.connect is not None and not execute:
        _print_dry_run(model, choice.connect)
        raise CommandExit(ExitStatus.DRY_RUN)
    with stop_signals_as_ctrl_c():
        options = UpOptions(cluster, choice, seed, verbose, trace, client_ports, processes)
        status = _UpCommand(options, described, topics).run()
    raise CommandExit(status)


# --- reading the arguments -------------------------------------------------------------------------------------------------


def _choice(zookeeper: str, members: int = 1) -> "ZooKeeperChoice":
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind

    choice = zookeeper_choice(zookeeper, members)
    if choice.kind is ZooKeeperKind.SIMULATED:
        fail("--zookeeper: a cluster to play with lives in real time; simulated is for kcsim run", ExitStatus.USAGE)
    return choice


def _of_file(name: str, settings: list[str]) -> "Scenario":
    """Return the scenario of a file or of the library, with settings that override its own."""
    loaded = load(name)
    own = loaded.scenario.cluster.settings
    return with_setting_options(loaded, {**OWN_DEFAULTS, **own, **parse_settings(settings)}).scenario


def _described(brokers: int, racks: int | None, settings: list[str], topics: list[str]) -> "Scenario":
    """Return a scenario with the cluster that the options describe, checked as the cluster of a scenario file is."""
    from pydantic import ValidationError

    from kcsim.scenarios.language.schema import Scenario

    cluster: dict[str, Any] = {
        "brokers": brokers,
        "settings": {**OWN_DEFAULTS, **parse_settings(settings)},
        "topics": dict(map(_topic, topics)),
    }
    tree = {
        "name": "up",
        "description": "A cluster that kcsim up keeps running.",
        "cluster": cluster if racks is None else {**cluster, "racks": racks},
        "timetable": [{"start": "all"}],
    }
    try:
        return Scenario.model_validate(tree)
    except ValidationError as error:
        lines = [": ".join([*map(str, e["loc"][1:]), e["msg"]]) for e in error.errors(include_url=False)]
        fail("\n".join(lines), ExitStatus.USAGE)


def _topic(text: str) -> tuple[str, dict[str, int]]:
    from kcsim.controller.decisions.kafka_refusals import InvalidTopicError
    from kcsim.controller.decisions.topic_creation import check_topic_name

    name, *numbers = text.split(":")
    if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        fail(f"--topic: {text!r} is no NAME:PARTITIONS:RF; write orders:12:3", ExitStatus.USAGE)
    try:
        check_topic_name(name)
    except InvalidTopicError as error:
        fail(f"--topic: {error}", ExitStatus.USAGE)
    return name, {"partitions": int(numbers[0]), "replication-factor": int(numbers[1])}


def _topics(model: "ClusterModel") -> "list[NewTopic]":
    from kcsim.controller.admin.topics import NewTopic
    from kcsim.controller.decisions.broker_ring import RackAwareMode
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.controller.decisions.topic_creation import check_collision

    topics: list[NewTopic] = []
    for name, topic in model.topics.items():
        try:
            check_collision(name, [earlier.name for earlier in topics])
        except RefusedError as refusal:
            fail(f"--topic: {refusal}", ExitStatus.USAGE)
        mode = RackAwareMode.ENFORCED if topic.rack_aware else RackAwareMode.DISABLED
        placed = None if topic.assignment is None else [topic.assignment[p] for p in sorted(topic.assignment)]
        topics.append(NewTopic(name, topic.partitions or 1, topic.replication_factor or 1, placed, topic.config, mode))
    return topics


def _print_dry_run(model: "ClusterModel", connect: str) -> None:
    names = ", ".join(f"broker-{broker.id}" for broker in model.members())
    print(f"Dry run: nothing has been written to {connect}.")
    print(f"kcsim up would create Kafka's znodes there, register {names}, and elect controllers.")
    for name, topic in model.topics.items():
        print(f"It would create topic {name}: {topic.partitions} partitions, replication factor {topic.replication_factor}.")
    print("Znodes that Kafka keeps would stay. Run it again with --execute to do it.")


# --- the cluster -----------------------------------------------------------------------------------------------------------


def _followed_cluster() -> "FollowedCluster":
    from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster

    return FollowedCluster()


@dataclass(frozen=True)
class UpOptions:
    """The options that say how the cluster is run, not what it is.

    Attributes:
        client_ports: by broker id; None: free ones.
        processes: whether each broker has a process of its own.
    """

    name: str
    choice: "ZooKeeperChoice"
    seed: int
    verbose: bool
    trace: Path | None = None
    client_ports: dict[int, int] | None = None
    processes: bool = False


@dataclass
class _UpCommand:
    """One cluster, from its start to its end."""

    options: UpOptions
    scenario: "Scenario"
    topics: "list[NewTopic]"
    connect_string: str = ""
    lifecycle: "ClusterLifecycle | None" = None
    followed: "FollowedCluster" = field(default_factory=_followed_cluster)

    def run(self) -> ExitStatus:
        """Start the cluster, keep it running, and stop it. If that is not possible, print the reason."""
        from kcsim.errors import TimedOutError
        from kcsim.eventlog.event_log import TraceWriteError
        from kcsim.eventlog.run_actions import ClusterError
        from kcsim.scenarios.cli.up_cluster.control import (
            BadClusterNameError,
            ClusterIsUpError,
            ControlError,
            claim_cluster_name,
        )
        from kcsim.scenarios.cli.up_cluster.user_directory import UserDirectoryError
        from kcsim.zk.errors import ZooKeeperUnavailableError
        from kcsim.zk.servers.errors import InMigrationError, NoChrootError, OccupiedError, ServerError

        try:
            with claim_cluster_name(self.options.name) as listening:
                self._run(listening)
        except KeyboardInterrupt:
            pass  # Ctrl-C before the brokers were started
        except (BadClusterNameError, ClusterIsUpError) as error:
            fail(f"--cluster: {error}", ExitStatus.USAGE)
        except (InMigrationError, NoChrootError, OccupiedError) as error:
            fail(f"--zookeeper: {error}", ExitStatus.USAGE)
        except TraceWriteError as error:
            fail(f"--trace: {error}", ExitStatus.UNDECIDED if self.lifecycle else ExitStatus.USAGE)
        except (ServerError, ZooKeeperUnavailableError, ClusterError, TimedOutError) as error:
            fail(str(error), ExitStatus.UNDECIDED)
        except (ControlError, UserDirectoryError) as error:
            fail(str(error), ExitStatus.UNDECIDED)
        was_killed = self.lifecycle is not None and self.lifecycle.was_killed
        print(self._ending(), file=sys.stderr)
        return ExitStatus.INTERRUPTED if was_killed else ExitStatus.HELD

    def _ending(self) -> str:
        """Return how the cluster ended, and what is left of it."""
        ended = "stopped"
        if self.lifecycle is not None and self.lifecycle.has_lost_zookeeper:
            ended = "ended without the brokers' shutdown, because ZooKeeper could not be reached"
        elif self.lifecycle is not None and self.lifecycle.was_killed:
            ended = "killed"
        if self.options.choice.connect is None:
            return f"{ended}; nothing is left of it"
        znodes = self.followed.last and self.followed.snapshot().state.znodes
        kept = sorted({f"/{path.split('/')[1]}" for path, znode in (znodes or {}).items() if not znode.ephemeral})
        if not kept:
            return f"{ended}; nothing was written to {self.options.choice.connect}"
        topics = len(self.followed.snapshot().state.of_topics.topics)
        with_topics = f", with {topics} topics" if topics else ""
        return (
            f"{ended}; Kafka's persistent znodes stay at {self.options.choice.connect}{with_topics}: {', '.join(kept)}\n"
            f"`kcsim zk tree {self.options.choice.connect}` shows them; the next cluster there goes on with them"
        )

    def _run(self, listening: "socket.socket") -> None:
        from kcsim.brokers.cluster.live_environment import run_live
        from kcsim.brokers.cluster.run_setup import IN_PROCESSES, RunInfo
        from kcsim.eventlog.event_log import FailSafeTraceWriter
        from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on

        options, spec = self.options, self._spec()
        choice, names = options.choice, tuple(broker.name for broker in spec.brokers)
        timeline = ConsoleTimeline(console_on(sys.stderr), names, options.verbose)
        zookeeper = choice.connect or choice.kind.value
        where = zookeeper if choice.members == 1 else f"{zookeeper}, {choice.members} members"
        with closing(FailSafeTraceWriter(self.options.trace)) if self.options.trace else nullcontext() as kept:

            async def script(cluster: "ControlledCluster") -> None:
                await self._script(cluster, listening, timeline, kept)

            subscribers: list[Callable[[Event], None]] = [self.followed.apply, timeline]
            if kept is not None:
                subscribers.insert(0, kept.write)
            info = RunInfo(f"cluster {options.name}", options.seed, where)
            if options.processes:
                from kcsim.brokers.cluster.processes.simulated_process_environment import run_on_simulated_processes

                info = replace(info, brokers=IN_PROCESSES)
                run_on_simulated_processes(choice, spec, info, script, subscribers, self._while_serving)
            else:
                run_live(choice, spec, info, script, subscribers, self._while_serving)

    def _spec(self) -> "ClusterSpec":
        from kcsim.scenarios.engine.runner import cluster_spec

        spec = replace(cluster_spec(self.scenario), client_ports=self.options.client_ports, listener_proxies=True)
        return spec.with_free_client_ports() if spec.client_ports is None else spec

    @contextmanager
    def _while_serving(self, connect_string: str) -> Iterator[None]:
        """Register the ZooKeeper while it serves, if it is ours: admin commands then write to it without --execute."""
        from kcsim.scenarios.cli.up_cluster.server_registry import register_servers

        self.connect_string = connect_string
        with register_servers(connect_string) if self.options.choice.connect is None else nullcontext():
            yield

    async def _script(
        self,
        cluster: "ControlledCluster",
        listening: "socket.socket",
        timeline: "ConsoleTimeline",
        kept: "FailSafeTraceWriter | None",
    ) -> None:
        import asyncio

        from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import ClusterLifecycle
        from kcsim.scenarios.cli.up_cluster.control_commands import ControlCommands
        from kcsim.scenarios.cli.up_cluster.control_server import serve_control
        from kcsim.scenarios.engine.single_steps import SingleSteps
        from kcsim.scenarios.engine.untriggered_faults import no_effect_text, untriggered_faults

        cluster.log.keep_latest(EVENTS_IN_MEMORY)
        on_tick = (lambda: None) if kept is None else kept.flush
        on_up = partial(self._print_suggestions, cluster.bootstrap_servers)
        lifecycle = self.lifecycle = ClusterLifecycle(cluster, self.topics, random.Random(self.options.seed), on_up, on_tick)

        def stop() -> None:
            lifecycle.stop()
            with suppress(OSError):  # after SIGHUP there may be no terminal to print on
                print("stopping the brokers in order; Ctrl-C again does not wait for them", file=sys.stderr, flush=True)

        on_stop_signals(asyncio.get_running_loop(), stop, lifecycle.kill)
        narrate = timeline.sentences.get
        steps = SingleSteps(cluster, self.scenario)
        verbs = ControlCommands(cluster, self.connect_string, lambda event: narrate(event.seq), self.followed, steps)
        async with serve_control(listening, cluster.runtime, verbs.answer):
            await lifecycle.run()
        for fault in untriggered_faults(cluster.log.events):
            if fault.seq not in steps.may_have_no_effect:
                print(f"warning: {no_effect_text(fault)}", file=sys.stderr)
        if (records := verbs.records()) is not None:
            print(f"records of producers: {records.in_words()}", file=sys.stderr)

    def _print_suggestions(self, bootstrap_servers: str | None) -> None:
        at, which = self.connect_string, "" if self.options.name == "default" else f" --cluster {self.options.name}"
        where = "" if self.options.name == "default" else f" --zookeeper {at}"
        print(f"connect string: {at}")
        print(f"bootstrap servers: {bootstrap_servers}")
        print("Try, in another terminal:")
        print(f"  kcsim watch{which}")
        print(f"  kcsim fault kill controller{which}")
        print(f"  kcsim fault start broker-1{which}")
        if not self.topics:
            print(f"  kcsim topics{where} --create --topic orders --partitions 6 --replication-factor 3")
        else:
            print(f"  kcsim fault pause leader-of {self.topics[0].name}-0{which}")
        for producer in self.scenario.workload.producers:
            print(f"  kcsim step{which} 'start-workload: {producer}'")
        print(f"  kcsim topics{where} --describe")
        print(f"  kcsim zk tree {at} /brokers")
        if self.options.trace is not None and self.options.trace.suffix != ".parquet":
            print(f"  kcsim why {self.options.trace} last:ElectionWon")
        print("Ctrl-C stops it.", flush=True)
