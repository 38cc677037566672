"""Content of requests, and how a batch gathers and orders them. Source: docs/kafka/requests.md 2.1 and 2.2.

Recipients: test_request_recipients.py. The live brokers here: synthetic_cluster.py.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kcsim.controller.decisions.request_batch import (
    ClusterView,
    EndpointNotAvailableError,
    RequestBatch,
    UnsendableReplicaError,
    add_leader_and_isr,
    add_stop_replica,
    add_update_metadata,
    flush,
)
from kcsim.controller.decisions.request_recipients import add_metadata_for_all, add_replicas_gone_offline
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER_EPOCH,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LiveLeader,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    NoBrokerId,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)
from tests.controller.synthetic_cluster import (
    BOOKS,
    CLUSTER,
    DELETED,
    DELETED_NEW,
    EMPTY,
    LISTENER,
    LIVE,
    MOVING,
    NAMES,
    NEW,
    ORDERS,
    ids,
    registered,
    request_lines,
    state,
    with_leadership,
)

# --- content of a LeaderAndIsr ---------------------------------------------------------------------------------------------


def test_a_leader_and_isr_request_carries_the_cached_decision_under_the_epoch_of_its_sender() -> None:
    """Section 15: at a failover the first requests carry the stored controller epochs (4), but come from the new one (5)."""
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(2)})
    assert flush(batch, CLUSTER)[0] == (
        2,
        LeaderAndIsrRequest(
            controller_id=BrokerId(1),
            controller_epoch=ControllerEpoch(5),
            broker_epoch=BrokerEpoch(102),
            partitions={
                ORDERS: LeaderAndIsrPartitionState(
                    state(1, 1, 2, 4, epoch=7, controller_epoch=4), ReplicaAssignment(ids(1, 2, 4, 5)), is_new=False
                )
            },
            live_leaders=(LiveLeader(BrokerId(1), "localhost", 9093),),
        ),
    )


def test_adding_and_removing_replicas_are_sent_while_a_reassignment_runs() -> None:
    _, request = flush(add_leader_and_isr(EMPTY, CLUSTER, {MOVING: ids(1)}), CLUSTER)[0]
    assert isinstance(request, LeaderAndIsrRequest)
    assert request.partitions[MOVING].assignment == CLUSTER.assignments[MOVING]


def with_offline_dir(broker: int, *partitions: TopicPartition) -> ClusterView:
    return replace(CLUSTER, replicas_on_offline_dirs={BrokerId(broker): frozenset(partitions)})


def live_leaders(view: ClusterView, *partitions: TopicPartition) -> list[BrokerId]:
    _, request = flush(add_leader_and_isr(EMPTY, view, {tp: ids(3) for tp in partitions}), view)[0]
    assert isinstance(request, LeaderAndIsrRequest)
    return [leader.broker_id for leader in request.live_leaders]


def test_live_leaders_are_those_named_in_the_request_once_each_and_by_id() -> None:
    assert live_leaders(CLUSTER, DELETED, ORDERS, MOVING) == [1, 2]


def test_a_leader_that_is_shutting_down_is_among_the_live_ones_and_a_dead_one_or_none_is_not() -> None:
    view = replace(CLUSTER, leadership={ORDERS: state(4, 4), DELETED: state(5, 5), BOOKS: state(None, 6)})
    assert live_leaders(view, ORDERS, DELETED, BOOKS) == [4]


def test_a_live_leader_is_named_at_the_listener_of_the_brokers() -> None:
    """Kafka takes inter.broker.listener.name, whatever its position among the endpoints."""
    both = (LISTENER, Endpoint("REPLICATION", "PLAINTEXT", "inside", 9999))
    view = replace(
        CLUSTER,
        live_brokers={**CLUSTER.live_brokers, BrokerId(1): replace(registered(BrokerId(1)), endpoints=both)},
        inter_broker_listener="REPLICATION",
    )
    _, request = flush(add_leader_and_isr(EMPTY, view, {ORDERS: ids(2)}), view)[0]
    assert isinstance(request, LeaderAndIsrRequest)
    assert request.live_leaders == (LiveLeader(BrokerId(1), "inside", 9999),)


def test_a_leader_without_that_listener_makes_the_flush_fail_and_the_batch_stays() -> None:
    """2.2-4: an exception leaves the unsent requests in the batch; the message names the listeners that exist."""
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(2)})
    elsewhere = replace(CLUSTER, inter_broker_listener="REPLICATION")
    with pytest.raises(
        EndpointNotAvailableError, match="broker 1 has no endpoint of listener REPLICATION; it registered PLAINTEXT://"
    ):
        flush(batch, elsewhere)
    assert batch.unsent == "LeaderAndIsr"


def test_a_partition_without_leadership_cannot_be_led_or_followed() -> None:
    with pytest.raises(KeyError, match="new"):
        add_leader_and_isr(EMPTY, CLUSTER, {NEW: ids(2)})


def test_one_request_per_broker_holds_all_its_partitions() -> None:
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(1, 2)})
    batch = add_leader_and_isr(batch, CLUSTER, {MOVING: ids(2, 3)})
    assert request_lines(flush(batch, CLUSTER)) == [
        "LAI 1: orders-0",
        "LAI 2: orders-0 moving-0",
        "LAI 3: moving-0",
        "UM 1 2 3 4: orders-0 moving-0",
    ]


# --- content of an UpdateMetadata ------------------------------------------------------------------------------------------


def metadata(view: ClusterView, *partitions: TopicPartition) -> Mapping[TopicPartition, UpdateMetadataPartitionState]:
    return add_update_metadata(EMPTY, view, ids(1), partitions).update_metadata_partitions


def test_metadata_names_every_live_broker_whichever_broker_it_goes_to() -> None:
    """Section 1: liveBrokers are all live or shutting-down brokers, always complete; clients get endpoints and rack."""
    assert flush(add_update_metadata(EMPTY, CLUSTER, ids(3)), CLUSTER) == (
        (
            3,
            UpdateMetadataRequest(
                controller_id=BrokerId(1),
                controller_epoch=ControllerEpoch(5),
                broker_epoch=BrokerEpoch(103),
                partitions={},
                live_brokers=tuple(
                    UpdateMetadataBroker(b, (replace(LISTENER, port=9092 + b),), f"rack{b % 2}") for b in LIVE
                ),
            ),
        ),
    )


def test_offline_replicas_are_those_on_brokers_dead_or_shutting_down() -> None:
    """2.1: a broker that is shutting down (4) counts as offline though it is alive; 5 is dead."""
    assert metadata(CLUSTER, ORDERS) == {ORDERS: UpdateMetadataPartitionState(state(1, 1, 2, 4), ids(1, 2, 4, 5), ids(4, 5))}


def test_a_replica_in_a_failed_log_directory_is_offline_for_its_partition_only() -> None:
    """Section 15, log-dir-breaks: offlineReplicas names the broker for those partitions only."""
    known = metadata(with_offline_dir(1, ORDERS), ORDERS, MOVING)
    assert known[ORDERS].offline_replicas == ids(1, 4, 5)
    assert known[MOVING].offline_replicas == ids(4, 5)


def test_a_partition_of_a_topic_to_be_deleted_is_to_be_forgotten() -> None:
    """2.1: leader -2, leaderEpoch 0, zkVersion 0; ISR, replicas and the epoch of the last decision are kept."""
    forgotten = LeaderAndIsr(LEADER_DURING_DELETE, LeaderEpoch(0), ids(2, 1), ZkVersion(0))
    assert metadata(CLUSTER, DELETED) == {
        DELETED: UpdateMetadataPartitionState(PartitionState(forgotten, ControllerEpoch(4)), ids(1, 2, 5), ids(5))
    }


def test_only_the_metadata_of_a_topic_to_be_deleted_is_disguised() -> None:
    """A LeaderAndIsr of the topic carries what is cached (section 15: leader -1 to a returning broker, with UM(-2))."""
    batch = add_leader_and_isr(EMPTY, CLUSTER, {DELETED: ids(1)})
    assert batch.leader_and_isr[BrokerId(1)][DELETED].state == CLUSTER.leadership[DELETED]


def test_partitions_without_leadership_are_left_out() -> None:
    assert list(metadata(CLUSTER, NEW, ORDERS, DELETED_NEW)) == [ORDERS]


def test_every_broker_of_a_batch_gets_every_partition_of_it() -> None:
    """2.1: partitions and brokers of UpdateMetadata are batch-wide."""
    batch = add_update_metadata(EMPTY, CLUSTER, ids(1), [ORDERS])
    batch = add_update_metadata(batch, CLUSTER, ids(2), [MOVING])
    assert request_lines(flush(batch, CLUSTER)) == ["UM 1 2: orders-0 moving-0"]


# --- content of a StopReplica ----------------------------------------------------------------------------------------------


def stop_epoch(tp: TopicPartition) -> LeaderEpoch:
    return add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [tp], delete=False).stop_replica[BrokerId(2)][tp].leader_epoch


@pytest.mark.parametrize(
    ("tp", "epoch"),
    [(ORDERS, 7), (NEW, NO_LEADER_EPOCH), (DELETED, EPOCH_DURING_DELETE), (DELETED_NEW, EPOCH_DURING_DELETE)],
    ids=str,
)
def test_a_stop_is_fenced_by_the_cached_leader_epoch(tp: TopicPartition, epoch: int) -> None:
    """2.1: -2 if the topic is queued for deletion, else the cached one, else -1."""
    assert stop_epoch(tp) == epoch


def test_a_stop_request_mixes_replicas_to_keep_and_to_delete() -> None:
    """2.2-3, version 3: both kinds share one request."""
    batch = add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [ORDERS], delete=False)
    batch = add_stop_replica(batch, CLUSTER, BrokerId(2), [DELETED], delete=True)
    ((broker, request),) = flush(batch, CLUSTER)
    assert broker == 2
    assert request == StopReplicaRequest(
        controller_id=BrokerId(1),
        controller_epoch=ControllerEpoch(5),
        broker_epoch=BrokerEpoch(102),
        partitions={
            ORDERS: StopReplicaPartitionState(LeaderEpoch(7), delete_partition=False),
            DELETED: StopReplicaPartitionState(EPOCH_DURING_DELETE, delete_partition=True),
        },
    )
    assert isinstance(request, StopReplicaRequest)
    assert request.deleted_partitions == (DELETED,)


# --- sticky and overwritten content ----------------------------------------------------------------------------------------


def test_once_new_a_replica_stays_new_though_the_rest_of_its_state_is_overwritten() -> None:
    """2.1: isNew is sticky for a broker and a partition within a batch, not for others."""
    later = with_leadership(ORDERS, state(2, 2, epoch=8))
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(2)}, is_new=True)
    batch = add_leader_and_isr(batch, later, {ORDERS: ids(1, 2), MOVING: ids(2)})
    assert batch.leader_and_isr == {
        1: {ORDERS: LeaderAndIsrPartitionState(state(2, 2, epoch=8), CLUSTER.assignments[ORDERS], is_new=False)},
        2: {
            ORDERS: LeaderAndIsrPartitionState(state(2, 2, epoch=8), CLUSTER.assignments[ORDERS], is_new=True),
            MOVING: LeaderAndIsrPartitionState(state(1, 1, 2), CLUSTER.assignments[MOVING], is_new=False),
        },
    }


def test_a_known_replica_may_become_new() -> None:
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(2)})
    batch = add_leader_and_isr(batch, CLUSTER, {ORDERS: ids(2)}, is_new=True)
    assert batch.leader_and_isr[BrokerId(2)][ORDERS].is_new


def test_once_to_be_deleted_a_replica_stays_so_though_its_epoch_is_overwritten() -> None:
    later = with_leadership(ORDERS, state(2, 2, epoch=8))
    batch = add_stop_replica(EMPTY, CLUSTER, BrokerId(2), [ORDERS], delete=True)
    batch = add_stop_replica(batch, later, BrokerId(2), [ORDERS, MOVING], delete=False)
    assert batch.stop_replica == {
        2: {
            ORDERS: StopReplicaPartitionState(LeaderEpoch(8), delete_partition=True),
            MOVING: StopReplicaPartitionState(LeaderEpoch(7), delete_partition=False),
        }
    }


def test_a_failover_over_two_dead_brokers_sends_one_state_per_partition_the_last() -> None:
    """2.1 and T14: the passes over 5 and 6 share a batch; each wrote, and only the second result is sent."""
    after_five = with_leadership(ORDERS, state(1, 1, 2, 6, epoch=8))
    after_six = with_leadership(ORDERS, state(1, 1, 2, epoch=9))
    batch = add_replicas_gone_offline(EMPTY, after_five, BrokerId(5), [ORDERS])
    batch = add_replicas_gone_offline(batch, after_six, BrokerId(6), [ORDERS])
    sent = flush(batch, after_six)
    assert [request.partitions[ORDERS].state for _, request in sent if not isinstance(request, StopReplicaRequest)] == [
        state(1, 1, 2, epoch=9)
    ] * 7  # LeaderAndIsr to 1, 2 and 4, UpdateMetadata to all four


def test_the_stop_that_precedes_an_isr_change_keeps_the_epoch_from_before_it() -> None:
    """State machines 3.3-1: the StopReplica is added before the ISR changes, and its content is fixed then."""
    later = with_leadership(ORDERS, state(1, 1, 2, epoch=8))
    batch = add_stop_replica(EMPTY, CLUSTER, BrokerId(4), [ORDERS], delete=False)
    batch = add_replicas_gone_offline(batch, later, BrokerId(4), [ORDERS])
    assert batch.stop_replica[BrokerId(4)][ORDERS].leader_epoch == 7
    assert batch.leader_and_isr[BrokerId(1)][ORDERS].state.leader_and_isr.leader_epoch == 8


def test_content_is_settled_when_added_and_recipients_when_flushed() -> None:
    """2.1 and 2.2: partition content comes from the caches at the add; liveness and epochs from those at the flush."""
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(2, 5)})
    later = replace(
        with_leadership(ORDERS, state(2, 2, epoch=9)),
        controller_epoch=ControllerEpoch(6),
        live_brokers={broker: registered(broker) for broker in ids(2, 5)},
        broker_epochs={BrokerId(2): BrokerEpoch(902), BrokerId(5): BrokerEpoch(905)},
    )
    sent = flush(batch, later)
    assert request_lines(sent) == ["LAI 2 5: orders-0", "UM 2: orders-0"]
    assert [request.broker_epoch for _, request in sent] == [902, 905, 902]
    assert {request.controller_epoch for _, request in sent} == {6}
    assert batch.update_metadata_partitions[ORDERS].state == state(1, 1, 2, 4)


# --- the batch itself ------------------------------------------------------------------------------------------------------


def test_a_flush_asks_for_leaders_and_followers_first_then_for_metadata_then_for_stops() -> None:
    """2.2, without exception in any recording; the order in which requests were added does not matter."""
    batch = add_stop_replica(EMPTY, CLUSTER, BrokerId(1), [DELETED], delete=True)
    batch = add_update_metadata(batch, CLUSTER, ids(2))
    batch = add_leader_and_isr(batch, CLUSTER, {MOVING: ids(3, 1)})
    order = [(NAMES[type(request)], broker) for broker, request in flush(batch, CLUSTER)]
    assert order == [("LAI", 1), ("LAI", 3), ("UM", 1), ("UM", 2), ("UM", 3), ("UM", 4), ("SR", 1)]


def test_metadata_goes_to_all_even_if_no_recipient_of_a_leader_and_isr_is_alive() -> None:
    """2.1, the rule for adding a LeaderAndIsr."""
    assert request_lines(flush(add_leader_and_isr(EMPTY, CLUSTER, {BOOKS: ids(6)}), CLUSTER)) == ["UM 1 2 3 4: books-0"]
    assert request_lines(flush(add_leader_and_isr(EMPTY, CLUSTER, {BOOKS: ()}), CLUSTER)) == ["UM 1 2 3 4: books-0"]


def test_an_empty_batch_sends_nothing() -> None:
    """2.2-2: its flush only writes a log line."""
    assert flush(EMPTY, CLUSTER) == ()


def test_adds_of_nothing_leave_an_empty_batch_empty() -> None:
    batch = add_leader_and_isr(EMPTY, CLUSTER, {})
    batch = add_stop_replica(batch, CLUSTER, BrokerId(2), [], delete=True)
    batch = add_update_metadata(batch, CLUSTER, ())
    assert batch == EMPTY


def test_negative_broker_ids_are_dropped_at_once() -> None:
    """2.1: the id for "no leader" is no recipient."""
    batch = add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(-1, 2)})
    batch = add_stop_replica(batch, CLUSTER, BrokerId(-1), [ORDERS], delete=False)
    batch = add_update_metadata(batch, CLUSTER, ids(-1))
    assert (set(batch.leader_and_isr), set(batch.stop_replica), set(batch.update_metadata_brokers)) == (
        {2},
        set(),
        {1, 2, 3, 4},
    )


@pytest.mark.parametrize(
    ("batch", "unsent"),
    [
        (EMPTY, None),
        (add_update_metadata(EMPTY, CLUSTER, ids(1)), "UpdateMetadata"),
        (add_update_metadata(EMPTY, CLUSTER, (), [ORDERS]), "UpdateMetadata"),
        (add_stop_replica(EMPTY, CLUSTER, BrokerId(5), [ORDERS], delete=False), "StopReplica"),
        (add_metadata_for_all(add_stop_replica(EMPTY, CLUSTER, BrokerId(5), [ORDERS], False), CLUSTER), "StopReplica"),
        (add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(5)}), "LeaderAndIsr"),
        (add_stop_replica(add_leader_and_isr(EMPTY, CLUSTER, {ORDERS: ids(5)}), CLUSTER, BrokerId(5), [ORDERS], False),
         "LeaderAndIsr"),
    ],
)  # fmt: skip
def test_an_abandoned_batch_says_what_it_still_holds(batch: RequestBatch, unsent: str | None) -> None:
    """State machines 8.3, third row: the recorded refusal to open the next batch names this content."""
    assert batch.unsent == unsent


def test_an_unknown_assignment_is_an_empty_one() -> None:
    """A topic whose znode was removed by hand has none; its leadership would be gone as well.

    Source: docs/kafka/controller.md 3.2.
    """
    view = replace(CLUSTER, assignments={})
    batch = add_replicas_gone_offline(EMPTY, view, BrokerId(1), [ORDERS])
    assert batch.leader_and_isr == {}
    assert batch.update_metadata_partitions[ORDERS] == UpdateMetadataPartitionState(state(1, 1, 2, 4), (), ())


def test_a_partition_assigned_to_what_is_no_broker_id_leaves_the_batch_unsent() -> None:
    """Recordings reassign-replicas-as-strings, reassign-second-replica-as-string."""
    assigned = ReplicaAssignment((BrokerId(1), BrokerId(NoBrokerId('"2"'))))
    view = replace(CLUSTER, assignments={**CLUSTER.assignments, ORDERS: assigned})
    with pytest.raises(UnsendableReplicaError, match='a replica of orders-0 is "2", which is no broker id') as metadata:
        add_update_metadata(RequestBatch(), view, ids(1), [ORDERS])
    assert metadata.value.gathered.unsent == "UpdateMetadata"
    with pytest.raises(UnsendableReplicaError) as leader_and_isr:
        add_leader_and_isr(RequestBatch(), view, {ORDERS: ids(1)})
    assert leader_and_isr.value.gathered.unsent == "LeaderAndIsr"
    with pytest.raises(UnsendableReplicaError) as recipients:
        add_leader_and_isr(RequestBatch(), view, {ORDERS: assigned.replicas})
    assert recipients.value.gathered.unsent is None
