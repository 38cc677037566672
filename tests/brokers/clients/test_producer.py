"""A producer against scripted brokers: what it sends and when, what it counts as delivered, and what it gives up."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from kcsim.brokers.clients.ledger import NO_OFFSET, Account
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.config import Value
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import TopicPartition
from tests.brokers.clients.scripted_brokers import SILENCE, ScriptedCluster, ScriptedError, on_scripted_brokers

ORDERS = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)
ONE_LEADER: dict[TopicPartition, int | None] = {ORDERS: 1}
Before = Callable[[ScriptedCluster], None]


def spec(rate: int | None = None, shares: dict[TopicPartition, int] | None = None, **settings: Value) -> ProducerSpec:
    """Return a producer of records of 100 bytes to `orders`; settings are written with underscores."""
    config = ProducerConfig.of({name.replace("_", "."): value for name, value in settings.items()})
    return ProducerSpec("w", ("orders",), rate, None, record_bytes=100, shares=shares or {}, config=config)


def produced(
    wanted: ProducerSpec,
    records: int = 10,
    errors: Sequence[ScriptedError] = (),
    leaders: dict[TopicPartition, int | None] = ONE_LEADER,
    before: Before = lambda _: None,
) -> ScriptedCluster:
    """Let a producer write while broker 1 answers its first requests with these errors, and wait until it is done."""

    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders(leaders)
        cluster.all[0].scripted_errors.extend(errors)
        before(cluster)
        done = await cluster.producer(wanted).begin(records, cluster.reports())
        await done.wait(10_000_000)

    return on_scripted_brokers(script)


def account(cluster: ScriptedCluster, tp: TopicPartition = ORDERS) -> Account:
    return cluster.ledger.account(tp, "w")


def asked(cluster: ScriptedCluster, broker: int = 1) -> list[tuple[int, int]]:
    """Return what a broker was asked to append: (first sequence, count)."""
    return [(batch.first_sequence, batch.count) for _, _, batch in cluster.all[broker - 1].asked]


def events(cluster: ScriptedCluster, kind: EventKind) -> list[Event]:
    return [event for event in cluster.log.events if event.kind is kind]


# --- what it sends ---------------------------------------------------------------------------------------------------------


def test_it_writes_what_it_was_asked_to_and_gets_it_acknowledged() -> None:
    cluster = produced(spec(), 10)
    assert asked(cluster) == [(0, 10)]
    assert account(cluster) == Account(10, [(0, 10, 0)])


def test_a_batch_holds_as_much_as_batch_size_allows() -> None:
    assert asked(produced(spec(batch_size=450), 10)) == [(0, 4), (4, 4), (8, 2)]


def test_one_request_to_a_broker_is_under_way_at_a_time() -> None:
    """The next request is sent when the answer has arrived, which takes 2 ms on this network."""
    cluster = produced(spec(batch_size=500), 15)
    times = [at_ms for at_ms, _, _ in cluster.all[0].asked]
    assert [later - sooner for sooner, later in pairwise(times)] == [2, 2]


def test_records_take_turns_between_the_partitions() -> None:
    cluster = produced(spec(), 5, leaders={ORDERS: 1, ORDERS_1: 2})
    assert (asked(cluster, 1), asked(cluster, 2)) == ([(0, 3)], [(0, 2)])


def test_the_turns_go_on_with_the_records_that_are_made_later() -> None:
    cluster = produced(spec(rate=5), 4, leaders={ORDERS: 1, ORDERS_1: 2})
    assert (asked(cluster, 1), asked(cluster, 2)) == ([(0, 1), (1, 1)], [(0, 1), (1, 1)])


def test_shares_decide_where_records_go() -> None:
    cluster = produced(spec(shares={ORDERS: 3, ORDERS_1: 1}), 8, leaders={ORDERS: 1, ORDERS_1: 2})
    assert (account(cluster).written, account(cluster, ORDERS_1).written) == (6, 2)


def test_batches_for_one_leader_travel_in_one_request() -> None:
    cluster = produced(spec(), 6, leaders={ORDERS: 1, ORDERS_1: 1})
    assert (cluster.all[0].requests, asked(cluster)) == (1, [(0, 3), (0, 3)])


def test_a_rate_is_kept_to_the_millisecond() -> None:
    cluster = produced(spec(rate=5), 4)
    began_ms = 4  # the metadata have arrived: one connection, one request
    assert [at_ms - began_ms for at_ms, _, _ in cluster.all[0].asked] == [
        200 + 1 + 2,  # transit time, and before that one connection is opened
        400 + 1,
        600 + 1,
        800 + 1,
    ]


def test_records_linger_and_travel_together() -> None:
    assert asked(produced(spec(rate=100, linger_ms=250), 60)) == [(0, 25), (25, 25), (50, 10)]


def test_no_more_is_made_than_the_buffer_holds() -> None:
    """Apart from max.block.ms, send() waits for room in the buffer: records that the leader does not take are not made."""
    cluster = produced(
        spec(buffer_memory=1_000, delivery_timeout_ms=5_000, request_timeout_ms=1_000), 25, leaders={ORDERS: None}
    )
    given_up = [(event.t_ms // 1_000, event.count) for event in events(cluster, EventKind.RECORDS_GIVEN_UP)]
    assert given_up == [(5, 10), (10, 10), (15, 5)]


def test_it_goes_on_with_its_sequence_when_it_is_started_again() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders(ONE_LEADER)
        producer = cluster.producer(spec())
        for records in (7, 5):
            done = await producer.begin(records, cluster.reports())
            await done.wait(1_000)

    cluster = on_scripted_brokers(script)
    assert asked(cluster) == [(0, 7), (7, 5)]
    assert cluster.all[0].metadata_requests == 1


def test_stopped_it_makes_nothing_more_and_finishes_what_it_made() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders(ONE_LEADER)
        producer = cluster.producer(spec(rate=100))
        done = await producer.begin(None, cluster.reports())
        await cluster.runtime.sleep_ms(505)
        producer.stop()
        await done.wait(1_000)

    assert account(on_scripted_brokers(script)) == Account(50, [(0, 50, 0)])


# --- when something is wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR]
)
def test_what_was_refused_for_now_is_sent_again_after_the_back_off(error: ErrorCode) -> None:
    cluster = produced(spec(retry_backoff_ms=500), errors=[error, error])
    assert asked(cluster) == [(0, 10)] * 3
    first, second, third = (at_ms for at_ms, _, _ in cluster.all[0].asked)
    assert (second - first >= 500, third - second >= 500) == (True, True)
    assert account(cluster) == Account(10, [(0, 10, 0)])


def test_where_the_leader_has_moved_it_is_looked_for() -> None:
    def moved_to_2(cluster: ScriptedCluster) -> None:
        cluster.runtime.spawn("move", move(cluster))

    async def move(cluster: ScriptedCluster) -> None:
        await cluster.runtime.sleep_ms(50)
        cluster.say_leaders({ORDERS: 2})

    cluster = produced(spec(), errors=[ErrorCode.NOT_LEADER_OR_FOLLOWER], before=moved_to_2)
    assert (asked(cluster, 1), asked(cluster, 2)) == ([(0, 10)], [(0, 10)])


def test_a_connection_that_breaks_is_an_attempt_of_which_nobody_knows_the_end() -> None:
    def dies_soon(cluster: ScriptedCluster) -> None:
        cluster.all[0].scripted_errors.append(SILENCE)
        cluster.runtime.spawn("death", death(cluster))

    async def death(cluster: ScriptedCluster) -> None:
        await cluster.runtime.sleep_ms(50)
        cluster.say_leaders({ORDERS: 2})
        cluster.all[0].die()

    cluster = produced(spec(), before=dies_soon)
    assert (asked(cluster, 1), asked(cluster, 2)) == ([(0, 10)], [(0, 10)])
    assert [event.error for event in events(cluster, EventKind.RECORDS_REFUSED)] == ["NETWORK_EXCEPTION"]


def test_a_request_without_an_answer_is_sent_again_when_its_time_is_up() -> None:
    cluster = produced(spec(request_timeout_ms=700), errors=[SILENCE])
    (first, _, _), (second, _, _) = cluster.all[0].asked
    assert 700 <= second - first <= 900


def test_what_is_not_delivered_in_time_is_given_up() -> None:
    never = [ErrorCode.NOT_ENOUGH_REPLICAS] * 100
    cluster = produced(spec(delivery_timeout_ms=2_000, request_timeout_ms=500), errors=never)
    assert account(cluster) == Account(10, [], [(0, 10)])
    (given_up,) = events(cluster, EventKind.RECORDS_GIVEN_UP)
    assert (given_up.count, given_up.error, given_up.outcome) == (10, "NOT_ENOUGH_REPLICAS", "not applied")
    assert 2_000 <= given_up.t_ms < 2_200


def test_of_what_may_be_there_the_outcome_is_unknown() -> None:
    cluster = produced(spec(delivery_timeout_ms=2_000, request_timeout_ms=500), errors=[SILENCE] * 10)
    assert [event.outcome for event in events(cluster, EventKind.RECORDS_GIVEN_UP)] == ["unknown"]


def test_retries_are_counted() -> None:
    cluster = produced(spec(retries=2), errors=[ErrorCode.NOT_ENOUGH_REPLICAS] * 100)
    assert asked(cluster) == [(0, 10)] * 3
    assert account(cluster).given_up == [(0, 10)]


def test_an_error_that_will_not_go_away_is_not_tried_again() -> None:
    cluster = produced(spec(), errors=[ErrorCode.INVALID_REQUIRED_ACKS])
    assert (asked(cluster), account(cluster).given_up) == ([(0, 10)], [(0, 10)])


def test_the_batches_behind_one_that_was_given_up_are_sent() -> None:
    cluster = produced(spec(batch_size=500, retries=0), errors=[ErrorCode.NOT_ENOUGH_REPLICAS])
    assert account(cluster) == Account(10, [(5, 5, 0)], [(0, 5)])


def test_without_a_leader_nothing_is_sent_and_the_brokers_are_not_stormed() -> None:
    cluster = produced(spec(delivery_timeout_ms=2_000, request_timeout_ms=500), leaders={ORDERS: None})
    assert asked(cluster) == []
    assert cluster.all[0].metadata_requests <= 22  # one request for each back-off of 100 ms, and one at the start
    assert [e.error for e in events(cluster, EventKind.RECORDS_GIVEN_UP)] == ["LEADER_NOT_AVAILABLE"]


def test_a_topic_that_nobody_knows_is_waited_for_and_then_an_error() -> None:
    with pytest.raises(
        TimedOutError, match=r"producer-w: no broker has metadata of topic orders within max.block.ms, 1000 ms"
    ):
        produced(spec(max_block_ms=1_000), leaders={})


# --- what it counts as delivered -------------------------------------------------------------------------------------------


def test_with_acks_0_everything_that_has_left_is_taken_for_delivered() -> None:
    cluster = produced(spec(acks=0), errors=[ErrorCode.NOT_LEADER_OR_FOLLOWER])
    assert asked(cluster) == [(0, 10)]
    assert account(cluster) == Account(10, [(0, 10, NO_OFFSET)])


def test_a_batch_that_the_broker_has_already_is_delivered() -> None:
    cluster = produced(spec(enable_idempotence=True), errors=[ErrorCode.DUPLICATE_SEQUENCE_NUMBER])
    assert account(cluster) == Account(10, [(0, 10, NO_OFFSET)])


def test_an_idempotent_producer_whose_sequence_the_leader_has_lost_goes_on_under_a_new_epoch() -> None:
    """KIP-360: the gap in the sequence cannot be closed, and must not block the producer for ever."""
    cluster = produced(spec(enable_idempotence=True), errors=[ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
    assert [batch.producer_epoch for _, _, batch in cluster.all[0].asked] == [0, 1]
    assert all(batch.is_idempotent for _, _, batch in cluster.all[0].asked)


# --- its id ----------------------------------------------------------------------------------------------------------------


def asked_for_id(cluster: ScriptedCluster) -> list[int]:
    return [at_ms for broker in cluster.all for at_ms in broker.asked_for_id_at_ms]


def test_an_idempotent_producer_asks_once_for_an_id_before_it_sends() -> None:
    cluster = produced(spec(enable_idempotence=True, batch_size=500), 15)
    (asked_at_ms,) = asked_for_id(cluster)
    assert [asked_at_ms < at_ms for at_ms, _, _ in cluster.all[0].asked] == [True, True, True]
    assert account(cluster) == Account(15, [(0, 15, 0)])


def test_it_keeps_its_id_from_start_to_start() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders(ONE_LEADER)
        producer = cluster.producer(spec(enable_idempotence=True))
        for _ in range(2):
            await (await producer.begin(10, cluster.reports())).wait(10_000_000)

    cluster = on_scripted_brokers(script)
    assert len(asked_for_id(cluster)) == 1
    assert account(cluster) == Account(20, [(0, 20, 0)])


def test_a_producer_that_is_not_idempotent_needs_no_id() -> None:
    assert asked_for_id(produced(spec(acks="all"))) == []


@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_it_asks_again_after_retry_backoff_ms_and_sends_nothing_before_it_has_an_id(error: ErrorCode) -> None:
    """A broker that has no block of ids answers with COORDINATOR_LOAD_IN_PROGRESS while it asks the controller for one."""

    def without_ids(cluster: ScriptedCluster) -> None:
        cluster.all[0].scripted_id_errors.extend([error] * 2)

    cluster = produced(spec(enable_idempotence=True, retry_backoff_ms=700), before=without_ids)
    first, second, third = asked_for_id(cluster)
    transit_ms = 2  # there and back
    assert (second - first, third - second) == (700 + transit_ms, 700 + transit_ms)
    assert [at_ms > third for at_ms, _, _ in cluster.all[0].asked] == [True]
    assert account(cluster) == Account(10, [(0, 10, 0)])


def test_it_asks_another_broker_when_one_does_not_answer() -> None:
    def silent(cluster: ScriptedCluster) -> None:
        cluster.all[0].scripted_id_errors.append(SILENCE)

    cluster = produced(spec(enable_idempotence=True, request_timeout_ms=3_000), before=silent)
    assert [len(broker.asked_for_id_at_ms) for broker in cluster.all] == [1, 1]
    assert account(cluster) == Account(10, [(0, 10, 0)])


def test_records_without_an_id_are_given_up_when_their_time_is_over() -> None:
    def never(cluster: ScriptedCluster) -> None:
        cluster.all[0].scripted_id_errors.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)

    cluster = produced(spec(enable_idempotence=True, delivery_timeout_ms=5_000, request_timeout_ms=500), before=never)
    assert (asked(cluster), account(cluster).given_up) == ([], [(0, 10)])


# --- what it reports -------------------------------------------------------------------------------------------------------


def test_acknowledgements_are_summed_up_by_the_second() -> None:
    cluster = produced(spec(rate=100, linger_ms=10), 350)
    acknowledged = events(cluster, EventKind.RECORDS_ACKNOWLEDGED)
    assert sum(event.count or 0 for event in acknowledged) == 350
    assert len(acknowledged) == 5  # the first immediately, then one per second, then the rest
    assert {(event.topic, event.partition, event.leader) for event in acknowledged} == {("orders", 0, 1)}


def test_refusals_are_summed_up_by_the_second_too() -> None:
    cluster = produced(spec(delivery_timeout_ms=3_000, request_timeout_ms=500), errors=[ErrorCode.NOT_ENOUGH_REPLICAS] * 100)
    refused = events(cluster, EventKind.RECORDS_REFUSED)
    assert sum(event.count or 0 for event in refused) == 10 * len(cluster.all[0].asked)
    assert len(refused) <= 5


def test_it_says_when_nothing_is_under_way_any_more() -> None:
    *_, last = produced(spec(), 10).log.events
    assert (last.kind, last.count, last.detail) == (
        EventKind.WORKLOAD_STOPPED,
        10,
        "10 records acknowledged, 0 given up",
    )
