"""A cluster that kcsim up or kcsim play keeps running: it is started, controlled from elsewhere, and stopped."""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.stop_signals import on_stop_signals

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from kcsim.brokers.cluster.cluster_spec import ClusterSpec
    from kcsim.brokers.cluster.scenario_cluster import ControlledCluster
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.controller.admin.topics import NewTopic
    from kcsim.eventlog.event_log import FailSafeTraceWriter
    from kcsim.eventlog.events import Event
    from kcsim.scenarios.cli.page_server import PagePlace
    from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import ClusterLifecycle
    from kcsim.scenarios.engine.single_steps import SingleSteps
    from kcsim.scenarios.language.schema import ClusterModel, Scenario
    from kcsim.scenarios.play.live_cluster import LiveCluster
    from kcsim.scenarios.views.narration.timeline import ConsoleTimeline
    from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster

EVENTS_IN_MEMORY = 100_000
"""A cluster can be up for days. What conditions and `observed` look at is recent; --trace keeps everything."""


def new_topics(model: "ClusterModel") -> "list[NewTopic]":
    """Return the topics that a scenario declares. Two that Kafka does not keep apart end the command."""
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


def _followed_cluster() -> "FollowedCluster":
    from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster

    return FollowedCluster()


@dataclass(frozen=True)
class UpOptions:
    """The options that say how the cluster is run, not what it is.

    Attributes:
        client_ports: by broker id; None: free ones.
        processes: whether each broker has a process of its own.
        page: where the page of the cluster is served, if it has one.
        is_narrated: whether events are printed, and commands to try.
    """

    name: str
    choice: "ZooKeeperChoice"
    seed: int
    verbose: bool
    trace: Path | None = None
    client_ports: dict[int, int] | None = None
    processes: bool = False
    page: "PagePlace | None" = None
    is_narrated: bool = True


@dataclass
class UpCommand:
    """One cluster, from its start to its end."""

    options: UpOptions
    scenario: "Scenario"
    topics: "list[NewTopic]"
    connect_string: str = ""
    lifecycle: "ClusterLifecycle | None" = None
    followed: "FollowedCluster" = field(default_factory=_followed_cluster)
    live: "LiveCluster | None" = None
    page_address: str = ""

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
        zookeeper = choice.connect or choice.kind.value
        where = zookeeper if choice.members == 1 else f"{zookeeper}, {choice.members} members"
        with (
            nullcontext(sys.stderr) if options.is_narrated else open(os.devnull, "w", encoding="utf-8") as narration,
            closing(FailSafeTraceWriter(options.trace)) if options.trace else nullcontext() as kept,
        ):
            timeline = ConsoleTimeline(console_on(narration), names, options.verbose)

            async def script(cluster: "ControlledCluster") -> None:
                await self._script(cluster, listening, timeline, kept)

            subscribers: list[Callable[[Event], None]] = [self.followed.apply, timeline]
            if kept is not None:
                subscribers.insert(0, kept.write)
            if options.page is not None:
                from kcsim.scenarios.play.live_cluster import LiveCluster

                self.live = LiveCluster()
                subscribers.append(self.live.see)
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
        on_up = partial(self._on_up, cluster)
        lifecycle = self.lifecycle = ClusterLifecycle(cluster, self.topics, random.Random(self.options.seed), on_up, on_tick)

        def stop() -> None:
            lifecycle.stop()
            with suppress(OSError):  # after SIGHUP there may be no terminal to print on
                print("stopping the brokers in order; Ctrl-C again does not wait for them", file=sys.stderr, flush=True)

        on_stop_signals(asyncio.get_running_loop(), stop, lifecycle.kill)
        narrate = timeline.sentences.get
        steps = SingleSteps(cluster, self.scenario)
        verbs = ControlCommands(cluster, self.connect_string, lambda event: narrate(event.seq), self.followed, steps)
        with self._serving_page(cluster, steps):
            async with serve_control(listening, cluster.runtime, verbs.answer):
                await lifecycle.run()
        for fault in untriggered_faults(cluster.log.events):
            if fault.seq not in steps.may_have_no_effect:
                print(f"warning: {no_effect_text(fault)}", file=sys.stderr)
        if (records := verbs.records()) is not None:
            print(f"records of producers: {records.in_words()}", file=sys.stderr)

    @contextmanager
    def _serving_page(self, cluster: "ControlledCluster", steps: "SingleSteps") -> Iterator[None]:
        """Serve the page of the cluster, if it has one, until the context ends, and do what is asked for on it."""
        place, live = self.options.page, self.live
        if place is None or live is None:
            yield
            return
        from kcsim.scenarios.play.acts import Act
        from kcsim.scenarios.play.live_pages import LivePages
        from kcsim.scenarios.play.server import PlayServer

        live.use_clock(cluster.runtime)
        live.has_done(Act(cluster.runtime.now_ms(), "start: all"))
        acting = cluster.runtime.spawn("acts on the page", live.do_acts(cluster.runtime, steps))
        pages = LivePages(live, self.scenario.name, self.scenario, self.options.seed)
        server = PlayServer(pages, place.port)
        self.page_address = server.address
        try:
            with place.serving(server):
                yield
        finally:
            acting.kill()
            pages.close()

    def _on_up(self, cluster: "ControlledCluster") -> None:
        """Print where the cluster is. Open its page, if it has one."""
        from kcsim.eventlog.events import EventKind
        from kcsim.scenarios.play.acts import Act

        options = self.options
        if self.live is not None:
            for event in cluster.log.events:
                if event.kind is EventKind.ADMIN_ACT and event.op == "create-topic":
                    self.live.has_done(Act(event.t_ms, f"create-topic: {event.topic}"))
        if options.is_narrated:
            self._print_suggestions(cluster.bootstrap_servers)
        else:
            print(f"The page: {self.page_address}\nCtrl-C ends it.", flush=True)
        if options.page is not None:
            options.page.open(self.page_address)

    def _print_suggestions(self, bootstrap_servers: str | None) -> None:
        at, which = self.connect_string, "" if self.options.name == "default" else f" --cluster {self.options.name}"
        where = "" if self.options.name == "default" else f" --zookeeper {at}"
        print(f"connect string: {at}")
        print(f"bootstrap servers: {bootstrap_servers}")
        if self.page_address:
            print(f"page: {self.page_address}")
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
