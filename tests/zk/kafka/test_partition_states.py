"""The gateway to the states of partitions."""

import pytest

from kcsim.vocabulary import TopicPartition, TopicState, ZkVersion
from kcsim.zk.errors import BadVersionError, NodeExistsError, NoNodeError
from kcsim.zk.kafka import partition_states
from kcsim.zk.operations import SetData
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import EPOCH_0, ORDERS, ORDERS_0, STATE_0, data_of, prepared, state
from tests.zk.kafka.scripted import Bench, writes


def test_partition_states_are_created_with_all_that_is_above_them(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        states = {tp: state(1, (1, 2)) for tp in ORDERS}
        assert await bench.kafka_zk.partition_states.create(states, EPOCH_0) == dict.fromkeys(ORDERS, 0)
        assert await bench.kafka_zk.partition_states.read(ORDERS) == states
        assert await data_of(bench, "/brokers/topics/orders/partitions/0") is None

    bench.runtime.run(main())


@pytest.mark.parametrize("count", [2, 3, 4, 6, 7])
def test_states_are_read_in_batches_and_none_is_left_out(bench: Bench, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_states, "STATES_AT_ONCE", 3)

    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        states = {TopicPartition("orders", number): state(1, (1, 2)) for number in range(count)}
        await bench.kafka_zk.partition_states.create(states, EPOCH_0)
        assert list((await bench.kafka_zk.partition_states.read(states)).items()) == list(states.items())

    bench.runtime.run(main())


def test_a_state_that_is_there_already_is_refused_and_the_others_are_created(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        await bench.kafka_zk.partition_states.create({ORDERS[1]: state(1, (1,))}, EPOCH_0)
        results = await bench.kafka_zk.partition_states.create({tp: state(2, (2,)) for tp in ORDERS}, EPOCH_0)
        assert results == {ORDERS[0]: 0, ORDERS[1]: NodeExistsError(paths.topic_partition_state(ORDERS[1])), ORDERS[2]: 0}

    bench.runtime.run(main())


def test_states_are_written_only_over_the_version_they_were_read_at(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        await bench.kafka_zk.partition_states.create({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        stale = {ORDERS[0]: state(2, (2,), 1, version=0), ORDERS[1]: state(2, (2,), 1, version=5), ORDERS[2]: state(2, (2,))}
        results = await bench.kafka_zk.partition_states.set(stale, EPOCH_0)
        assert results == {
            ORDERS[0]: 1,
            ORDERS[1]: BadVersionError(paths.topic_partition_state(ORDERS[1])),
            ORDERS[2]: NoNodeError(paths.topic_partition_state(ORDERS[2])),
        }
        assert await bench.kafka_zk.partition_states.read(ORDERS) == {
            ORDERS[0]: state(2, (2,), 1, version=1),
            ORDERS[1]: state(1, (1,)),
        }

    bench.runtime.run(main())


def test_states_that_are_no_json_are_left_out_and_reported_others_spoil_the_batch(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        await bench.kafka_zk.partition_states.create({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        await bench.tree(SetData(STATE_0, b"junk"))
        assert await bench.kafka_zk.partition_states.read(ORDERS) == {ORDERS[1]: state(1, (1,))}
        assert bench.kafka_zk.znodes.parse_failures == {STATE_0: 1}
        await bench.tree(SetData(STATE_0, b"{}"))
        with pytest.raises(BadZnodeError, match="No such field exists"):
            await bench.kafka_zk.partition_states.read(ORDERS)

    bench.runtime.run(main())


async def with_state(bench: Bench) -> None:
    await prepared(bench)
    await bench.by_hand.topics.create("orders", TopicState({}))
    await bench.kafka_zk.partition_states.create({ORDERS_0: state(1, (1, 2))}, EPOCH_0)


def test_a_leader_writes_without_a_fence_over_the_version_it_knows(bench: Bench) -> None:
    async def main() -> None:
        await with_state(bench)
        assert await bench.kafka_zk.partition_states.write_as_leader(ORDERS_0, state(1, (1,), version=0)) == 1
        assert writes(bench.session.calls)[-1] == SetData(
            STATE_0, b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}', ZkVersion(0)
        )

    bench.runtime.run(main())


def test_a_leader_whose_answer_was_lost_recognises_its_own_write(bench: Bench) -> None:
    async def main() -> None:
        await with_state(bench)
        bench.zookeeper.lose_reply(lambda r: isinstance(r, SetData), is_applied=True)
        assert await bench.kafka_zk.partition_states.write_as_leader(ORDERS_0, state(1, (1,), version=0)) == 1

    bench.runtime.run(main())


@pytest.mark.parametrize(
    "found",
    [
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}',
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}',
        b'{"controller_epoch":2,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}',
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[1]}',
        b"junk",
        b"{}",
    ],
)
def test_a_leader_that_meets_another_content_has_failed(bench: Bench, found: bytes) -> None:
    async def main() -> None:
        await with_state(bench)
        await bench.tree(SetData(STATE_0, found))
        assert await bench.kafka_zk.partition_states.write_as_leader(ORDERS_0, state(1, (1,), version=0)) is None
        assert await data_of(bench, STATE_0) == found

    bench.runtime.run(main())


def test_a_leader_whose_partition_is_gone_has_failed(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.partition_states.write_as_leader(ORDERS_0, state(1, (1,))) is None

    bench.runtime.run(main())
