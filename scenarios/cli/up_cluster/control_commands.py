"""The verbs of the control channel: requests from another terminal, executed on a running Cluster.

The steps of a scenario that have a command (engine/steps/) are verbs here. Actions on a node (kill, start, …) take
{"target": …}: broker-N, controller, or leader-of, preferred-of or follower-of TOPIC-PARTITION; kill, start, pause and
resume also take member-N, a server of ZooKeeper. The answer is {"target": the resolved node, "seq": of the Fault or
AdminAct, "observed": [sentences]}: what was then observed, which may differ from what was intended.

Actions on the network (partition, heal, …) take {"target": …} as well: one side, `and`, the other side. A
side is a node as above, several nodes separated by commas, or all. Without a second side, it is all other nodes. The answer
has the same form.

The other verbs return the status, or are requests to the controller for which Kafka has no znode:

    status                         {} -> {"connect_string", "brokers": {name: state}, "controller": name or null, "members"}
    alter-partition-reassignments  {"targets": {"orders-0": [3, 1, 2], or null to cancel}}
                                   -> {"errors": {"orders-0": "NONE"}}
    list-partition-reassignments   {}
                                   -> {"reassignments": {"orders-0": {"replicas", "adding_replicas", "removing_replicas"}}}
    elect-leaders                  {"election_type": "PREFERRED" or "UNCLEAN", "partitions": ["orders-0"], or null for all}
                                   -> {"errors": {"orders-0": "ELECTION_NOT_NEEDED"}, "messages": {"orders-0": "Leader …"},
                                       "release": "2.8"}

Every request is answered or refused with a DeniedError, whatever was sent: no request can stop the cluster's process.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import msgspec

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.scenario_cluster import ControlledCluster
from kcsim.brokers.network.link_conditions import CLIENT, Links, Side, is_client
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import SCENARIO, ClusterError
from kcsim.scenarios.cli.up_cluster.control import DeniedError
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.engine.steps.brokers import SERVER_ACTIONS
from kcsim.scenarios.engine.steps.registry import ALL_SPECS
from kcsim.scenarios.engine.steps.step_spec import BrokerAction, BrokerCommand, LinksAction, LinksCommand
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.value_types import ALL, CONTROLLER, ROLES
from kcsim.scenarios.views.narration.event_description import action_text
from kcsim.scenarios.views.narration.story_words import plural
from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster
from kcsim.scenarios.views.terminal.cluster_text import cluster_json, cluster_lines
from kcsim.text import comma_separated, did_you_mean, suggestion
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.servers.errors import ServerError

RECONNECT_WITHIN_MS = 10_000
"""How long `reconnect` waits for the connection that it has made possible."""

OF_CLIENTS = ("producer-", "consumer-", CLIENT)
AND = "and"
"""The word between the two sides of a network's links."""

CommandAnswer = Mapping[str, Any]
RECONNECT = "reconnect"
NODE_COMMANDS: Mapping[str, BrokerAction] = MappingProxyType(
    {spec.verb: spec.command.act for spec in ALL_SPECS if isinstance(spec.command, BrokerCommand)}
)
"""Verb of a step -> its action on a broker."""
LINKS_COMMANDS: Mapping[str, LinksAction] = MappingProxyType(
    {spec.verb: spec.command.act for spec in ALL_SPECS if isinstance(spec.command, LinksCommand)}
)
"""Verb of a step -> its action on links."""


class TargetArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of an action on a node or on the network."""

    target: str


class SnapshotArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of snapshot: as JSON, or as lines of text, of which `everything` has those of all partitions."""

    as_json: bool = False
    everything: bool = False


class StepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of step: steps of the scenario language, each as text."""

    steps: tuple[str, ...]


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a verb that takes none."""


class ReassignmentArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of alter-partition-reassignments."""

    targets: dict[str, tuple[int, ...] | None]


class ElectLeadersArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of elect-leaders."""

    election_type: ElectionType
    partitions: tuple[str, ...] | None = None


class ControlCommands:
    """The verbs, on one cluster.

    Args:
        connect_string: of the cluster's ZooKeeper.
        narrate: returns the narration of an event; None if it has none.
        followed: the cluster as its events show it.
        steps: executes steps of the scenario language.
    """

    def __init__(
        self,
        cluster: ControlledCluster,
        connect_string: str,
        narrate: Callable[[Event], str | None],
        followed: FollowedCluster,
        steps: SingleSteps,
    ) -> None:
        self._cluster = cluster
        self._connect_string = connect_string
        self._narrate = narrate
        self._followed = followed
        self._steps = steps
        self._on_the_controller: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[CommandAnswer]]] = MappingProxyType(
            {
                "status": self._status,
                "snapshot": self._snapshot,
                "step": self._step,
                "alter-partition-reassignments": self._alter_partition_reassignments,
                "list-partition-reassignments": self._list_partition_reassignments,
                "elect-leaders": self._elect_leaders,
            }
        )

    async def answer(self, verb: str, arguments: Mapping[str, Any]) -> CommandAnswer:
        """Execute a verb, and return its result. Raises: DeniedError."""
        try:
            if verb in self._on_the_controller:
                return await self._on_the_controller[verb](arguments)
            if (command := NODE_COMMANDS.get(verb)) is not None:
                return await self._on_a_node(verb, command, msgspec.convert(arguments, TargetArguments).target)
            if (on_links := LINKS_COMMANDS.get(verb)) is not None:
                return self._on_the_network(on_links, msgspec.convert(arguments, TargetArguments).target)
        except msgspec.ValidationError as error:
            raise DeniedError(f"{verb}: {error}", invalid_request=True) from None
        except (ClusterError, ServerError, TimedOutError) as error:
            raise DeniedError(str(error), invalid_request=False) from None
        known = (*NODE_COMMANDS, *LINKS_COMMANDS, *self._on_the_controller)
        raise DeniedError(
            f"unknown verb {verb!r}{did_you_mean(verb, known) or f'; known are {comma_separated(known)}'}", True
        )

    # --- on a node

    async def _on_a_node(self, verb: str, act: BrokerAction, target: str) -> CommandAnswer:
        node = self._node(target)
        if node in self._cluster.member_names:
            if verb not in SERVER_ACTIONS:
                raise DeniedError(
                    f"{verb} is done to brokers; to servers of ZooKeeper: {comma_separated(SERVER_ACTIONS)}", True
                )
            seq = await SERVER_ACTIONS[verb](self._cluster.servers, node)
        else:
            seq = await act(self._cluster, node)
            if verb == RECONNECT:
                await self._wait_until_connected(node)
        return {"target": node, "seq": seq, "observed": self._observed(seq, node)}

    def _node(self, target: str) -> str:
        """Return the node that a target denotes at this moment. Raises: DeniedError, ClusterError."""
        cluster = self._cluster
        if target in (*cluster.broker_names, *cluster.member_names):
            return target
        if target == CONTROLLER:
            holder = cluster.state.controller_id
            if holder is None:
                raise ClusterError("no broker is the controller now")
            return f"broker-{holder}"
        role, of, partition = target.partition("-of ")
        if of and role in ROLES:
            return self._in_role(role, _partition(partition.strip()))
        known = (*cluster.broker_names, CONTROLLER, *cluster.member_names)
        hint = (
            self._role_meant(target)
            or did_you_mean(target, known)
            or f"; there are {comma_separated(known)}, and {' or '.join(ROLES)}-of TOPIC-PARTITION"
        )
        raise DeniedError(f"unknown target {target!r}{hint}", invalid_request=True)

    def _role_meant(self, target: str) -> str:
        """Return a hint for a partition without a role, or a role without its partition."""
        partitions = list(map(str, self._cluster.state.of_topics.partitions()))
        if target in ROLES and partitions:
            return suggestion(f"{target}-of {partitions[0]}")
        return suggestion(f"leader-of {target}") if target in partitions else ""

    def _in_role(self, role: str, partition: TopicPartition) -> str:
        topics = self._cluster.state.of_topics
        if topics.assignment(partition) is None:
            raise DeniedError(f"there is no partition {partition}", invalid_request=True)
        broker = topics.broker_in_role(role, partition)
        if broker is None:
            raise ClusterError(f"{partition} has no {role} now")
        return f"broker-{broker}"

    async def _wait_until_connected(self, name: str) -> None:
        def seen() -> str | None:
            state = self._session_state(name)
            return f"the session of {name} is {state}" if state == "suspended" else None

        await self._cluster.wait_until(seen, RECONNECT_WITHIN_MS)

    def _session_state(self, name: str) -> str | None:
        events = reversed(self._cluster.log.events)
        return next((e.state for e in events if e.kind is EventKind.SESSION_STATE and e.node == name), None)

    def _observed(self, seq: int, node: str) -> list[str]:
        """Return the confirmations of a fault; if there are none, the narration of its node's events since the action."""
        after = self._cluster.log.events[seq + 1 :]
        confirmed = [e.detail or "" for e in after if e.kind is EventKind.FAULT_CONFIRMED and e.cause == seq]
        if confirmed:
            return confirmed
        return [sentence for e in after if e.node == node and (sentence := self._narrate(e)) is not None]

    # --- on the network

    def _on_the_network(self, act: LinksAction, target: str) -> CommandAnswer:
        one, _, other = target.partition(f" {AND} ")
        links = Links(self._side(one), self._side(other or ALL), both_ways=True)
        faults = self._cluster.network_faults
        assert faults is not None, "a cluster that is up has a network with faults"
        seq = act(faults, links)
        done = action_text(self._cluster.log.events[seq])
        return {"target": str(links), "seq": seq, "observed": self._observed(seq, "") or [f"an operator {done}"]}

    def _side(self, text: str) -> Side:
        if text.strip() == ALL:
            return None
        names = (name.strip() for name in text.split(","))
        nodes = frozenset(name if is_client(name) else self._node(name) for name in names)
        if servers := nodes.intersection(self._cluster.member_names):
            raise DeniedError(
                f"{comma_separated(sorted(servers))}: the network is between brokers; of servers, pause or kill one", True
            )
        return nodes

    # --- the controller's API

    async def _status(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        msgspec.convert(arguments, NoArguments)
        cluster = self._cluster
        holder = cluster.state.controller_id
        return {
            "connect_string": self._connect_string,
            "brokers": {name: cluster.state.processes.get(name, "not started") for name in cluster.broker_names},
            "controller": None if holder is None else f"broker-{holder}",
            "members": list(cluster.member_names),
        }

    async def _snapshot(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        wanted = msgspec.convert(arguments, SnapshotArguments)
        snapshot = self._followed.snapshot()
        up_ms = self._cluster.runtime.now_ms()
        records, clients = self.records(), self._cluster.client_connections
        answer = {
            "connect_string": self._connect_string,
            "bootstrap_servers": self._cluster.bootstrap_servers,
            "up_ms": up_ms,
        }
        if wanted.as_json:
            counts = None if records is None else asdict(records)
            return {**answer, **cluster_json(snapshot), "clients": dict(clients), "records": counts}
        lines = list(cluster_lines(snapshot, wanted.everything))
        if clients:
            lines += ["", f"Clients: {', '.join(_client_text(*client) for client in clients.items())}"]
        if records is not None:
            lines += ["", f"Records of producers: {records.in_words()}"]
        return {**answer, "lines": lines}

    def records(self) -> RecordCounts | None:
        """Return the fate of all records so far; None if no producer has made one."""
        counts = self._steps.workload.counts().values()
        return sum(counts, start=RecordCounts()) if counts else None

    async def _step(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        before = self._cluster.log.events[-1].seq
        try:
            await self._steps.do(msgspec.convert(arguments, StepArguments).steps)
        except ScenarioFileError as error:
            raise DeniedError(str(error), invalid_request=True) from None
        after = self._cluster.log.events[before + 1 :]
        own = {event.seq for event in after if event.node == SCENARIO}
        confirmed = {event.cause for event in after if event.kind is EventKind.FAULT_CONFIRMED}
        own -= confirmed  # the confirmation says it all
        seen = [e for e in after if e.node == SCENARIO or e.cause in own or e.node.startswith(OF_CLIENTS)]
        return {"observed": [text for event in seen if (text := self._seen_of_step(event)) is not None]}

    def _seen_of_step(self, event: Event) -> str | None:
        """Return a sentence on an event that shows what a step did; None if it has none."""
        if event.kind is EventKind.FAULT_CONFIRMED:
            return event.detail
        text = self._narrate(event)
        return text and (text if text.startswith(event.node) else f"{event.node} {text}")

    async def _alter_partition_reassignments(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        targets = {
            _partition(name): None if replicas is None else tuple(map(BrokerId, replicas))
            for name, replicas in msgspec.convert(arguments, ReassignmentArguments).targets.items()
        }
        return _errors(await self._cluster.alter_partition_reassignments(targets))

    async def _list_partition_reassignments(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        msgspec.convert(arguments, NoArguments)
        under_way = await self._cluster.list_partition_reassignments()
        return {"reassignments": {str(partition): asdict(assignment) for partition, assignment in under_way.items()}}

    async def _elect_leaders(self, arguments: Mapping[str, Any]) -> CommandAnswer:
        wanted = msgspec.convert(arguments, ElectLeadersArguments)
        partitions = None if wanted.partitions is None else tuple(map(_partition, wanted.partitions))
        results = await self._cluster.elect_leaders(wanted.election_type, partitions)
        messages = {str(partition): result.message for partition, result in results.items() if result.message is not None}
        errors = _errors({partition: result.error for partition, result in results.items()})
        return {**errors, "messages": messages, "release": self._cluster.release}


def _client_text(client_id: str, connections: int) -> str:
    return f"{client_id or 'without an id'} ({plural(connections, 'connection')})"


def _partition(text: str) -> TopicPartition:
    """Read a partition such as orders-0; a topic's name may contain hyphens. Raises: DeniedError."""
    topic, _, number = text.rpartition("-")
    if not topic or not number.isdecimal() or not number.isascii():
        raise DeniedError(f"{text!r} is no partition; write one as orders-0", invalid_request=True)
    return TopicPartition(topic, int(number))


def _errors(errors: Mapping[TopicPartition, ErrorCode]) -> CommandAnswer:
    return {"errors": {str(partition): error.name for partition, error in errors.items()}}
