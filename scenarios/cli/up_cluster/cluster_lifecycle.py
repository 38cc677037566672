"""The lifecycle of a cluster that runs until it is stopped: start, creation of topics, ticks, controlled stop.

Actions on the running cluster come from elsewhere (control_commands.py, or ZooKeeper itself).
"""

from collections.abc import Callable, Sequence

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.runtime.ports import Promise

CONTROLLER_WITHIN_MS = 60_000
TICK_MS = 1_000
"""How often `on_tick` is called."""
PAUSED, RUNNING = "paused", "running"


class ClusterLifecycle:
    """The lifecycle of one cluster, from its start to its stop.

    Args:
        topics: are created as Kafka's tool does it, when there is a controller.
        numbers: the random numbers for their placement.
        on_up: is called when there is a controller and the topics have been created.
        on_tick: is called every second while the cluster is up.

    Attributes:
        was_killed: whether the controlled stop was cut short.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Sequence[NewTopic],
        numbers: RandomNumbers,
        on_up: Callable[[], None],
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.was_killed = False
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
            await self._stop_brokers()
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
