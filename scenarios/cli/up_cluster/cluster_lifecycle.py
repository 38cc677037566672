"""The lifecycle of a cluster that runs until it is stopped: start, creation of topics, ticks, controlled stop.

Actions on the running cluster come from elsewhere (control_commands.py, or ZooKeeper itself).
"""

from collections.abc import Callable, Sequence

from kcsim.brokers.cluster.scenario_cluster import ControlledCluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.runtime.ports import Promise

CONTROLLER_WITHIN_MS = 60_000
TICK_MS = 1_000
"""How often `on_tick` is called."""
WITHOUT_ZOOKEEPER_MS = 2_000
"""How long brokers that are being stopped may all be without ZooKeeper: they cannot shut down in order without it."""
PAUSED, RUNNING = "paused", "running"
CONNECTED, CLOSED = "connected", "closed"


class ClusterLifecycle:
    """The lifecycle of one cluster, from its start to its stop.

    Args:
        topics: are created as Kafka's tool does it, when there is a controller.
        numbers: the random numbers for their placement.
        on_up: is called when there is a controller and the topics have been created.
        on_tick: is called every second while the cluster is up, or is being stopped.

    Attributes:
        was_killed: whether the controlled stop was cut short.
        has_lost_zookeeper: whether it was cut short because no broker could reach ZooKeeper.
    """

    def __init__(
        self,
        cluster: ControlledCluster,
        topics: Sequence[NewTopic],
        numbers: RandomNumbers,
        on_up: Callable[[], None],
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.was_killed = False
        self.has_lost_zookeeper = False
        self._cluster = cluster
        self._topics = topics
        self._numbers = numbers
        self._on_up = on_up
        self._on_tick = on_tick
        self._stop_requested: Promise[None] = cluster.runtime.promise()
        self._finished: Promise[None] = cluster.runtime.promise()

    def stop(self) -> None:
        """Stop the brokers in a controlled way, as soon as they have been started."""
        self._stop_requested.resolve(None)

    def kill(self) -> None:
        """End `run` without waiting for anything."""
        self.was_killed = not self._finished.is_settled
        self._finished.resolve(None)

    async def run(self) -> None:
        """Run until `stop` is completed or `kill` is called.

        Raises: ClusterError when a broker does not start or a topic cannot be created; TimedOutError without a controller.
        """
        task = self._cluster.runtime.spawn("life of the cluster", self._run())
        try:
            await self._finished.wait()
        finally:
            task.kill()
            await task.join()

    async def _run(self) -> None:
        try:
            await self._start_brokers()
            while not self._stop_requested.is_settled:
                await self._wait_for_tick()
            await self._stop_while_connected()
        except (ClusterError, TimedOutError) as error:
            self._finished.fail(error)
        else:
            self._finished.resolve(None)

    async def _start_brokers(self) -> None:
        cluster = self._cluster
        await cluster.start(cluster.broker_names)
        await cluster.wait_until(
            lambda: "no broker is the controller" if cluster.state.controller_id is None else None, CONTROLLER_WITHIN_MS
        )
        for topic in self._topics:
            await cluster.topics.create(topic, self._numbers)
        self._on_up()

    async def _wait_for_tick(self) -> None:
        try:
            await self._stop_requested.wait(TICK_MS)
        except TimedOutError:
            self._on_tick()

    async def _stop_while_connected(self) -> None:
        """Stop the brokers; give up when all of them have been without ZooKeeper for WITHOUT_ZOOKEEPER_MS."""
        runtime = self._cluster.runtime
        stopped: Promise[None] = runtime.promise()

        async def stop_brokers() -> None:
            try:
                await self._stop_brokers()
            except (ClusterError, TimedOutError) as error:
                stopped.fail(error)
            else:
                stopped.resolve(None)

        task = runtime.spawn("stop the brokers", stop_brokers())
        lost_ms = 0
        while not stopped.is_settled and lost_ms < WITHOUT_ZOOKEEPER_MS:
            try:
                await stopped.wait(TICK_MS)
            except TimedOutError:
                self._on_tick()
            lost_ms = lost_ms + TICK_MS if self._is_without_zookeeper() else 0
        if not stopped.is_settled:
            self.has_lost_zookeeper = True
            task.kill()
            return
        await stopped.wait()

    def _is_without_zookeeper(self) -> bool:
        """Return whether there are running brokers, and none of them is connected to ZooKeeper.

        A broker that has closed its session is about to end.
        """
        state = self._cluster.state
        running = [name for name in self._cluster.broker_names if state.processes.get(name) == RUNNING]
        seen = [link.state for name in running if (link := state.links.get(name)) is not None]
        return bool(seen) and not {CONNECTED, CLOSED}.intersection(seen)

    async def _stop_brokers(self) -> None:
        """Stop the brokers, the controller last.

        A stopping broker asks the controller to move leaders away, and each change of controller costs an election.
        """
        cluster = self._cluster
        controller = f"broker-{cluster.state.controller_id}"
        for name in sorted(cluster.broker_names, key=lambda name: name == controller):
            if cluster.state.processes.get(name) == PAUSED:
                await cluster.resume(name)
            if cluster.state.processes.get(name) == RUNNING:
                await cluster.stop(name)
