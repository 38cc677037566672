"""What the event log says of a client's writes: small batches write by write, large ones in sums."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.zk.operations import Create, Delete, Multi, SetData
from tests.zk.kafka.scripted import Bench

SMALL, LARGE = 10, 11
"""The sizes of the largest batch whose writes are logged one by one, and of the smallest batch that is summarized."""


def creates(count: int) -> list[Create]:
    return [Create(f"/znode-{number}") for number in range(count)]


def events(bench: Bench, kind: EventKind) -> list[Event]:
    return [event for event in bench.log.events if event.kind is kind and event.node == "broker-1"]


@pytest.mark.parametrize(
    ("count", "listed", "applied"),
    [(SMALL, ", ".join(f"create /znode-{n}" for n in range(SMALL)), [1] * SMALL), (LARGE, None, [LARGE])],
)
def test_the_writes_of_a_large_batch_are_counted_and_those_of_a_small_one_listed(
    bench: Bench, count: int, listed: str | None, applied: list[int]
) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.client.request(creates(count))

    bench.runtime.run(main())
    (begun,) = events(bench, EventKind.ZK_WRITE)
    assert (begun.op, begun.count, begun.inputs) == ("create", count, listed)
    assert [event.count for event in events(bench, EventKind.ZK_WRITE_APPLIED)] == applied


@pytest.mark.parametrize(("count", "given_up"), [(SMALL, [1] * SMALL), (LARGE, [LARGE])])
def test_so_are_writes_that_are_given_up_with_their_session(bench: Bench, count: int, given_up: list[int]) -> None:
    """Nobody knows whether they were applied."""

    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(lambda request: isinstance(request, Create), is_applied=True, is_back_at_once=False)
        waiting = bench.runtime.spawn("writer", write())
        await bench.runtime.sleep_ms(10)
        bench.session.expire()
        await waiting.join()

    async def write() -> None:
        with pytest.raises(ZooKeeperClientExpiredError):
            await bench.client.request(creates(count))

    bench.runtime.run(main())
    refused = [event for event in events(bench, EventKind.ZK_WRITE_REFUSED) if event.error == "SESSIONEXPIRED"]
    assert [(event.op, event.count) for event in refused] == [("create", of) for of in given_up]
    assert {event.outcome for event in refused} == {"unknown"}


def test_each_write_of_a_transaction_is_logged_as_what_it_did(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/old"), Create("/changed"))
        await bench.client.request([Multi((Create("/new"), SetData("/changed", b"1"), Delete("/old")))])

    bench.runtime.run(main())
    (begun,) = events(bench, EventKind.ZK_WRITE)
    assert (begun.op, begun.count) == ("multi", 3)
    applied = [(event.op, event.path) for event in events(bench, EventKind.ZK_WRITE_APPLIED)]
    assert applied == [("create", "/new"), ("set", "/changed"), ("delete", "/old")]
