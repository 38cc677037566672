"""What can be asked of a running cluster from another terminal: the verbs of the control channel, done on a Cluster.

What is done to a node (kill, start, stop, pause, resume, expire, disconnect, reconnect, fail-log-dir) takes {"target": …}:
broker-N, controller, or leader-of, preferred-of or follower-of TOPIC-PARTITION; kill, start, pause and resume take member-N
as well, a server of ZooKeeper. The answer is {"target": the node meant, "seq": of the Fault or AdminAct, "observed":
[sentences]}: what was then seen, not what was hoped for.

What is done to the network (partition, heal, break-connections) takes {"target": …} as well: one side, `and`, the other; a
side is a node as above, some with commas between, or all. Without another side it is everybody else. Answered likewise.

The others say what there is, or are requests to the controller for which Kafka has no znode:

    status                         {} -> {"connect_string", "brokers": {name: state}, "controller": name or null, "members"}
    alter-partition-reassignments  {"targets": {"orders-0": [3, 1, 2], or null to cancel}}
                                   -> {"errors": {"orders-0": "NONE"}}
    list-partition-reassignments   {}
                                   -> {"reassignments": {"orders-0": {"replicas", "adding_replicas", "removing_replicas"}}}
    elect-leaders                  {"election_type": "PREFERRED" or "UNCLEAN", "partitions": ["orders-0"], or null for all}
                                   -> {"errors": {"orders-0": "ELECTION_NOT_NEEDED"}}

Who asks gets an answer or a DeniedError, whatever was sent: nothing that comes in here stops the cluster.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import msgspec

from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.language.words import ALL, CONTROLLER, ROLES, did_you_mean, listed
from kcsim.scenarios.link_conditions import Links, Side
from kcsim.scenarios.playground.control import DeniedError
from kcsim.scenarios.telling.network_sentences import network_deed
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import Event, EventKind
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.vocabulary import BrokerId, TopicPartition

RECONNECT_WITHIN_MS = 10_000
"""How long `reconnect` looks for the connection that it made possible."""

AND = "and"
"""Stands between the two sides of a network's links."""

Answer = Mapping[str, Any]
Doing = Callable[[str], Awaitable[int]]


class OnNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of what is done to a node."""

    target: str


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to say beyond the verb."""


class Reassignments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of alter-partition-reassignments."""

    targets: dict[str, tuple[int, ...] | None]


class Elections(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of elect-leaders."""

    election_type: ElectionType
    partitions: tuple[str, ...] | None = None


class RemoteVerbs:
    """The verbs, on one cluster.

    Args:
        connect_string: of its ZooKeeper.
        said: what was said of an event, None if nothing was.
    """

    def __init__(self, cluster: Cluster, connect_string: str, said: Callable[[Event], str | None]) -> None:
        self._cluster = cluster
        self._connect_string = connect_string
        self._said = said
        servers = cluster.servers
        self._on_servers: Mapping[str, Doing] = MappingProxyType(
            {"kill": servers.kill, "start": servers.start, "pause": servers.pause, "resume": servers.resume}
        )
        self._on_brokers: Mapping[str, Doing] = MappingProxyType(
            {
                "kill": cluster.kill,
                "start": lambda name: cluster.start([name]),
                "stop": cluster.stop,
                "pause": cluster.pause,
                "resume": cluster.resume,
                "expire": cluster.expire,
                "disconnect": cluster.disconnect,
                "reconnect": self._reconnect,
                "fail-log-dir": lambda name: cluster.fail_log_dir(name, None),
            }
        )
        faults = cluster.network_faults
        self._on_links: Mapping[str, Callable[[Links], int]] = MappingProxyType(
            {"partition": faults.partition, "heal": faults.heal, "break-connections": faults.break_connections}
        )
        self._on_the_controller: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Answer]]] = MappingProxyType(
            {
                "status": self._status,
                "alter-partition-reassignments": self._alter_partition_reassignments,
                "list-partition-reassignments": self._list_partition_reassignments,
                "elect-leaders": self._elect_leaders,
            }
        )

    async def answer(self, verb: str, arguments: Mapping[str, Any]) -> Answer:
        """Do it, and say what came of it. Raises: DeniedError."""
        try:
            if verb in self._on_the_controller:
                return await self._on_the_controller[verb](arguments)
            if verb in self._on_brokers:
                return await self._on_a_node(verb, msgspec.convert(arguments, OnNode).target)
            if verb in self._on_links:
                return self._on_the_network(verb, msgspec.convert(arguments, OnNode).target)
        except msgspec.ValidationError as error:
            raise DeniedError(f"{verb}: {error}", makes_no_sense=True) from None
        except (ClusterError, ServerError, TimedOutError) as error:
            raise DeniedError(str(error), makes_no_sense=False) from None
        known = (*self._on_brokers, *self._on_links, *self._on_the_controller)
        raise DeniedError(f"unknown verb {verb!r}{did_you_mean(verb, known) or f'; known are {listed(known)}'}", True)

    # --- on a node

    async def _on_a_node(self, verb: str, target: str) -> Answer:
        node = self._node(target)
        if node in self._cluster.member_names:
            if verb not in self._on_servers:
                raise DeniedError(f"{verb} is done to brokers; to servers of ZooKeeper: {listed(self._on_servers)}", True)
            seq = await self._on_servers[verb](node)
        else:
            seq = await self._on_brokers[verb](node)
        return {"target": node, "seq": seq, "observed": self._observed(seq, node)}

    def _node(self, target: str) -> str:
        """The node that is meant at this moment. Raises: DeniedError, ClusterError."""
        cluster = self._cluster
        if target in (*cluster.broker_names, *cluster.member_names):
            return target
        if target == CONTROLLER:
            holder = cluster.state.controller_id
            if holder is None:
                raise ClusterError("nobody is the controller now")
            return f"broker-{holder}"
        role, of, partition = target.partition("-of ")
        if of and role in ROLES:
            return self._in_role(role, _partition(partition.strip()))
        known = (*cluster.broker_names, CONTROLLER, *cluster.member_names)
        hint = did_you_mean(target, known) or f"; there are {listed(known)}, and {' or '.join(ROLES)}-of TOPIC-PARTITION"
        raise DeniedError(f"unknown target {target!r}{hint}", makes_no_sense=True)

    def _in_role(self, role: str, partition: TopicPartition) -> str:
        topics = self._cluster.state.of_topics
        if topics.assignment(partition) is None:
            raise DeniedError(f"there is no partition {partition}", makes_no_sense=True)
        broker = topics.broker_in_role(role, partition)
        if broker is None:
            raise ClusterError(f"{partition} has no {role} now")
        return f"broker-{broker}"

    async def _reconnect(self, name: str) -> int:
        seq = await self._cluster.reconnect(name)

        def seen() -> str | None:
            state = self._session_state(name)
            return f"the session of {name} is {state}" if state == "suspended" else None

        await self._cluster.wait_until(seen, RECONNECT_WITHIN_MS)
        return seq

    def _session_state(self, name: str) -> str | None:
        events = reversed(self._cluster.log.events)
        return next((e.state for e in events if e.kind is EventKind.SESSION_STATE and e.node == name), None)

    def _observed(self, seq: int, node: str) -> list[str]:
        """What was confirmed of a fault; of an act, what was told of its node since."""
        after = self._cluster.log.events[seq + 1 :]
        confirmed = [e.detail or "" for e in after if e.kind is EventKind.FAULT_CONFIRMED and e.cause == seq]
        if confirmed:
            return confirmed
        return [told for e in after if e.node == node and (told := self._said(e)) is not None]

    # --- on the network

    def _on_the_network(self, verb: str, target: str) -> Answer:
        one, _, other = target.partition(f" {AND} ")
        links = Links(self._side(one), self._side(other or ALL), both_ways=True)
        seq = self._on_links[verb](links)
        done = network_deed(self._cluster.log.events[seq]) or ""
        return {"target": str(links), "seq": seq, "observed": self._observed(seq, "") or [f"somebody {done}"]}

    def _side(self, text: str) -> Side:
        if text.strip() == ALL:
            return None
        nodes = frozenset(self._node(name.strip()) for name in text.split(","))
        if servers := nodes.intersection(self._cluster.member_names):
            raise DeniedError(
                f"{listed(sorted(servers))}: the network is between brokers; of servers, pause or kill one", True
            )
        return nodes

    # --- the controller's API

    async def _status(self, arguments: Mapping[str, Any]) -> Answer:
        msgspec.convert(arguments, NoArguments)
        cluster = self._cluster
        holder = cluster.state.controller_id
        return {
            "connect_string": self._connect_string,
            "brokers": {name: cluster.state.processes.get(name, "not started") for name in cluster.broker_names},
            "controller": None if holder is None else f"broker-{holder}",
            "members": list(cluster.member_names),
        }

    async def _alter_partition_reassignments(self, arguments: Mapping[str, Any]) -> Answer:
        targets = {
            _partition(name): None if replicas is None else tuple(map(BrokerId, replicas))
            for name, replicas in msgspec.convert(arguments, Reassignments).targets.items()
        }
        return _errors(await self._cluster.alter_partition_reassignments(targets))

    async def _list_partition_reassignments(self, arguments: Mapping[str, Any]) -> Answer:
        msgspec.convert(arguments, NoArguments)
        under_way = await self._cluster.list_partition_reassignments()
        return {"reassignments": {str(partition): asdict(assignment) for partition, assignment in under_way.items()}}

    async def _elect_leaders(self, arguments: Mapping[str, Any]) -> Answer:
        wanted = msgspec.convert(arguments, Elections)
        partitions = None if wanted.partitions is None else tuple(map(_partition, wanted.partitions))
        return _errors(await self._cluster.elect_leaders(wanted.election_type, partitions))


def _partition(text: str) -> TopicPartition:
    """Read orders-0; a topic's name may have hyphens of its own. Raises: DeniedError."""
    topic, _, number = text.rpartition("-")
    if not topic or not number.isdecimal() or not number.isascii():
        raise DeniedError(f"{text!r} is no partition; write one as orders-0", makes_no_sense=True)
    return TopicPartition(topic, int(number))


def _errors(errors: Mapping[TopicPartition, ErrorCode]) -> Answer:
    return {"errors": {str(partition): error.name for partition, error in errors.items()}}
