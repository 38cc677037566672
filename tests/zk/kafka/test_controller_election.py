"""Election in ZooKeeper: one winner, one epoch more each time, and a lost answer costs none the role.

Source: docs/kafka/znodes.md 4.2.
"""

import pytest

from kcsim.vocabulary import BrokerId
from kcsim.zk.errors import ControllerMovedError, NoNodeError, SessionExpiredError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.zk.operations import Create, Delete, GetData, Multi, Request, SetData
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.scripted import Bench, writes

B1, B2 = BrokerId(1), BrokerId(2)


def is_claim(request: Request) -> bool:
    return isinstance(request, Multi)


async def data_of(bench: Bench, path: str) -> bytes | None:
    found = await bench.by_hand.znodes.get_data(path)
    return found.data if found else None


def test_the_first_controller_of_a_cluster_has_epoch_1_at_version_1(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        assert await bench.kafka_zk.controller.read_epoch() is None
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (1, 1)
        assert await bench.kafka_zk.controller.read_epoch() == (1, 1)
        assert await bench.kafka_zk.controller.read_id() == B1
        found = await bench.kafka_zk.znodes.get_data(paths.CONTROLLER)
        assert found is not None
        assert found.data == b'{"version":1,"brokerid":1,"timestamp":"1600000000003"}'
        assert found.stat.ephemeral_owner == bench.client.session_id

    bench.runtime.run(main())


def test_every_election_adds_exactly_one_whichever_broker_wins(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        for expected in (1, 2, 3):
            elected = await bench.kafka_zk.controller.register_and_increment_epoch(B1)
            assert elected == (expected, expected)
            await bench.kafka_zk.controller.delete(elected[1])
        assert await bench.by_hand.controller.register_and_increment_epoch(B2) == (4, 4)

    bench.runtime.run(main())


def test_the_epoch_and_its_znodes_version_are_different_numbers(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER_EPOCH, b"41"), SetData(paths.CONTROLLER_EPOCH, b"41"))
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (42, 2)

    bench.runtime.run(main())


def test_the_epoch_overflows_as_an_int_of_java(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER_EPOCH, b"2147483647"))
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (-2147483648, 1)
        assert await data_of(bench, paths.CONTROLLER_EPOCH) == b"-2147483648"

    bench.runtime.run(main())


def test_the_second_candidate_hears_that_the_controller_moved_and_changes_nothing(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.by_hand.controller.register_and_increment_epoch(B2)
        with pytest.raises(ControllerMovedError, match="moved to another broker"):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        assert await bench.kafka_zk.controller.read_epoch() == (1, 1)

    bench.runtime.run(main())


def test_an_election_whose_answer_was_lost_is_won_all_the_same(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_claim, is_applied=True)
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (1, 1)
        assert await data_of(bench, paths.CONTROLLER_EPOCH) == b"1"

    bench.runtime.run(main())


def test_an_election_that_was_lost_on_its_way_is_held_again(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_claim, is_applied=False)
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (1, 1)

    bench.runtime.run(main())


def test_an_election_in_which_the_session_ends_is_neither_won_nor_lost(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()

        async def expire() -> None:
            await bench.runtime.sleep_ms(1)  # the claim is on its way
            bench.session.expire()

        def session_ends_before_the_claim(request: Request) -> bool:
            if isinstance(request, GetData):
                bench.runtime.spawn("expire", expire())
            return False

        bench.zookeeper.lose_reply(session_ends_before_the_claim, is_applied=False)
        with pytest.raises(SessionExpiredError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)

    bench.runtime.run(main())


def test_an_election_fails_when_the_epochs_znode_goes_before_the_claim(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER_EPOCH, b"4"))

        def epoch_goes(request: Request) -> bool:
            if is_claim(request):
                bench.zookeeper.write_by_hand(Delete(paths.CONTROLLER_EPOCH))
            return False

        bench.zookeeper.lose_reply(epoch_goes, is_applied=False)
        with pytest.raises(NoNodeError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        assert await data_of(bench, paths.CONTROLLER) is None

    bench.runtime.run(main())


def test_nobody_claims_the_role_whose_session_ended_before_the_epochs_znode_was_created(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        session = bench.session

        def session_ends(request: Request) -> bool:
            if isinstance(request, GetData):
                bench.runtime.spawn("expire", expire())
            return False

        async def expire() -> None:
            session.expire()

        bench.zookeeper.lose_reply(session_ends, is_applied=False)
        with pytest.raises(SessionExpiredError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        assert [request for request in writes(session.calls) if is_claim(request)] == []

    bench.runtime.run(main())


def test_ones_own_older_claim_with_another_epoch_is_no_victory(bench: Bench) -> None:
    """Only broker id and epoch are compared: here the id is ours, but the epoch has been raised since."""

    async def main() -> None:
        await bench.connect()
        await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)

    bench.runtime.run(main())


def test_a_controller_that_goes_while_the_refused_looks_means_moved(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.by_hand.controller.register_and_increment_epoch(B2)

        def controller_goes(request: Request) -> bool:
            if isinstance(request, GetData) and request.path == paths.CONTROLLER:
                bench.zookeeper.sessions[1].expire()
            return False

        bench.zookeeper.lose_reply(controller_goes, is_applied=False)
        with pytest.raises(ControllerMovedError, match="went away while checking"):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)

    bench.runtime.run(main())


def test_a_controller_that_is_no_json_means_moved_and_is_reported(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER, b"junk"))
        assert await bench.kafka_zk.controller.read_id() is None
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        assert bench.kafka_zk.znodes.parse_failures == {paths.CONTROLLER: 2}

    bench.runtime.run(main())


def test_an_epoch_that_is_no_number_ends_the_election_before_controller_is_made(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER_EPOCH, b"seven"))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        assert await bench.kafka_zk.znodes.exists(paths.CONTROLLER) is False

    bench.runtime.run(main())


def test_an_epoch_created_by_another_in_the_same_moment_is_read(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        # Our creation is applied but its answer is lost: the second attempt gets NODEEXISTS, as if another broker had been
        # faster.
        bench.zookeeper.lose_reply(lambda r: isinstance(r, Create), is_applied=True)
        assert await bench.kafka_zk.controller.register_and_increment_epoch(B1) == (1, 1)

    bench.runtime.run(main())


def test_an_epoch_that_vanishes_while_it_is_looked_for_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.by_hand.controller.register_and_increment_epoch(B2)
        await bench.tree(Delete(paths.CONTROLLER_EPOCH))
        lookups: list[Request] = []

        def appears_for_the_creation_only(request: Request) -> bool:
            if isinstance(request, GetData) and request.path == paths.CONTROLLER_EPOCH:
                lookups.append(request)
                if len(lookups) == 2:
                    bench.zookeeper.write_by_hand(Delete(paths.CONTROLLER_EPOCH))
            if isinstance(request, Create) and request.path == paths.CONTROLLER_EPOCH:
                bench.zookeeper.write_by_hand(Create(paths.CONTROLLER_EPOCH, b"5"))
            return False

        bench.zookeeper.lose_reply(appears_for_the_creation_only, is_applied=False)
        with pytest.raises(NoNodeError, match="existed before but goes away"):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)

    bench.runtime.run(main())


def test_a_session_that_dies_in_the_election_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_claim, is_applied=True, is_back_at_once=False)

        async def stand() -> None:
            with pytest.raises(ZooKeeperClientExpiredError):
                await bench.kafka_zk.controller.register_and_increment_epoch(B1)

        task = bench.runtime.spawn("stand", stand())
        await bench.runtime.sleep_ms(100)
        bench.zookeeper.refusals = 1
        bench.session.expire()
        await task.join()
        with pytest.raises(SessionExpiredError):
            await bench.kafka_zk.controller.register_and_increment_epoch(B1)

    bench.runtime.run(main())


def test_giving_up_the_role_is_fenced_and_needs_no_znode(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        _, version = await bench.kafka_zk.controller.register_and_increment_epoch(B1)
        await bench.kafka_zk.controller.delete(version)
        await bench.kafka_zk.controller.delete(version)
        await bench.by_hand.controller.register_and_increment_epoch(B2)
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.controller.delete(version)
        assert await bench.kafka_zk.controller.read_id() == B2

    bench.runtime.run(main())
