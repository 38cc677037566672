"""The two state machines of one controller, which most handlers drive together."""

from dataclasses import dataclass

from kcsim.controller.state_machines.partition_state_machine import PartitionStateMachine
from kcsim.controller.state_machines.replica_state_machine import ReplicaStateMachine


@dataclass(frozen=True, slots=True)
class StateMachines:
    """The state machine of partitions and the state machine of replicas, over the same context."""

    partitions: PartitionStateMachine
    replicas: ReplicaStateMachine
