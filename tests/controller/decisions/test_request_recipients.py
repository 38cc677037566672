"""Recipients and content of requests: the table of docs/kafka/requests.md 2.3. The live brokers: synthetic_cluster.py.

Three of its rows have no recipients: a new replica that goes online, one whose deletion has ended, a topic znode removed by
hand. No request is added for them, so the tests of the state machines cover them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from kcsim.controller.decisions.election import (
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
)
from kcsim.controller.decisions.request_batch import (
    ClusterView,
    RequestBatch,
    add_leader_and_isr,
    add_stop_replica,
    flush,
)
from kcsim.controller.decisions.request_recipients import (
    add_epoch_bump,
    add_metadata_for_all,
    add_metadata_for_existing,
    add_metadata_for_started,
    add_replicas_gone_offline,
    add_replicas_to_serve,
)
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
from tests.controller.synthetic_cluster import (
    BOOKS,
    CLUSTER,
    DELETED,
    DELETED_NEW,
    EMPTY,
    LIVE,
    MOVING,
    NEW,
    ONLINE,
    ORDERS,
    Ids,
    ids,
    request_lines,
    state,
    with_leadership,
)


class Row(NamedTuple):
    """A row of the table in 2.3: the situation, the requests added because of it, and the requests sent."""

    situation: str
    added: Callable[[], RequestBatch]
    sent: list[str]
    view: ClusterView = CLUSTER


def elected(tp: TopicPartition, recipients: Ids, is_new: bool = False, view: ClusterView = CLUSTER) -> RequestBatch:
    return add_leader_and_isr(EMPTY, view, {tp: recipients}, is_new)


MOVING_LATER = replace(CLUSTER, assignments={**CLUSTER.assignments, MOVING: ReplicaAssignment(ids(3, 4, 5))})
CREATED = with_leadership(NEW, state(2, 2, 3, epoch=0))
ORDERS_KEPT, MOVING_KEPT = CLUSTER.leadership[ORDERS].leader_and_isr, state(1, 1, 2, 3).leader_and_isr
ORDERS_ASSIGNED = CLUSTER.assignments[ORDERS].replicas

TABLE = [
    Row(
        "new partition",
        lambda: elected(NEW, elect_for_new_partition(ids(2, 3, 5), ONLINE).recipients, is_new=True, view=CREATED),
        ["LAI 2 3: new-0+", "UM 1 2 3 4: new-0"],
        CREATED,
    ),
    Row(
        "offline election",
        lambda: elected(ORDERS, elect_offline(ORDERS_ASSIGNED, ORDERS_KEPT, ONLINE, False).recipients),
        ["LAI 1 2: orders-0", "UM 1 2 3 4: orders-0"],
    ),
    Row(
        "offline election, unclean",
        lambda: elected(BOOKS, elect_offline(ids(6, 3), CLUSTER.leadership[BOOKS].leader_and_isr, ONLINE, True).recipients),
        ["LAI 3: books-0", "UM 1 2 3 4: books-0"],
    ),
    Row(
        "preferred election",
        lambda: elected(ORDERS, elect_preferred(ORDERS_ASSIGNED, ORDERS_KEPT, ONLINE).recipients),
        ["LAI 1 2 4: orders-0", "UM 1 2 3 4: orders-0"],
    ),
    Row(
        "controlled shutdown, led: the leaving broker hears of it too",
        lambda: elected(
            ORDERS, elect_at_controlled_shutdown(ORDERS_ASSIGNED, ORDERS_KEPT, LIVE, CLUSTER.shutting_down).recipients
        ),
        ["LAI 1 2 4: orders-0", "UM 1 2 3 4: orders-0"],
    ),
    Row(
        "controlled shutdown, followed",
        lambda: add_stop_replica(EMPTY, CLUSTER, BrokerId(4), [ORDERS], delete=False),
        ["SR 4: orders-0"],
    ),
    Row(
        "replica -> Offline",
        lambda: add_replicas_gone_offline(
            add_stop_replica(EMPTY, CLUSTER, BrokerId(4), [ORDERS], delete=False), CLUSTER, BrokerId(4), [ORDERS]
        ),
        ["LAI 1 2: orders-0", "UM 1 2 3 4: orders-0", "SR 4: orders-0"],
    ),
    Row(
        "replica -> Offline, its broker dead",
        lambda: add_replicas_gone_offline(
            add_stop_replica(EMPTY, CLUSTER, BrokerId(5), [ORDERS], delete=False), CLUSTER, BrokerId(5), [ORDERS]
        ),
        ["LAI 1 2 4: orders-0", "UM 1 2 3 4: orders-0"],
    ),
    Row(
        "replica -> Offline, topic queued",
        lambda: add_replicas_gone_offline(
            add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [DELETED], delete=False), CLUSTER, BrokerId(2), [DELETED]
        ),
        ["SR 2: deleted-0"],
    ),
    Row(
        "replica -> Offline, no leadership cached",
        lambda: add_replicas_gone_offline(
            add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [NEW], delete=False), CLUSTER, BrokerId(2), [NEW]
        ),
        ["UM 1 2 3 4: -", "SR 2: new-0"],
    ),
    Row(
        "replica -> Offline, no leadership cached, topic queued",
        lambda: add_replicas_gone_offline(
            add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [DELETED_NEW], delete=False), CLUSTER, BrokerId(2), [DELETED_NEW]
        ),
        ["UM 1 2 3 4: -", "SR 2: deleted-1"],
    ),
    Row(
        "replica -> Online from any state but New",
        lambda: add_replicas_to_serve(EMPTY, CLUSTER, {ORDERS: ids(2), MOVING: ids(2)}, is_new=False),
        ["LAI 2: orders-0 moving-0", "UM 1 2 3 4: orders-0 moving-0"],
    ),
    Row(
        "replica -> Online, no leadership cached",
        lambda: add_replicas_to_serve(EMPTY, CLUSTER, {NEW: ids(2)}, is_new=False),
        [],
    ),
    Row(
        "replica -> Online, topic queued (a dead replica's broker returns, section 15)",
        lambda: add_replicas_to_serve(EMPTY, CLUSTER, {DELETED: ids(1)}, is_new=False),
        ["LAI 1: deleted-0", "UM 1 2 3 4: deleted-0!"],
    ),
    Row(
        "replica -> New (reassignment A2)",
        lambda: add_replicas_to_serve(EMPTY, CLUSTER, {MOVING: ids(3)}, is_new=True),
        ["LAI 3: moving-0+", "UM 1 2 3 4: moving-0"],
    ),
    Row(
        "replica -> New, its broker dead",
        lambda: add_replicas_to_serve(EMPTY, CLUSTER, {MOVING: ids(5)}, is_new=True),
        ["UM 1 2 3 4: moving-0"],
    ),
    Row(
        "replica -> DeletionStarted",
        lambda: add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [DELETED], delete=True),
        ["SR 2: deleted-0!"],
    ),
    Row(
        "epoch bump, reassignment step A1",
        lambda: add_epoch_bump(EMPTY, CLUSTER, MOVING),
        ["LAI 1 2: moving-0", "LAI 3 4: moving-0+", "UM 1 2 3 4: moving-0"],
    ),
    Row(
        "epoch bump, step B3 (leader stays)",
        lambda: add_epoch_bump(EMPTY, MOVING_LATER, MOVING),
        ["LAI 3 4: moving-0", "UM 1 2 3 4: moving-0"],
        MOVING_LATER,
    ),
    Row(
        "reassignment election, step B3",
        lambda: elected(MOVING, elect_for_reassignment(ids(3, 4, 5), MOVING_KEPT, ONLINE).recipients, view=MOVING_LATER),
        ["LAI 3 4: moving-0", "UM 1 2 3 4: moving-0"],
        MOVING_LATER,
    ),
    Row(
        "broker start, first flush",
        lambda: add_metadata_for_existing(EMPTY, CLUSTER, ids(3)),
        ["UM 1 2 4: -"],
    ),
    Row(
        "broker start, second flush",
        lambda: add_metadata_for_started(EMPTY, CLUSTER, ids(3)),
        ["UM 3: orders-0 books-0 moving-0"],
    ),
    Row(
        "broker death without leaderless tps, endpoint change, failover start",
        lambda: add_metadata_for_all(EMPTY, CLUSTER),
        ["UM 1 2 3 4: -"],
    ),
    Row(
        "ISR notification, end of reassignment",
        lambda: add_metadata_for_all(EMPTY, CLUSTER, [ORDERS, MOVING]),
        ["UM 1 2 3 4: orders-0 moving-0"],
    ),
    Row(
        "topic deletion start and each restart",
        lambda: add_metadata_for_all(EMPTY, CLUSTER, [DELETED, DELETED_NEW]),
        ["UM 1 2 3 4: deleted-0!"],
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=[row.situation for row in TABLE])
def test_the_reference_table_of_who_gets_what_holds(row: Row) -> None:
    """2.3, row by row, with the rows' remarks; dead recipients have been dropped."""
    assert request_lines(flush(row.added(), row.view)) == row.sent


def test_a_failed_election_notifies_nobody() -> None:
    """Below 2.3: no request is added for its partition; a preferred leader outside the ISR cannot be elected."""
    failed = elect_preferred(ids(3, 1), CLUSTER.leadership[ORDERS].leader_and_isr, ONLINE)
    assert (failed.elected, failed.recipients) == (None, ())


def test_replicas_of_a_moving_partition_that_leave_hear_of_the_first_bump_but_not_of_the_last() -> None:
    """A1 goes to the origin, which here are the removing replicas; at B3 they are no longer in the assignment."""
    first, last = add_epoch_bump(EMPTY, CLUSTER, MOVING), add_epoch_bump(EMPTY, MOVING_LATER, MOVING)
    assert sorted(first.leader_and_isr) == [1, 2, 3, 4, 5]
    assert sorted(last.leader_and_isr) == [3, 4, 5]
