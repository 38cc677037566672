"""What a replica that goes offline leaves behind: an ISR without it, and no leader if it led."""

from dataclasses import replace

from kcsim.zk.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch


def without_replica(stored: LeaderAndIsr, replica: BrokerId) -> LeaderAndIsr | None:
    """Take a replica out of the ISR, one leader epoch later.

    The only member stays, so that it is known who has the data; it does not go on leading. A list that was made by hand may
    name a replica twice: all its places go.

    Returns: what is to be written, still with the version that was read; None if the replica is not in the ISR: nothing is
        written then, whoever leads.

    Source: Kafka 2.8, ZkReplicaStateMachine.doRemoveReplicasFromIsr; reference state_machines.md 3.4 and 8.2.
    """
    if replica not in stored.isr:
        return None
    isr = stored.isr if len(stored.isr) == 1 else tuple(broker for broker in stored.isr if broker != replica)
    leader = None if stored.leader == replica else stored.leader
    return replace(stored, leader=leader, leader_epoch=LeaderEpoch(stored.leader_epoch + 1), isr=isr)
