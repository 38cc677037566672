"""The removal of an offline replica from the ISR; if the replica led, the partition has no leader afterwards."""

from dataclasses import replace

from kcsim.vocabulary import BrokerId, LeaderAndIsr, next_epoch


def without_replica(stored: LeaderAndIsr, replica: BrokerId) -> LeaderAndIsr | None:
    """Remove a replica from the ISR and raise the leader epoch.

    An only member stays in the ISR, so that it is known which replica has the data; it does not stay the leader. A list that
    was made by hand may name a replica twice: all its entries are removed.

    Returns: the state to be written, with the version that was read; None if the replica is not in the ISR. Nothing is
    written then, whichever broker leads.

    Source: Kafka 2.8, ZkReplicaStateMachine.doRemoveReplicasFromIsr; docs/kafka/state_machines.md 3.4 and 8.2.
    """
    if replica not in stored.isr:
        return None
    isr = stored.isr if len(stored.isr) == 1 else tuple(broker for broker in stored.isr if broker != replica)
    leader = None if stored.leader == replica else stored.leader
    return replace(stored, leader=leader, leader_epoch=next_epoch(stored.leader_epoch), isr=isr)
