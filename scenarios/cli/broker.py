"""kcsim broker: one simulated broker in a process of its own."""

import secrets
import sys
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.ports_option import LAST_PORT
from kcsim.scenarios.cli.run_options import check_capabilities, check_protections, check_trace
from kcsim.scenarios.cli.setting_option import HardeningOption, parse_settings
from kcsim.scenarios.cli.stop_signals import on_stop_signals, stop_signals_as_ctrl_c
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcsim.brokers.cluster.cluster import Cluster
    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.controller.capabilities import Release
    from kcsim.eventlog.events import Event
    from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import ClusterLifecycle

EVENTS_IN_MEMORY = 100_000
"""A broker can run for days. --trace keeps everything."""
MAX_ID = 2**31 - 1
LOOPBACK = "127.0.0.1"
DEFAULT_TICK_TIME_MS = 2_000
"""ZooKeeper's own default: the tickTime of the cluster's ZooKeeper is not known here."""


def broker(
    broker_id: Annotated[int, typer.Option("--id", help="broker.id.", min=0, max=MAX_ID)],
    zookeeper: Annotated[
        str,
        typer.Option(help="The cluster's ZooKeeper. It must run, and the chroot must exist.", metavar="HOST:PORT,…/CHROOT"),
    ],
    zookeeper_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,…/CHROOT",
            help="A proxy in front of that ZooKeeper, through which the broker's own sessions go.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where clients and the other brokers connect; the broker registers this address. "
            "Without it: a free port of 127.0.0.1.",
        ),
    ] = None,
    rack: Annotated[str | None, typer.Option(metavar="NAME", help="broker.rack.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="Another setting under Kafka's name; may be repeated.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the logs in this folder, in Kafka's format, so that the records outlive the process; the folder is "
            "created if it does not exist. Without it they are in memory.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            autocompletion=completion.releases,
            help="The release of Kafka whose behaviour it has; else that of inter.broker.protocol.version, or 2.8.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROTECTION",
            autocompletion=completion.protections,
            help="Switch off a protection of Kafka; may be repeated.",
        ),
    ] = None,
    hardening: HardeningOption = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Keep the event log here: Parquet if the name ends in .parquet, else JSON lines. In a directory, each "
            "start of the broker has a file of its own: broker-1-1.jsonl, broker-1-2.jsonl, …"
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every detail: all state changes, UpdateMetadata requests, …")
    ] = False,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute",
            help="Really register in a ZooKeeper that kcsim has not started; without it, only report what would be done.",
        ),
    ] = False,
) -> None:
    """Run one broker as a process, until SIGTERM or Ctrl-C.

    It registers in ZooKeeper, stands for election as controller, replicates partitions from and to the other brokers of the
    cluster over TCP, and serves Kafka's clients. What it does is printed on stderr as it happens.

    \b
    kcsim zk start
    kcsim broker --id 1 --zookeeper 127.0.0.1:2181 --listen 127.0.0.1:9092
    kcsim broker --id 2 --zookeeper 127.0.0.1:2181 --rack b --data broker-2 --setting log.retention.ms=60000

    SIGTERM, SIGHUP and Ctrl-C shut it down in order: leaders move to other brokers first. A second signal does not wait.
    SIGKILL is a crash: its session expires later. Without --data its records end with the process.

    Exit status: 0 stopped, 2 it could not be started, 5 a dry run, 64 the arguments are invalid, 130 stopped by a second
    signal.
    """
    choice = zookeeper_choice(zookeeper)
    if choice.connect is None:
        fail("--zookeeper: name a ZooKeeper that runs, by host:port; `kcsim zk start` starts one", ExitStatus.USAGE)
    check_protections(without or ())
    spec = _spec(broker_id, rack, setting or [], listen, _release(release))
    check_capabilities(without or (), spec)
    protections = spec.protections.without(without or ())
    spec = replace(spec, protections=protections, zookeeper_proxy=zookeeper_proxy, data_dir=data, is_hardened=hardening)
    if trace is not None and trace.is_dir():
        trace = _new_file(trace, spec.brokers[0].name)
    check_trace(trace)
    from kcsim.scenarios.cli.up_cluster.server_registry import is_registered

    with exit_on_zookeeper_errors():
        may_write = execute or is_registered(zookeeper)
    if not may_write:
        print(f"Dry run: nothing has been written to {zookeeper}, which kcsim has not started.")
        print(f"broker-{broker_id} would register there at {_address(spec)}, and stand for election as controller.")
        print("Run it again with --execute to do it.")
        raise CommandExit(ExitStatus.DRY_RUN)
    with stop_signals_as_ctrl_c():
        status = _BrokerCommand(choice, spec, verbose, trace).run()
    raise CommandExit(status)


# --- reading the arguments -------------------------------------------------------------------------------------------------


def _release(text: str | None) -> "Release | None":
    from kcsim.controller.capabilities import RELEASES, Release

    if text is not None and text not in RELEASES:
        fail(
            f"--release: {text!r} is no release of Kafka that is simulated: {RELEASES[0]} to {RELEASES[-1]}",
            ExitStatus.USAGE,
        )
    return None if text is None else Release(text)


def _spec(
    broker_id: int, rack: str | None, settings: list[str], listen: str | None, release: "Release | None"
) -> "ClusterSpec":
    """Return a cluster whose only broker in this process is the one that the options describe."""
    from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
    from kcsim.brokers.config import BrokerConfig, SettingError
    from kcsim.zk.servers.free_ports import free_ports

    given = parse_settings(settings)
    if own := sorted({"broker.id", "broker.rack", "host.name", "port"} & given.keys()):
        fail(f"--setting: {' and '.join(own)}: --id, --rack and --listen say this", ExitStatus.USAGE)
    try:
        BrokerConfig.of(given, release=release)
    except SettingError as error:
        fail(f"--setting: {error}", ExitStatus.USAGE)
    host, port = (LOOPBACK, None) if listen is None else _listen_address(listen)
    return ClusterSpec(
        (BrokerSpec(broker_id, rack),),
        given,
        tick_time_ms=DEFAULT_TICK_TIME_MS,
        client_ports={broker_id: free_ports(1)[0] if port is None else port},
        client_host=host,
        control_plane_over_tcp=True,
        replication_over_tcp=True,
        has_brokers_elsewhere=True,
        release=release,
    )


def _listen_address(text: str) -> tuple[str, int]:
    from kcsim.zk.servers.free_ports import refusal_of

    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdecimal() and 1 <= int(port) <= LAST_PORT):
        fail(f"--listen: {text!r} is no host:port; write 127.0.0.1:9092", ExitStatus.USAGE)
    if (refused := refusal_of(host)) is not None:
        fail(f"--listen: nothing can listen on {host} here: {refused}", ExitStatus.USAGE)
    return host, int(port)


def _new_file(directory: Path, name: str) -> Path:
    """Return the first of name-1.jsonl, name-2.jsonl, … that does not exist."""
    return next(file for number in count(1) if not (file := directory / f"{name}-{number}.jsonl").exists())


def _address(spec: "ClusterSpec") -> str:
    assert spec.client_ports is not None
    (port,) = spec.client_ports.values()
    return f"{spec.client_host}:{port}"


# --- the broker ------------------------------------------------------------------------------------------------------------


@dataclass
class _BrokerCommand:
    """One broker, from its start to its end."""

    choice: "ZooKeeperChoice"
    spec: "ClusterSpec"
    verbose: bool
    trace: Path | None
    lifecycle: "ClusterLifecycle | None" = None

    @property
    def name(self) -> str:
        return self.spec.brokers[0].name

    def run(self) -> ExitStatus:
        """Start the broker, keep it running, and stop it. If that is not possible, print the reason."""
        from kcsim.brokers.log.disk import StorageError
        from kcsim.errors import TimedOutError
        from kcsim.eventlog.event_log import TraceWriteError
        from kcsim.eventlog.run_actions import ClusterError
        from kcsim.zk.errors import ZooKeeperUnavailableError
        from kcsim.zk.servers.errors import InMigrationError, NoChrootError, ServerError

        try:
            self._run()
        except KeyboardInterrupt:
            pass  # Ctrl-C before the broker was started
        except (InMigrationError, NoChrootError) as error:
            fail(f"--zookeeper: {error}", ExitStatus.USAGE)
        except StorageError as error:
            fail(f"--data: {error}", ExitStatus.UNDECIDED)
        except TraceWriteError as error:
            fail(f"--trace: {error}", ExitStatus.UNDECIDED if self.lifecycle else ExitStatus.USAGE)
        except (ServerError, ZooKeeperUnavailableError, ClusterError, TimedOutError) as error:
            fail(str(error), ExitStatus.UNDECIDED)
        was_killed = self.lifecycle is not None and self.lifecycle.was_killed
        if self.lifecycle is not None and self.lifecycle.has_lost_zookeeper:
            ended = "ended without a controlled shutdown, because ZooKeeper could not be reached"
        else:
            ended = "ended without its shutdown" if was_killed else "stopped"
        print(f"{self.name} {ended}", file=sys.stderr)
        return ExitStatus.INTERRUPTED if was_killed else ExitStatus.HELD

    def _run(self) -> None:
        from kcsim.brokers.cluster.live_environment import run_live
        from kcsim.brokers.cluster.run_setup import RunInfo
        from kcsim.eventlog.event_log import FailSafeTraceWriter
        from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on

        assert self.choice.connect is not None
        timeline = ConsoleTimeline(console_on(sys.stderr), (self.name,), self.verbose)
        with closing(FailSafeTraceWriter(self.trace)) if self.trace else nullcontext() as kept:

            async def script(cluster: "Cluster") -> None:
                await self._script(cluster)

            subscribers: list[Callable[[Event], None]] = [timeline]
            if kept is not None:
                # Each event is in the file at once, so that a broker that is killed has left all that it did.
                subscribers = [kept.write, lambda _: kept.flush(), timeline]
            info = RunInfo(self.name, secrets.randbits(62), self.choice.connect)
            run_live(self.choice, self.spec, info, script, subscribers)

    async def _script(self, cluster: "Cluster") -> None:
        import asyncio

        from kcsim.eventlog.cluster_state import ENDED
        from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import RUNNING, ClusterLifecycle

        cluster.log.keep_latest(EVENTS_IN_MEMORY)
        for line in cluster.damaged_files:
            print(line, file=sys.stderr)

        def on_tick() -> None:
            if cluster.vanished_log_dirs(self.name) and cluster.state.processes.get(self.name) == RUNNING:
                cluster.runtime.spawn("fail-log-dir", self._fail_log_dir(cluster))
            if cluster.state.processes.get(self.name) in ENDED:  # it has ended by itself
                lifecycle.stop()

        lifecycle = self.lifecycle = ClusterLifecycle(cluster, (), secrets.SystemRandom(), self._print_address, on_tick)

        def stop() -> None:
            lifecycle.stop()
            with suppress(OSError):  # after SIGHUP there may be no terminal to print on
                print(f"{self.name} is shutting down; a second signal does not wait", file=sys.stderr, flush=True)

        on_stop_signals(asyncio.get_running_loop(), stop, lifecycle.kill)
        await lifecycle.run()

    async def _fail_log_dir(self, cluster: "Cluster") -> None:
        """Fail a log directory that somebody has deleted."""
        from kcsim.eventlog.run_actions import ClusterError

        with suppress(ClusterError):  # the broker has ended meanwhile
            await cluster.fail_log_dir(self.name)

    def _print_address(self) -> None:
        print(f"{self.name} listens at {_address(self.spec)}", flush=True)
