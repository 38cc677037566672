"""An election of the controller, brought about by hand: /controller is deleted, as operators of Kafka do it.

The broker that is the first to create the znode wins. Which one that is cannot be chosen, but the election can be repeated
until one of certain brokers has won. Each election raises the controller epoch. A deletion is fenced by /controller_epoch,
so that no later controller loses its role by it.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import count

from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId
from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.kafka.kafka_zk import KafkaZk

LOOK_EVERY_MS = 50


class ElectionNotWonError(Exception):
    """None of the wanted brokers is the controller; the message says why."""


async def take_controller(
    kafka_zk: KafkaZk, wanted: Collection[BrokerId], elections: int, within_ms: int, say: Callable[[str], None]
) -> None:
    """Elect until one of these brokers is the controller.

    Args:
        wanted: none: elect once, whoever wins.
        elections: how many at most.
        within_ms: how long each may take.
        say: prints a line about each election.

    Raises: ElectionNotWonError.
    """
    registered = {info.broker_id for info, _ in await kafka_zk.brokers.read_all_with_epochs()}
    if missing := sorted(set(wanted) - registered):
        raise ElectionNotWonError(f"not registered: {comma_separated([f'broker-{broker}' for broker in missing])}")
    holder = await kafka_zk.controller.read_id()
    if holder in wanted:
        say(f"broker-{holder} is the controller already")
        return
    for number in count(1):
        winner, epoch = await _elect(kafka_zk, within_ms)
        say(f"broker-{winner} is the controller of epoch {epoch}")
        if not wanted or winner in wanted:
            return
        if number >= elections:
            raise ElectionNotWonError(f"none of the wanted brokers has won {elections} elections")


async def _elect(kafka_zk: KafkaZk, within_ms: int) -> tuple[BrokerId, int]:
    """Delete /controller, if it exists, and return the next controller and its epoch. Raises: ElectionNotWonError."""
    runtime = kafka_zk.znodes.client.runtime
    before = await kafka_zk.controller.read_epoch()
    if before is not None:
        with suppress(ControllerMovedError):  # there has been an election meanwhile
            await kafka_zk.controller.delete(before[1])
    deadline_ms = runtime.now_ms() + within_ms
    while runtime.now_ms() < deadline_ms:
        elected = await kafka_zk.controller.read_epoch()
        if elected is not None and (before is None or elected[0] > before[0]):
            winner = await kafka_zk.controller.read_id()
            if winner is not None:
                return winner, elected[0]
        await runtime.sleep_ms(LOOK_EVERY_MS)
    raise ElectionNotWonError(f"no broker has become the controller within {within_ms / 1000:g} s")
