"""The state machines that can be drawn, each read from the table that the code decides by."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

import networkx as nx

from kcsim.brokers.cluster.processes.broker_process_states import BROKER_PROCESS_TRANSITIONS, BrokerProcessState
from kcsim.brokers.groups.group_metadata import ENTERED_FROM, GroupState
from kcsim.brokers.network.process_states import PROCESS_TRANSITIONS, ProcessState
from kcsim.controller.decisions.partition_states import PARTITION_PREVIOUS_STATES, PartitionMachineState
from kcsim.controller.decisions.replica_states import REPLICA_PREVIOUS_STATES, ReplicaMachineState
from kcsim.text import comma_separated, did_you_mean
from kcsim.zk.operations import SessionState
from kcsim.zk.session_states import SESSION_TRANSITIONS

S = TypeVar("S", bound=Enum)
Input = TypeVar("Input", bound=Enum)


@dataclass(frozen=True, slots=True)
class StateMachine:
    """States, and the transitions between them.

    Attributes:
        initial: the initial state.
        states: all states, in the order of their definition.
        transitions: (from, to) -> its trigger, empty if the table does not name one; in the order of the states.
        description: a sentence for readers who do not see the picture.
    """

    name: str
    title: str
    description: str
    initial: str
    states: tuple[str, ...]
    transitions: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def graph(self) -> nx.DiGraph:
        """Return the same as a graph, with nodes and edges in the same order."""
        graph = nx.DiGraph()
        graph.add_nodes_from(self.states)
        graph.add_edges_from(self.transitions)
        return graph

    def check_states(self, wanted: Collection[str]) -> None:
        """Check that all names are states of this machine. Raises: UnknownMachineError."""
        for state in wanted:
            if state not in self.states:
                hint = did_you_mean(state, self.states) or f"; there are {comma_separated(self.states)}"
                raise UnknownMachineError(f"{self.name} has no state {state!r}{hint}")


class UnknownMachineError(ValueError):
    """There is no such diagram, or no such state in it. The message lists the existing ones."""


def machine(name: str) -> StateMachine:
    """Return the state machine of this name. Raises: UnknownMachineError."""
    found = MACHINES.get(name)
    if found is None:
        raise UnknownMachineError(
            f"no diagram {name!r}{did_you_mean(name, MACHINES) or f'; there are {comma_separated(MACHINES)}'}"
        )
    return found


def _of_previous(previous: Mapping[S, frozenset[S]]) -> dict[tuple[str, str], str]:
    """Return the transitions of a table of valid previous states."""
    states: Sequence[S] = list(type(next(iter(previous))))
    return {
        (str(source.value), str(target.value)): ""
        for source in states
        for target in states
        if source in previous.get(target, frozenset())
    }


def _of_inputs(table: Mapping[tuple[S, Input], S]) -> dict[tuple[str, str], str]:
    """Return the transitions of a table of inputs that change the state, each with all inputs that cause it."""
    inputs: dict[tuple[str, str], list[str]] = {}
    for (source, given), target in table.items():
        if target is not source:
            inputs.setdefault((str(source.value), str(target.value)), []).append(str(given.value))
    return {between: " or ".join(given) for between, given in inputs.items()}


def _names(states: type[Enum]) -> tuple[str, ...]:
    return tuple(str(state.value) for state in states)


MACHINES: Mapping[str, StateMachine] = MappingProxyType(
    {
        made.name: made
        for made in (
            StateMachine(
                "partition-states",
                "States of a partition, as the controller has it",
                "A partition is new, then online or offline, and no longer exists after it was offline.",
                PartitionMachineState.NON_EXISTENT.value,
                _names(PartitionMachineState),
                _of_previous(PARTITION_PREVIOUS_STATES),
            ),
            StateMachine(
                "replica-states",
                "States of a replica, as the controller has it",
                "A replica is new, then online or offline; its deletion starts from offline, and succeeds or has to wait.",
                ReplicaMachineState.NON_EXISTENT.value,
                _names(ReplicaMachineState),
                _of_previous(REPLICA_PREVIOUS_STATES),
            ),
            StateMachine(
                "session-states",
                "States of a ZooKeeper session, as its client sees it",
                "A session is connected or suspended; then it comes back, or its client is notified that it has expired.",
                SessionState.CONNECTING.value,
                _names(SessionState),
                _of_inputs(SESSION_TRANSITIONS),
            ),
            StateMachine(
                "group-states",
                "States of a consumer group, as its coordinator has it",
                "An empty group prepares a rebalance, completes it and is stable, until the next; any may end as dead.",
                GroupState.EMPTY.value,
                _names(GroupState),
                _of_previous(ENTERED_FROM),
            ),
            StateMachine(
                "process-states",
                "States of a simulated process, a broker's or a client's",
                "A process runs, or is paused as by a long garbage collection; once it is dead, a start makes another one.",
                ProcessState.RUNNING.value,
                _names(ProcessState),
                _of_inputs(PROCESS_TRANSITIONS),
            ),
            StateMachine(
                "broker-process-states",
                "States of a broker's process in the system, as its cluster sees them",
                "A process, Kafka's or our own, stops orderly, is killed or ends by itself; then it can be started again.",
                BrokerProcessState.STOPPED.value,
                _names(BrokerProcessState),
                _of_inputs(BROKER_PROCESS_TRANSITIONS),
            ),
        )
    }
)
"""Name -> state machine."""
