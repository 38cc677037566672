"""Actions of a recording's steps on a cluster, with the waits that belong to them."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.config import NO_SETTINGS
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import TopicPartition
from kcsim.zk.capture.write_comparison.content import json_of
from kcsim.zk.capture.write_comparison.write_attribution import session_owners
from kcsim.znodes import paths
from tests.conformance.replayed import looks
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.shapes import CIRCUMSTANCES, VERBS, growth
from tests.conformance.replayed.tools.placements import Placed

WITHIN_MS = 30_000
"""Bound of every wait that belongs to a step, in the time of the run."""
APPEARS_WITHIN_MS = 1_000
SEEN_AFTER_MS = 500
"""Time after a session's end at which the recordings' authors observed it: the other brokers had acted by then."""

RUNNING = ("running", "paused")
Outcome = Mapping[str, Any] | None
"""Outcome of a command, of a broker that was bounced or did not start, or of a skipped step; None for everything else."""


class Commands(Protocol):
    """Kafka's commands on a cluster: the real ones, or their counterparts here."""

    async def run(
        self, words: Sequence[str], files: Mapping[str, Any] | None = None, placed: Mapping[str, Placed] | None = None
    ) -> Outcome:
        """Run a command as a recording has it, class name first.

        Args:
            files: the files that the command names: name -> text, or a JSON value.
            placed: topic -> where the recording placed its partitions.

        Raises: NotSupportedError.
        """
        ...

    async def alter(self, targets: Mapping[str, Sequence[int] | None]) -> Outcome:
        """Request AlterPartitionReassignments through kafka-reassign-partitions: moves, or (None) cancellations."""
        ...


class StepActions:
    """All actions of a step, one method per verb.

    Args:
        produce: writes one record to a topic, as a client does.
        nodes_of: broker -> the nodes whose sessions are the broker's.
    """

    def __init__(
        self,
        cluster: ScenarioCluster,
        tools: Commands,
        produce: Callable[[str], Awaitable[object]],
        nodes_of: Callable[[int], Collection[str]] = lambda broker: (_node(broker),),
    ) -> None:
        self._cluster = cluster
        self._nodes_of = nodes_of
        self._produce_to = produce
        self._placed: Mapping[str, Placed] = {}
        self._verbs: dict[str, Callable[[Any, Mapping[str, Any]], Awaitable[Outcome]]] = {
            "topic": self._topic,
            "start": lambda broker, do: self._start(broker, do.get("settings", {})),
            "kill": lambda broker, _: self._kill_together([broker]),
            "kill_together": lambda brokers, _: self._kill_together(brokers),
            "term": lambda broker, _: self._term_together([broker]),
            "term_together": lambda brokers, _: self._term_together(brokers),
            "pause": lambda broker, _: self._done(cluster.pause(_node(broker))),
            "resume": lambda broker, _: self._done(cluster.resume(_node(broker))),
            "expire": lambda broker, _: self._expire(broker),
            "bounce": lambda broker, _: self._bounce(broker),
            "reassign": lambda plan, _: self._create(paths.REASSIGN_PARTITIONS, _reassignment(plan)),
            "reassign_if_free": lambda plan, _: self._reassign_if_free(plan),
            "prefer": lambda partitions, _: self._create(paths.PREFERRED_REPLICA_ELECTION, _election(partitions)),
            "delete": lambda topic, _: self._create(paths.delete_topic(topic), ""),
            "grow": lambda _, do: self._grow(do),
            "alter": lambda targets, _: tools.alter(targets),
            "zk_create": lambda given, _: self._create(*given),
            "zk_set": lambda given, _: self._done(cluster.znodes.set(*given)),
            "zk_delete": lambda path, _: self._delete(path),
            "zk_delete_tree": lambda path, _: self._delete_tree(path),
            "zk_touch": lambda path, _: self._done(cluster.znodes.set(path, self._data(path))),
            "zk_recreate": lambda path, _: self._done(cluster.znodes.recreate(path, self._data(path), ephemeral=True)),
            "tool": lambda words, do: tools.run(words, do.get("files"), self._placed),
            "break_dir": lambda broker, _: self._break_dir(broker),
            "produce": lambda topic, _: self._produce(topic),
        }

    async def do(self, do: Mapping[str, Any], placed: Mapping[str, Placed] | None = None) -> Outcome:
        """Carry out a step, and wait for what belongs to it.

        Args:
            placed: topic -> where the recording has the partitions that a command placed.

        Raises: NotSupportedError before anything was done; ClusterError; TimedOutError.
        """
        self._placed = placed or {}
        outcome = None
        if (verb := _verb(do)) is not None:
            outcome = await self._verbs[verb](do[verb], do)
        await self.wait(do.get("wait", {}))
        await self._cluster.runtime.sleep_ms(round(1000 * do.get("sleep", 0)))
        return outcome

    async def wait(self, wanted: Mapping[str, Any]) -> None:
        """Wait until these leaders, and these ISRs, are in ZooKeeper. Raises: TimedOutError."""
        state = self._cluster.state
        await self._until(lambda: looks.led_by(state, wanted.get("leader", {})))
        await self._until(lambda: looks.in_sync(state, wanted.get("isr", {})))

    async def _until(self, look: Callable[[], str | None]) -> None:
        await self._cluster.wait_until(look, WITHIN_MS)

    async def _done(self, act: Awaitable[int]) -> None:
        await act

    # --- znodes

    def _data(self, path: str) -> str | None:
        znode = self._cluster.state.znodes.get(path)
        if znode is None:
            raise ClusterError(f"{path} does not exist")
        return znode.data

    async def _create(self, path: str, data: str | None) -> None:
        await self._cluster.znodes.create(path, data)

    async def _topic(self, topic: str, do: Mapping[str, Any]) -> None:
        assignment: Mapping[str, Sequence[int]] = do["assignment"]
        config_path = paths.topic_config(topic)
        write_config = self._cluster.znodes.set if config_path in self._cluster.state.znodes else self._cluster.znodes.create
        await write_config(config_path, _compact({"version": 1, "config": do.get("config", {})}))
        topic_state = {"version": 2, "partitions": assignment, "adding_replicas": {}, "removing_replicas": {}}
        await self._create(paths.topic(topic), _compact(topic_state))
        if do.get("wait_state", True):
            states = [looks.state_path(f"{topic}-{partition}") for partition in assignment]
            await self._until(lambda: looks.all_exist(self._cluster.state, states))

    async def _grow(self, do: Mapping[str, Any]) -> None:
        topic, added = growth(do)
        path = paths.topic(topic)
        if path in self._cluster.state.znodes:
            found = json_of(self._data(path))
            if not isinstance(found, dict) or not isinstance(found.get("partitions"), dict):
                raise ClusterError(f"{path} holds no partitions to which some could be added")
            await self._cluster.znodes.set(path, _compact({**found, "partitions": {**found["partitions"], **added}}))

    async def _reassign_if_free(self, plan: Mapping[str, Sequence[int]]) -> Outcome:
        if paths.REASSIGN_PARTITIONS in self._cluster.state.znodes:
            return {"skipped": f"{paths.REASSIGN_PARTITIONS} exists"}
        await self._create(paths.REASSIGN_PARTITIONS, _reassignment(plan))
        return None

    async def _delete(self, path: str) -> None:
        """Delete a znode, once it exists: during elections without end, /controller comes and goes."""
        cluster = self._cluster
        with suppress(TimedOutError):
            await cluster.wait_until(lambda: None if path in cluster.state.znodes else f"no {path}", APPEARS_WITHIN_MS)
        await cluster.znodes.delete(path)

    async def _delete_tree(self, root: str) -> None:
        tree = [path for path in self._cluster.state.znodes if path == root or path.startswith(root + "/")]
        for path in sorted(tree, key=lambda path: (-path.count("/"), path)):
            await self._cluster.znodes.delete(path)

    # --- brokers

    def _open_sessions(self, broker: int) -> list[str]:
        owners = session_owners(self._cluster.log.events)
        sessions = self._cluster.state.sessions
        nodes = self._nodes_of(broker)
        return [s for s, owner in owners.items() if owner in nodes and sessions.get(s) != "closed"]

    async def _until_closed(self, sessions: Sequence[str]) -> None:
        await self._until(lambda: looks.all_closed(self._cluster.state, sessions))

    async def _start(self, broker: int, settings: Mapping[str, Any] = NO_SETTINGS) -> Outcome:
        """Start a broker, with these changes of its settings. Returns: None; the way it ended, if it did not start."""
        ran_already = self._cluster.state.processes.get(_node(broker)) in RUNNING
        try:
            await self._cluster.start([_node(broker)], settings)
        except ClusterError as refusal:
            if ran_already:
                raise
            return {"exit": 1, "registered": False, "err": [str(refusal)]}
        return None

    async def _kill_together(self, brokers: Sequence[int]) -> None:
        sessions = [session for broker in brokers for session in self._open_sessions(broker)]
        for broker in brokers:
            await self._cluster.kill(_node(broker))
        await self._until_closed(sessions)

    async def _term_together(self, brokers: Sequence[int]) -> None:
        runtime = self._cluster.runtime
        stops = [runtime.promise() for _ in brokers]

        async def stop(broker: int, place: int) -> None:
            try:
                stops[place].resolve(await self._cluster.stop(_node(broker)))
            except Exception as error:
                stops[place].fail(error)

        for place, broker in enumerate(brokers):
            runtime.spawn(f"stop {_node(broker)}", stop(broker, place))
        for stopped in stops:
            await stopped.wait()

    async def _expire(self, broker: int) -> None:
        sessions = self._open_sessions(broker)
        await self._cluster.pause(_node(broker))
        await self._until_closed(sessions)
        await self._cluster.runtime.sleep_ms(SEEN_AFTER_MS)
        await self._cluster.resume(_node(broker))
        await self._until(lambda: looks.registered_anew(self._cluster.state, broker, sessions))

    async def _bounce(self, broker: int) -> Outcome:
        sessions = self._open_sessions(broker)
        await self._cluster.kill(_node(broker))
        ended = await self._start(broker)
        # A broker whose registration was deleted by hand before registers again while the former session lasts.
        await self._until_closed(sessions)
        return ended or {"exit": None, "registered": True}

    async def _break_dir(self, broker: int) -> None:
        await self._cluster.fail_log_dir(_node(broker), None)

    async def _produce(self, topics: str | Sequence[str]) -> None:
        for topic in [topics] if isinstance(topics, str) else topics:
            await self._produce_to(topic)


def _verb(do: Mapping[str, Any]) -> str | None:
    """Return the verb of a step; None if the step only sleeps or waits. Raises: NotSupportedError."""
    known = {*VERBS, *CIRCUMSTANCES, *(do if "grow" in do else ())}  # the new partitions may have their own key
    if unknown := [key for key in do if key not in known]:
        raise NotSupportedError(f"unknown in a step: {', '.join(unknown)}")
    verbs = [key for key in do if key in VERBS]
    if len(verbs) > 1:
        raise NotSupportedError(f"several deeds in a step: {', '.join(verbs)}")
    if not verbs and not {*do} & {"sleep", "wait"}:
        raise NotSupportedError("nothing is done in the step")
    return verbs[0] if verbs else None


def _node(broker: int) -> str:
    return f"broker-{broker}"


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _reassignment(plan: Mapping[str, Sequence[int]]) -> str:
    partitions = [{**_partition(name)._asdict(), "replicas": list(replicas)} for name, replicas in plan.items()]
    return _compact({"version": 1, "partitions": partitions})


def _election(partitions: Sequence[str]) -> str:
    return _compact({"version": 1, "partitions": [_partition(name)._asdict() for name in partitions]})
