"""Work of the controller that is interrupted by a fault at each of its writes.

Broker 1 is the controller, unless the failover itself is tested; like the others it hosts replicas. Deletion during a
reassignment is left out: Kafka does not complete it even without faults (docs/kafka/controller.md 8.6).
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import paths
from tests.brokers.cluster.crash_points import Goal, Work, until_quiet
from tests.brokers.cluster.environments import WITHIN_MS, until_ready

ORDERS = "orders"
BY_THREES = ((1, 2, 3), (2, 3, 4), (3, 4, 1))
"""Replicas of partitions 0, 1 and 2 of orders."""
GROWN = (*BY_THREES, (4, 1, 2), (1, 3, 4))
MOVED = TopicPartition(ORDERS, 0)
NOTIFICATIONS = ("/isr_change_notification/isr_change_", "/log_dir_event_notification/log_dir_event_")
CONTENTS = ('{"version":1,"partitions":[]}', '{"version":1,"broker":3,"event":1}')


# --- clusters ------------------------------------------------------------------------------------------------------------


async def elect_broker_1(cluster: Cluster) -> None:
    """Start every broker, broker 1 before the others."""
    first, *others = cluster.broker_names
    await cluster.start([first])
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    await cluster.start(others)


async def with_orders(cluster: Cluster) -> None:
    await elect_broker_1(cluster)
    await create_orders(cluster)


async def with_a_broker_dead(cluster: Cluster) -> None:
    await with_orders(cluster)
    await until_quiet(cluster)
    await cluster.kill("broker-4")


async def with_orders_1_astray(cluster: Cluster) -> None:
    """Make broker 3 lead orders-1 by bouncing broker 2, its preferred leader."""
    await with_orders(cluster)
    await bounce(cluster, "broker-2")


async def with_several_topics(cluster: Cluster) -> None:
    """Make broker 3 lead small-0 by bouncing broker 4, its preferred leader."""
    await with_orders(cluster)
    await create(cluster, "old", [(3, 4), (4, 3)])
    await create(cluster, "small", [(4, 3)])
    await bounce(cluster, "broker-4")


async def half_moved(cluster: Cluster) -> None:
    """Leave orders-0 in a reassignment to brokers 4, which joins its ISR, and 5, which is dead."""
    await with_orders(cluster)
    await until_quiet(cluster)
    await cluster.kill("broker-5")
    await until_quiet(cluster)
    await move(cluster, 4, 5)


async def bounce(cluster: Cluster, name: str) -> None:
    """Kill a broker, wait until all others have noticed, and start it again."""
    await until_quiet(cluster)
    await cluster.kill(name)
    await until_quiet(cluster)
    await cluster.start([name])


# --- actions -------------------------------------------------------------------------------------------------------------


async def create(cluster: Cluster, topic: str, replicas: Sequence[Sequence[int]]) -> None:
    await cluster.topics.create(NewTopic(topic, assignment=_brokers(replicas)), random.Random(0))


async def create_orders(cluster: Cluster) -> None:
    await create(cluster, ORDERS, BY_THREES)


async def add_two_partitions(cluster: Cluster) -> None:
    await cluster.topics.add_partitions(ORDERS, len(GROWN), _brokers(GROWN))


async def delete_orders(cluster: Cluster) -> None:
    await cluster.topics.delete(ORDERS)


async def move(cluster: Cluster, *target: int) -> None:
    await cluster.topics.reassign({MOVED: tuple(map(BrokerId, target))})


async def move_to_3_and_4(cluster: Cluster) -> None:
    await move(cluster, 3, 4)


async def add_replica_4(cluster: Cluster) -> None:
    await move(cluster, 1, 2, 3, 4)


async def cancel(cluster: Cluster) -> None:
    """Cancel the reassignment, if one is running, without waiting for an answer: a dead controller does not send one."""

    async def ask() -> None:
        with suppress(ClusterError):
            await cluster.alter_partition_reassignments({MOVED: None})

    if cluster.state.of_topics.reassigning():
        cluster.runtime.spawn("cancel", ask())


async def elect_preferred(cluster: Cluster) -> None:
    await cluster.topics.elect_preferred([TopicPartition(ORDERS, partition) for partition in range(len(BY_THREES))])


async def kill_2(cluster: Cluster) -> None:
    await cluster.kill("broker-2")


async def start_2(cluster: Cluster) -> None:
    await cluster.start(["broker-2"])


async def start_4(cluster: Cluster) -> None:
    await cluster.start(["broker-4"])


async def stop_2(cluster: Cluster) -> None:
    """Begin to stop broker 2 without waiting for the end, which takes long if the controller dies meanwhile."""

    async def stop() -> None:
        await cluster.stop("broker-2")

    cluster.runtime.spawn("stop", stop())


async def fail_a_disk_of_2(cluster: Cluster) -> None:
    """Fail the log directory of orders-1 on broker 2, its leader: the broker lives on; only a restart restores it."""
    await cluster.fail_log_dir("broker-2", [TopicPartition(ORDERS, 1)])


async def leave_everything_to_a_successor(cluster: Cluster) -> None:
    """Freeze the controller for good, kill a leader, and request many kinds of work before another broker takes over."""
    await cluster.pause("broker-1")
    for prefix, content in zip(NOTIFICATIONS, CONTENTS, strict=True):
        for _ in range(2):
            await cluster.znodes.create(prefix, content, sequential=True)
    await move_to_3_and_4(cluster)
    await cluster.topics.delete("old")
    await cluster.topics.elect_preferred([TopicPartition("small", 0)])
    await create(cluster, "new", [(3, 4)])
    await kill_2(cluster)


def _brokers(replicas: Sequence[Sequence[int]]) -> list[tuple[BrokerId, ...]]:
    return [tuple(map(BrokerId, brokers)) for brokers in replicas]


# --- goals ---------------------------------------------------------------------------------------------------------------


def hosted(wanted: Mapping[TopicPartition, Sequence[int]]) -> Goal:
    """Return a goal: each of these partitions has these replicas, and none of them is being added or removed."""

    def goal(cluster: Cluster) -> str | None:
        for tp, replicas in wanted.items():
            found = cluster.state.of_topics.assignment(tp)
            if found is None or found.is_being_reassigned or found.replicas != tuple(replicas):
                return f"{tp} has {found}, not {list(replicas)}"
        return None

    return goal


def topics_are(*wanted: str) -> Goal:
    def goal(cluster: Cluster) -> str | None:
        found = cluster.state.children(paths.BROKER_TOPICS)
        return None if found == sorted(wanted) else f"topics are {found}, not {sorted(wanted)}"

    return goal


def led(tp: TopicPartition, by: int) -> Goal:
    def goal(cluster: Cluster) -> str | None:
        leader = cluster.state.of_topics.leader(tp)
        return None if leader == by else f"{tp} is led by {leader}, not by {by}"

    return goal


def all_of(*goals: Goal) -> Goal:
    return lambda cluster: next((problem for goal in goals if (problem := goal(cluster)) is not None), None)


# --- the list of works ---------------------------------------------------------------------------------------------------

ORDERS_AS_THEY_WERE = hosted({TopicPartition(ORDERS, p): replicas for p, replicas in enumerate(BY_THREES)})
ORDERS_GROWN = hosted({TopicPartition(ORDERS, p): replicas for p, replicas in enumerate(GROWN)})

FAILOVER = Work(
    "failover that finds everything",
    with_several_topics,
    [leave_everything_to_a_successor],
    all_of(hosted({MOVED: (3, 4)}), topics_are(ORDERS, "small", "new")),
    victim=None,
    may_leave_strays=True,
)
TOPIC_CREATION = Work("topic creation", elect_broker_1, [create_orders], ORDERS_AS_THEY_WERE)
PARTITION_GROWTH = Work("partition growth", with_orders, [add_two_partitions], ORDERS_GROWN)
BROKER_FAILURE = Work("broker failure", with_orders, [kill_2], ORDERS_AS_THEY_WERE)
BROKER_START = Work("broker start", with_a_broker_dead, [start_4], ORDERS_AS_THEY_WERE)
CONTROLLED_SHUTDOWN = Work("controlled shutdown", with_orders, [stop_2], ORDERS_AS_THEY_WERE)
REASSIGNMENT = Work("reassignment", with_orders, [move_to_3_and_4], hosted({MOVED: (3, 4)}), may_leave_strays=True)
REASSIGNMENT_ADDING = Work("reassignment that only adds", with_orders, [add_replica_4], hosted({MOVED: (1, 2, 3, 4)}))
REASSIGNMENT_TO_THE_DEAD = Work(
    "reassignment to a dead broker that returns",
    with_a_broker_dead,
    [move_to_3_and_4, start_4],
    hosted({MOVED: (3, 4)}),
    may_leave_strays=True,
)
FOREIGNER_IN_THE_ISR = r"orders-0 has ISR \[[1-4, ]*4[1-4, ]*\](, but \[4\] are no replicas of it| of \[1, 2, 3\])$"
CANCELLED_REASSIGNMENT = Work(
    "cancelled reassignment",
    half_moved,
    [cancel, cancel],
    hosted({MOVED: (1, 2, 3)}),
    brokers=5,
    # The topic's znode no longer names broker 4, the ISR still does, and no znode makes the next controller remove it:
    # docs/kafka/controller.md 12.2, U1 to U3, and 5.1, which goes by the topic's znode.
    faults_of_kafka={
        "after write 1 to /brokers/topics/orders": FOREIGNER_IN_THE_ISR,
        "before write 1 to /brokers/topics/orders/partitions/0/state": FOREIGNER_IN_THE_ISR,
    },
)
LOG_DIR_FAILURE = Work("log directory failure", with_orders, [fail_a_disk_of_2, stop_2, start_2], ORDERS_AS_THEY_WERE)
TOPIC_DELETION = Work("topic deletion", with_orders, [delete_orders], topics_are())
TOPIC_DELETION_WAITING = Work(
    "topic deletion that waits for a dead broker", with_a_broker_dead, [delete_orders, start_4], topics_are()
)
PREFERRED_ELECTION = Work("preferred election", with_orders_1_astray, [elect_preferred], led(TopicPartition(ORDERS, 1), 2))

WORKS = (
    FAILOVER,
    TOPIC_CREATION,
    PARTITION_GROWTH,
    BROKER_FAILURE,
    BROKER_START,
    CONTROLLED_SHUTDOWN,
    REASSIGNMENT,
    REASSIGNMENT_ADDING,
    REASSIGNMENT_TO_THE_DEAD,
    CANCELLED_REASSIGNMENT,
    LOG_DIR_FAILURE,
    TOPIC_DELETION,
    TOPIC_DELETION_WAITING,
    PREFERRED_ELECTION,
)
