"""Elections of the controller that are brought about by hand."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from kcsim import znodes
from kcsim.controller.admin.controller_moves import ElectionNotWonError, take_controller
from kcsim.vocabulary import BrokerId
from kcsim.zk.operations import Create
from kcsim.znodes import paths
from tests.controller.controller_harness import listening
from tests.zk.kafka.scripted import Bench

B1, B2, B3 = (BrokerId(number) for number in (1, 2, 3))
WITHIN_MS = 10_000


def play(winners: Sequence[BrokerId], script: Callable[[Bench, list[str]], Coroutine[Any, Any, None]]) -> list[str]:
    """Run a script on a ZooKeeper where these brokers win the elections, one after the other; the first has won already.

    Returns: the lines that were printed.
    """
    bench = Bench()
    lines: list[str] = []

    async def compete() -> None:
        for winner in winners[1:]:
            while await bench.by_hand.controller.read_id() is not None:
                await bench.runtime.sleep_ms(10)
            await bench.by_hand.controller.register_and_increment_epoch(winner)

    async def main() -> None:
        await bench.connect()
        await bench.by_hand.cluster.create_top_level_paths()
        for broker in (B1, B2, B3):
            await bench.tree(Create(paths.broker_id(broker), znodes.encode_broker(listening(broker))))
        await bench.by_hand.controller.register_and_increment_epoch(winners[0])
        bench.runtime.spawn("brokers", compete())
        await script(bench, lines)

    bench.runtime.run(main())
    return lines


def test_there_are_elections_until_a_wanted_broker_has_won() -> None:
    async def script(bench: Bench, lines: list[str]) -> None:
        await take_controller(bench.kafka_zk, [B1, B2], 5, WITHIN_MS, lines.append)
        assert await bench.by_hand.controller.read_id() == B2

    assert play([B3, B3, B3, B2, B1], script) == [
        "broker-3 is the controller of epoch 2",
        "broker-3 is the controller of epoch 3",
        "broker-2 is the controller of epoch 4",
    ]


def test_a_wanted_broker_that_is_the_controller_stays_it() -> None:
    async def script(bench: Bench, lines: list[str]) -> None:
        await take_controller(bench.kafka_zk, [B3], 5, WITHIN_MS, lines.append)

    assert play([B3, B1], script) == ["broker-3 is the controller already"]


def test_without_a_wanted_broker_there_is_one_election() -> None:
    async def script(bench: Bench, lines: list[str]) -> None:
        await take_controller(bench.kafka_zk, [], 5, WITHIN_MS, lines.append)

    assert play([B3, B1, B2], script) == ["broker-1 is the controller of epoch 2"]


@pytest.mark.parametrize(
    ("winners", "wanted", "message"),
    [
        ([B3, B3, B3], [B1], "none of the wanted brokers has won 2 elections"),
        ([B3], [B1], "no broker has become the controller within 10 s"),
        ([B3], [B1, BrokerId(8)], "not registered: broker-8"),
    ],
)
def test_an_election_that_no_wanted_broker_wins_is_reported(
    winners: Sequence[BrokerId], wanted: Sequence[BrokerId], message: str
) -> None:
    async def script(bench: Bench, lines: list[str]) -> None:
        with pytest.raises(ElectionNotWonError, match=f"^{message}$"):
            await take_controller(bench.kafka_zk, wanted, 2, WITHIN_MS, lines.append)

    play(winners, script)
