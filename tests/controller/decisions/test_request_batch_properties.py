"""Properties of a request batch for any additions in any order. Source: docs/kafka/requests.md 2.1 and 2.2."""

from dataclasses import dataclass, replace
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.request_batch import (
    ClusterView,
    RequestBatch,
    add_leader_and_isr,
    add_stop_replica,
    add_update_metadata,
    flush,
)
from kcsim.controller.decisions.request_recipients import add_replicas_to_serve
from kcsim.controller.requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)
from tests.examples import fewer

BROKERS = [BrokerId(number) for number in range(5)]
WITH_LEADERSHIP = [TopicPartition(topic, number) for topic in "ab" for number in range(2)]
LEADERLESS = TopicPartition("b", 9)
PARTITIONS = [*WITH_LEADERSHIP, LEADERLESS]
ENDPOINT = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)

Replica = tuple[BrokerId, TopicPartition]


@dataclass(frozen=True)
class LeaderAndIsrAdd:
    tp: TopicPartition
    recipients: tuple[BrokerId, ...]
    is_new: bool


@dataclass(frozen=True)
class UpdateMetadataAdd:
    brokers: tuple[BrokerId, ...]
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True)
class StopReplicaAdd:
    broker: BrokerId
    tp: TopicPartition
    delete: bool


Add = LeaderAndIsrAdd | UpdateMetadataAdd | StopReplicaAdd

brokers = st.lists(st.sampled_from(BROKERS), max_size=4).map(tuple)
leader_and_isr_adds = st.builds(LeaderAndIsrAdd, st.sampled_from(WITH_LEADERSHIP), brokers, st.booleans())
update_metadata_adds = st.builds(UpdateMetadataAdd, brokers, st.lists(st.sampled_from(PARTITIONS), max_size=3).map(tuple))
stop_replica_adds = st.builds(StopReplicaAdd, st.sampled_from(BROKERS), st.sampled_from(PARTITIONS), st.booleans())
adds = st.lists(st.one_of(leader_and_isr_adds, update_metadata_adds, stop_replica_adds), max_size=12)


@st.composite
def views(draw: st.DrawFn) -> ClusterView:
    """Draw any live brokers, some of them shutting down; any leaders and replicas, topic b queued for deletion or not."""
    live = draw(st.sets(st.sampled_from(BROKERS)))
    replicas = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True).map(tuple)
    leaders = st.sampled_from([None, *BROKERS])
    return ClusterView(
        controller_id=BrokerId(0),
        controller_epoch=ControllerEpoch(5),
        live_brokers={broker: BrokerInfo(broker, (ENDPOINT,)) for broker in live},
        broker_epochs={broker: BrokerEpoch(100 + broker) for broker in live},
        shutting_down=frozenset(broker for broker in sorted(live) if draw(st.booleans())),
        topics_to_be_deleted=frozenset(draw(st.sets(st.just("b")))),
        leadership={
            tp: PartitionState(
                LeaderAndIsr(draw(leaders), LeaderEpoch(draw(st.integers(0, 9))), draw(replicas), ZkVersion(1)),
                ControllerEpoch(4),
            )
            for tp in WITH_LEADERSHIP
        },
        assignments={tp: ReplicaAssignment(draw(replicas)) for tp in PARTITIONS},
        replicas_on_offline_dirs={draw(st.sampled_from(BROKERS)): frozenset(draw(st.sets(st.sampled_from(PARTITIONS))))},
    )


def apply(batch: RequestBatch, view: ClusterView, add: Add) -> RequestBatch:
    match add:
        case LeaderAndIsrAdd(tp, recipients, is_new):
            return add_leader_and_isr(batch, view, {tp: recipients}, is_new)
        case UpdateMetadataAdd(to, partitions):
            return add_update_metadata(batch, view, to, partitions)
        case StopReplicaAdd(broker, tp, delete):
            return add_stop_replica(batch, view, broker, [tp], delete)


def filled(view: ClusterView, added: list[Add]) -> RequestBatch:
    return reduce(lambda batch, add: apply(batch, view, add), added, RequestBatch())


@fewer(4)
@given(views(), adds, leader_and_isr_adds)
def test_every_leader_and_isr_add_sends_all_live_brokers_the_metadata(
    view: ClusterView, added: list[Add], add: LeaderAndIsrAdd
) -> None:
    batch = apply(filled(view, added), view, add)
    assert add.tp in batch.update_metadata_partitions
    assert batch.update_metadata_brokers >= view.broker_epochs.keys()
    assert apply(batch, view, UpdateMetadataAdd(tuple(view.broker_epochs), (add.tp,))) == batch


@fewer(4)
@given(views(), adds, st.sets(st.sampled_from(BROKERS)))
def test_nothing_is_sent_to_a_broker_that_is_not_registered_when_flushed(
    view: ClusterView, added: list[Add], gone: set[BrokerId]
) -> None:
    """Such a broker is neither live nor shutting down at the flush, whatever it was at the time of adding."""
    batch = filled(view, added)
    left = view.broker_epochs.keys() - gone
    later = replace(
        view,
        live_brokers={broker: view.live_brokers[broker] for broker in left},
        broker_epochs={broker: view.broker_epochs[broker] for broker in left},
    )
    sent = flush(batch, later)
    assert {broker for broker, _ in sent} <= left
    assert all(request.broker_epoch == later.broker_epochs[broker] for broker, request in sent)


@fewer(4)
@given(views(), adds)
def test_each_broker_gets_at_most_one_request_of_each_kind_in_kafkas_order(view: ClusterView, added: list[Add]) -> None:
    kinds = [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest]
    order = [(kinds.index(type(request)), broker) for broker, request in flush(filled(view, added), view)]
    assert order == sorted(set(order))


@fewer(4)
@given(views(), adds)
def test_a_replica_is_new_if_any_add_marked_it_so_and_deleted_if_any_add_marked_it_so(
    view: ClusterView, added: list[Add]
) -> None:
    """The sticky flags are compared with their definition."""
    new: dict[Replica, bool] = {}
    deleted: dict[Replica, bool] = {}
    for add in added:
        if isinstance(add, LeaderAndIsrAdd):
            new |= {(broker, add.tp): add.is_new or new.get((broker, add.tp), False) for broker in add.recipients}
        if isinstance(add, StopReplicaAdd):
            deleted[add.broker, add.tp] = add.delete or deleted.get((add.broker, add.tp), False)
    batch = filled(view, added)
    flat_new = {(b, tp): s.is_new for b, states in batch.leader_and_isr.items() for tp, s in states.items()}
    flat_deleted = {(b, tp): s.delete_partition for b, states in batch.stop_replica.items() for tp, s in states.items()}
    assert flat_new == new
    assert flat_deleted == deleted


@fewer(4)
@given(views(), adds)
def test_everything_added_for_a_live_broker_is_sent_and_nothing_else(view: ClusterView, added: list[Add]) -> None:
    batch = filled(view, added)
    sent = flush(batch, view)
    leading = {b: r.partitions for b, r in sent if isinstance(r, LeaderAndIsrRequest)}
    knowing = {b: r.partitions for b, r in sent if isinstance(r, UpdateMetadataRequest)}
    stopping = {b: r.partitions for b, r in sent if isinstance(r, StopReplicaRequest)}
    live = view.broker_epochs.keys()
    assert leading == {b: states for b, states in batch.leader_and_isr.items() if b in live}
    assert knowing == dict.fromkeys(batch.update_metadata_brokers & live, batch.update_metadata_partitions)
    assert stopping == {b: states for b, states in batch.stop_replica.items() if b in live}


@fewer(4)
@given(views(), adds)
def test_a_replica_that_serves_is_on_a_registered_broker_in_a_good_directory(view: ClusterView, added: list[Add]) -> None:
    """Conversely, offline replicas are all others of the assignment, in its order."""
    for tp, known in filled(view, added).update_metadata_partitions.items():
        serving = [
            broker
            for broker in known.replicas
            if broker in view.live_brokers
            and broker not in view.shutting_down
            and tp not in view.replicas_on_offline_dirs.get(broker, ())
        ]
        assert [*known.offline_replicas] == [broker for broker in known.replicas if broker not in serving]
        assert known.is_being_deleted == (tp.topic in view.topics_to_be_deleted)


@fewer(4)
@given(views(), adds, adds)
def test_adding_to_a_batch_leaves_the_batch_it_was_added_to_as_it_was(
    view: ClusterView, first: list[Add], second: list[Add]
) -> None:
    """A request that was sent therefore cannot change in its queue."""
    batch = filled(view, first)
    reduce(lambda onto, add: apply(onto, view, add), second, batch)
    assert batch == filled(view, first)


@fewer(4)
@given(views(), adds, st.dictionaries(st.sampled_from(PARTITIONS), brokers), st.booleans())
def test_adding_the_replicas_of_all_brokers_at_once_comes_to_the_same_as_broker_by_broker(
    view: ClusterView, before: list[Add], replicas: dict[TopicPartition, tuple[BrokerId, ...]], is_new: bool
) -> None:
    """Kafka's replica state machine goes broker by broker; between two brokers the caches do not change."""
    by_broker = filled(view, before)
    for tp, on in replicas.items():
        by_broker = add_replicas_to_serve(by_broker, view, {tp: ()}, is_new)
        for broker in on:
            by_broker = add_replicas_to_serve(by_broker, view, {tp: (broker,)}, is_new)
    assert add_replicas_to_serve(filled(view, before), view, replicas, is_new) == by_broker
