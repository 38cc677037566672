"""Fenced writes: no write of a replaced controller is applied, and batching does not change any answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import ControllerEpochZkVersion, ZkVersion
from kcsim.zk.errors import BadVersionError, ControllerMovedError, NodeExistsError, NoNodeError, SessionExpiredError
from kcsim.zk.kafka.fencing import MAX_BYTES, MAX_OPS, UNFENCED, WriteOp, write_fenced
from kcsim.zk.operations import (
    Check,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    GetData,
    Multi,
    MultiDone,
    SetData,
)
from kcsim.znodes.paths import CONTROLLER_EPOCH
from tests.zk.kafka.scripted import Bench, writes

EPOCH_0 = ControllerEpochZkVersion(0)


async def elected(bench: Bench) -> None:
    """Elect some controller: /controller_epoch exists, at version 0."""
    await bench.connect()
    await bench.tree(Create(CONTROLLER_EPOCH, b"1"))


def test_a_fenced_write_is_one_multi_with_a_check(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        (created,) = await write_fenced(bench.client, [Create("/a", b"1")], EPOCH_0)
        assert isinstance(created, Created)
        assert writes(bench.session.calls) == [Multi((Check(CONTROLLER_EPOCH, ZkVersion(0)), Create("/a", b"1")))]

    bench.runtime.run(main())


def test_writes_that_fit_share_one_multi_and_one_check(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        results = await write_fenced(bench.client, [Create(f"/n{i}") for i in range(MAX_OPS + 1)], EPOCH_0)
        assert [type(r) for r in results] == [Created] * (MAX_OPS + 1)
        assert [len(m.ops) for m in writes(bench.session.calls) if isinstance(m, Multi)] == [MAX_OPS + 1, 2]

    bench.runtime.run(main())


def test_a_multi_stays_far_below_what_the_server_takes(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        big = bytes(MAX_BYTES // 3)
        await write_fenced(bench.client, [Create(f"/n{i}", big) for i in range(5)], EPOCH_0)
        sizes = [len(m.ops) - 1 for m in writes(bench.session.calls) if isinstance(m, Multi)]
        assert sizes == [2, 2, 1]

    bench.runtime.run(main())


def test_one_write_too_large_for_any_batch_goes_by_itself(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        (created,) = await write_fenced(bench.client, [Create("/a", bytes(MAX_BYTES + 1))], EPOCH_0)
        assert isinstance(created, Created)

    bench.runtime.run(main())


def test_another_version_of_the_epoch_means_the_controller_has_moved(bench: Bench) -> None:
    """This holds whatever error the write itself would have had."""

    async def main() -> None:
        await elected(bench)
        await bench.tree(SetData(CONTROLLER_EPOCH, b"2"))
        with pytest.raises(ControllerMovedError, match="Expected zkVersion = 0") as moved:
            await write_fenced(bench.client, [Create("/a"), Delete("/nowhere")], EPOCH_0)
        assert moved.value.epoch_zk_version == 0
        assert await bench.client.check_existence("/a") is False

    bench.runtime.run(main())
    (refused,) = [e for e in bench.log.events if e.kind is EventKind.ZK_WRITE_REFUSED]
    assert (refused.path, refused.op, refused.error) == (CONTROLLER_EPOCH, "check", "BADVERSION")
    begun = bench.log.events[refused.cause or -1]
    assert (begun.kind, begun.controller_epoch_zk_version) == (EventKind.ZK_WRITE, 0)


def test_a_check_that_fails_otherwise_is_that_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        with pytest.raises(NoNodeError) as error:
            await write_fenced(bench.client, [Create("/a")], EPOCH_0)
        assert error.value.path == CONTROLLER_EPOCH

    bench.runtime.run(main())


def test_a_session_that_is_gone_is_raised_not_returned(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        bench.zookeeper.refusals = 1
        bench.session.expire()
        with pytest.raises(SessionExpiredError):
            await write_fenced(bench.client, [Create("/a")], EPOCH_0)

    bench.runtime.run(main())


def test_a_refused_write_keeps_no_other_from_being_done(bench: Bench) -> None:
    async def main() -> None:
        await elected(bench)
        await bench.tree(Create("/b"))
        results = await write_fenced(
            bench.client, [Create("/a"), Create("/b"), SetData("/b", b"1", ZkVersion(7)), Create("/c")], EPOCH_0
        )
        assert [type(r) for r in results] == [Created, NodeExistsError, BadVersionError, Created]

    bench.runtime.run(main())


def test_the_epoch_may_move_on_between_two_batches(bench: Bench) -> None:
    """Earlier writes stay applied: as in Kafka, where each write of a batch is a single one."""

    async def main() -> None:
        await elected(bench)
        await bench.tree(Create("/b"))

        def moves_on(request: object) -> bool:
            is_second = isinstance(request, Multi) and request.ops[1:] == (Create("/a"),)
            if is_second:
                bench.zookeeper.write_by_hand(SetData(CONTROLLER_EPOCH, b"2"))
            return False

        bench.zookeeper.lose_reply(moves_on, is_applied=True)
        with pytest.raises(ControllerMovedError):
            await write_fenced(bench.client, [Create("/a"), Create("/b"), Create("/c")], EPOCH_0)
        assert await bench.client.check_existence("/c") is False

    bench.runtime.run(main())


def test_version_minus_one_checks_nothing(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        created, missing = await write_fenced(bench.client, [Create("/a"), Delete("/b")], UNFENCED)
        assert (type(created), missing) == (Created, NoNodeError("/b"))
        assert writes(bench.session.calls) == [Create("/a"), Delete("/b")]

    bench.runtime.run(main())


def test_any_other_negative_version_is_a_mistake(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        with pytest.raises(ValueError, match="should be non-negative or equal to -1"):
            await write_fenced(bench.client, [Create("/a")], ControllerEpochZkVersion(-2))

    bench.runtime.run(main())


def test_a_lost_answer_makes_every_write_of_the_batch_meet_its_own_success(bench: Bench) -> None:
    """As in Kafka: the writes are sent again, and find their own results."""

    async def main() -> None:
        await elected(bench)
        await bench.tree(*(Create(f"/n{i}") for i in range(100)))
        bench.zookeeper.lose_reply(lambda r: isinstance(r, Multi), is_applied=True)
        results = await write_fenced(bench.client, [SetData(f"/n{i}", b"1", ZkVersion(0)) for i in range(100)], EPOCH_0)
        assert results == [BadVersionError(f"/n{i}") for i in range(100)]

    bench.runtime.run(main())


ops = st.lists(
    st.one_of(
        st.builds(Create, st.sampled_from(["/a", "/a/x", "/b", "/b/x"])),
        st.builds(Delete, st.sampled_from(["/a", "/a/x", "/b", "/b/x"])),
        st.builds(SetData, st.sampled_from(["/a", "/b"]), st.just(b"1"), st.integers(-1, 2).map(ZkVersion)),
    ),
    max_size=40,
)


@settings(max_examples=100)
@given(ops)
def test_batches_answer_and_do_what_single_multis_would(ops: list[WriteOp]) -> None:
    """Kafka sends one multi per write."""
    batched, single = Bench(), Bench()

    async def in_batches() -> list[object]:
        await elected(batched)
        return [_essence(r) for r in await write_fenced(batched.client, ops, EPOCH_0)]

    async def one_by_one() -> list[object]:
        await elected(single)
        check = Check(CONTROLLER_EPOCH, ZkVersion(0))
        replies = await single.client.request([Multi((check, op)) for op in ops])
        done = [r for r in replies if isinstance(r, MultiDone)]
        return [_essence(r.error or r.results[1]) for r in done]

    assert batched.runtime.run(in_batches()) == single.runtime.run(one_by_one())
    assert _contents(batched) == _contents(single)


def _essence(result: object) -> object:
    """Return all of an answer except its zxids."""
    match result:
        case DataSet(path, stat, _):
            return path, stat.version, stat.num_children
        case Created(path) | Deleted(path):
            return type(result), path
    return result


def _contents(bench: Bench) -> dict[str, object]:
    server = bench.zookeeper.server
    found = {path: server.tree.get_data(GetData(path), server.zxid) for path in ("/a", "/a/x", "/b", "/b/x")}
    return {path: (r.data, r.stat.version, r.stat.cversion) for path, r in found.items() if isinstance(r, DataRead)}
