"""Questions about leaders and the states of partitions and replicas."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar, assert_never

from kcsim.controller.decisions.election import (
    Election,
    controlled_shutdown_choice,
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    first_alive_in_isr,
    offline_choice,
    preferred_choice,
)
from kcsim.controller.decisions.isr_removal import without_replica
from kcsim.controller.decisions.leader_balance import Leadership, counts_as_imbalanced, imbalance_by_broker
from kcsim.controller.decisions.partition_states import PartitionMachineState, next_partition_state
from kcsim.controller.decisions.replica_states import ReplicaMachineState, next_replica_state
from kcsim.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, LeaderEpoch, ReplicaAssignment, ZkVersion
from tests.vectors.cases import Answer, Given

State = TypeVar("State", bound=StrEnum)


class Strategy(StrEnum):
    """Election strategies by their names in the files."""

    OFFLINE = "offline"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"


def elect(given: Given) -> Answer:
    """Return the choice only; `live` are the replicas that the algorithm may choose."""
    isr, live, shutting_down = _ids(given["isr"]), _ids(given["live"]), _ids(given.get("shutting_down", ()))
    strategy = given.one_of("strategy", Strategy)
    match strategy:
        case Strategy.OFFLINE:
            leader, unclean = offline_choice(_ids(given["assignment"]), isr, live, given.get("unclean_enabled", False))
            return {"leader": leader, "unclean": unclean}
        case Strategy.REASSIGN:
            return {"leader": first_alive_in_isr(_ids(given["target"]), isr, live)}
        case Strategy.PREFERRED:
            return {"leader": preferred_choice(_ids(given["assignment"]), isr, live)}
        case Strategy.CONTROLLED_SHUTDOWN:
            return {"leader": controlled_shutdown_choice(_ids(given["assignment"]), isr, live, shutting_down)}
        case _:
            assert_never(strategy)


def state_change(given: Given) -> Answer:
    """Return the choice and its consequences; `live` includes the replicas that are shutting down."""
    stored = _stored(given)
    election = _election(given, stored)
    if election.elected is None:
        return {"elected": False} | _leader_and_isr(stored)
    return {"elected": True} | _leader_and_isr(election.elected) | {"notified": list(election.recipients)}


def _election(given: Given, stored: LeaderAndIsr) -> Election:
    assignment, live, shutting_down = _ids(given["assignment"]), _ids(given["live"]), _ids(given.get("shutting_down", ()))
    online = set(live) - set(shutting_down)
    strategy = given.one_of("strategy", Strategy)
    match strategy:
        case Strategy.OFFLINE:
            return elect_offline(assignment, stored, online, given.get("unclean_enabled", False))
        case Strategy.REASSIGN:
            return elect_for_reassignment(_ids(given["target"]), stored, online)
        case Strategy.PREFERRED:
            return elect_preferred(assignment, stored, online)
        case Strategy.CONTROLLED_SHUTDOWN:
            return elect_at_controlled_shutdown(assignment, stored, live, shutting_down)
        case _:
            assert_never(strategy)


def initialize(given: Given) -> Answer:
    election = elect_for_new_partition(_ids(given["assignment"]), _ids(given["live"]))
    if election.elected is None:
        return {"elected": False}
    return {"elected": True} | _leader_and_isr(election.elected) | {"notified": list(election.recipients)}


def remove_from_isr(given: Given) -> Answer:
    stored = _stored(given)
    changed = without_replica(stored, BrokerId(given["replica"]))
    return {"changed": changed is not None} | _leader_and_isr(changed or stored)


def partition_transition(given: Given) -> Answer:
    state, target = given.one_of("from", PartitionMachineState), given.one_of("to", PartitionMachineState)
    return _moved(state, next_partition_state(state, target))


def replica_transition(given: Given) -> Answer:
    state, target = given.one_of("from", ReplicaMachineState), given.one_of("to", ReplicaMachineState)
    return _moved(state, next_replica_state(state, target))


def preferred_imbalance(given: Given) -> Answer:
    return {"count": sum(map(counts_as_imbalanced, _leaderships(given)))}


def auto_rebalance(given: Given) -> Answer:
    found = imbalance_by_broker(_leaderships(given))
    percentage = given["imbalance_percentage"]
    return {
        "brokers": {
            str(broker): {"imbalanced": of.imbalanced, "total": of.total, "trigger": of.exceeds(percentage)}
            for broker, of in found.items()
        }
    }


def _ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def _leader(number: int | None) -> BrokerId | None:
    return None if number in (None, NO_LEADER) else BrokerId(number)


def _stored(given: Given) -> LeaderAndIsr:
    return LeaderAndIsr(_leader(given["leader"]), LeaderEpoch(given["leader_epoch"]), _ids(given["isr"]), ZkVersion(0))


def _leader_and_isr(state: LeaderAndIsr) -> Answer:
    leader = NO_LEADER if state.leader is None else state.leader
    return {"leader": leader, "isr": list(state.isr), "leader_epoch": state.leader_epoch}


def _moved(state: State, after: State | None) -> Answer:
    return {"valid": after is not None, "state_after": str(state if after is None else after)}


def _leaderships(given: Given) -> list[Leadership]:
    """Return the leaderships; `leader` null: the partition's leadership is unknown; `deleting`: its topic is left out."""
    return [
        Leadership(
            ReplicaAssignment(_ids(of["assignment"])),
            None if of["leader"] is None else LeaderAndIsr(_leader(of["leader"]), LeaderEpoch(0), (), ZkVersion(0)),
        )
        for of in given["partitions"]
        if not of.get("deleting")
    ]
