"""A cluster that stays up until somebody has had enough of it: started, given topics, watched over, and stopped in order.

What is done to it meanwhile comes from elsewhere (remote_verbs.py, or ZooKeeper itself).
"""

from collections.abc import Callable, Sequence

from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.scenarios.admin.topics import NewTopic
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import ClusterError
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Promise

CONTROLLER_WITHIN_MS = 60_000
BREATH_MS = 1_000
"""How often `each_breath` is called."""
PAUSED, RUNNING = "paused", "running"


class Playground:
    """The life of one cluster, from its start to its stop.

    Args:
        topics: created as Kafka's tool does it, when there is a controller.
        numbers: where their placement is drawn from.
        is_up: called when there is a controller, and the topics have been created.
        each_breath: called every second while it is up.

    Attributes:
        was_killed: whether the orderly stop was cut short.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Sequence[NewTopic],
        numbers: RandomNumbers,
        is_up: Callable[[], None],
        each_breath: Callable[[], None] = lambda: None,
    ) -> None:
        self.was_killed = False
        self._cluster = cluster
        self._topics = topics
        self._numbers = numbers
        self._is_up = is_up
        self._each_breath = each_breath
        self._enough: Promise[None] = cluster.runtime.promise()
        self._over: Promise[None] = cluster.runtime.promise()

    def stop(self) -> None:
        """Stop the brokers in order, as soon as they have been started."""
        self._enough.resolve(None)

    def kill(self) -> None:
        """Wait for nothing any more."""
        self.was_killed = not self._over.is_settled
        self._over.resolve(None)

    async def live(self) -> None:
        """Run until `stop` has been obeyed, or `kill` was called.

        Raises: ClusterError when a broker does not start or a topic cannot be created; TimedOutError without a controller.
        """
        life = self._cluster.runtime.spawn("life of the cluster", self._live())
        try:
            await self._over.wait()
        finally:
            life.kill()
            await life.join()

    async def _live(self) -> None:
        try:
            await self._begin()
            while not self._enough.is_settled:
                await self._take_a_breath()
            await self._stop_brokers()
        except (ClusterError, TimedOutError) as error:
            self._over.fail(error)
        else:
            self._over.resolve(None)

    async def _begin(self) -> None:
        cluster = self._cluster
        await cluster.start(cluster.broker_names)
        await cluster.wait_until(
            lambda: "nobody is the controller" if cluster.state.controller_id is None else None, CONTROLLER_WITHIN_MS
        )
        for topic in self._topics:
            await cluster.topics.create(topic, self._numbers)
        self._is_up()

    async def _take_a_breath(self) -> None:
        try:
            await self._enough.wait(BREATH_MS)
        except TimedOutError:
            self._each_breath()

    async def _stop_brokers(self) -> None:
        """The controller last: who stops asks it to move leaders away, and each change of controller costs an election."""
        cluster = self._cluster
        controller = f"broker-{cluster.state.controller_id}"
        for name in sorted(cluster.broker_names, key=lambda name: name == controller):
            if cluster.state.processes.get(name) == PAUSED:
                await cluster.resume(name)
            if cluster.state.processes.get(name) == RUNNING:
                await cluster.stop(name)
