"""What the brokers of a cluster hold for true, compared with what ZooKeeper says. Looks into them, not into their events."""

from kcsim.brokers.broker import Broker
from kcsim.brokers.partition import Partition, Role
from kcsim.scenarios.cluster import Cluster
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import LeaderAndIsr, TopicPartition


def disagreements(cluster: Cluster) -> list[str]:
    """In which a running broker's replicas or metadata differ from the states of partitions, once all is quiet."""
    found: list[str] = []
    for name in cluster.broker_names:
        if cluster.state.processes.get(name) == "running":
            broker = cluster.broker(name)
            found += [f"{name}: {told}" for told in (*_of_replicas(broker, cluster), *_of_metadata(broker, cluster))]
    return found


def _of_replicas(broker: Broker, cluster: Cluster) -> list[str]:
    """A led partition is in its leader's and followers' hands as decided; one led by nobody may be anything but led.

    What is left on a broker that is no replica any more is not looked at: nobody tells it (invariants.no_stray_leads).
    """
    topics = cluster.state.of_topics
    found = []
    for tp, state in sorted(topics.states.items()):
        if tp.topic in topics.deleting:
            continue
        of = state.leader_and_isr
        assignment = topics.assignment(tp)
        hosts = assignment is not None and broker.broker_id in assignment.replicas
        partition = broker.replicas.hosted.get(tp)
        if hosts and of.leader is not None:
            found += _of_one(broker, tp, partition, of)
        elif hosts and partition is not None and partition.is_leader:
            found.append(f"leads {tp} in epoch {partition.leader_epoch}, which is led by nobody")
    return found


def _of_one(broker: Broker, tp: TopicPartition, partition: Partition | None, of: LeaderAndIsr) -> list[str]:
    if partition is None:
        return [f"knows nothing of {tp}"]
    role = Role.LEADER if of.leader == broker.broker_id else Role.FOLLOWER
    wanted: list[tuple[str, object, object]] = [
        ("role", role, partition.role),
        ("leader", of.leader, partition.leader),
        ("leader epoch", of.leader_epoch, partition.leader_epoch),
    ]
    if role is Role.LEADER:
        wanted += [
            ("version of the state", of.zk_version, partition.zk_version),
            ("ISR", sorted(of.isr), sorted(partition.isr)),
        ]
    return [f"{tp} has {what} {is_so}, here {believed}" for what, is_so, believed in wanted if is_so != believed]


def _of_metadata(broker: Broker, cluster: Cluster) -> list[str]:
    """Clients are told the leaders and ISRs of ZooKeeper, and that those brokers live who are registered."""
    state = cluster.state
    found = []
    if broker.metadata.live_broker_ids != sorted(state.registered):
        found.append(f"knows of brokers {broker.metadata.live_broker_ids}, registered are {sorted(state.registered)}")
    cached = broker.metadata.partitions
    for tp, known in sorted(state.of_topics.states.items()):
        if tp.topic in state.of_topics.deleting:
            continue
        of = known.leader_and_isr
        if tp not in cached:
            found.append(f"has no metadata of {tp}")
            continue
        told = cached[tp].state.leader_and_isr
        if (told.leader, told.leader_epoch, sorted(told.isr)) != (of.leader, of.leader_epoch, sorted(of.isr)):
            found.append(f"has metadata of {tp} {told}, its state is {of}")
    if f"broker-{broker.broker_id}" not in _ever_frozen(cluster):
        found += [f"has metadata of {tp}, which has no state" for tp in sorted(cached) if tp not in state.of_topics.states]
    return found


def _ever_frozen(cluster: Cluster) -> set[str]:
    """Who may have missed that a topic was deleted: nobody tells them later, and they do not start anew, as in Kafka."""
    states = (event for event in cluster.log.events if event.kind is EventKind.PROCESS_STATE)
    return {event.node for event in states if event.state == "paused"}
