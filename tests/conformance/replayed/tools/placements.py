"""Reproduction of recorded placements for new topics, as far as Kafka's rules allow them.

Kafka draws two numbers for a placement. Later steps depend on them, so they are chosen as the winner of an election is.
"""

import random
from collections.abc import Iterable, Mapping, Sequence

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.placement import Draw, RandomNumbers
from kcsim.zk.capture.write_comparison.content import json_of
from kcsim.zk.capture.write_comparison.writes import ZnodeWrite
from kcsim.znodes import paths
from kcsim.znodes.paths import PathKind

SEED = 1
"""Seed for placements that no recording has."""
Placed = Mapping[int, Sequence[int]]
"""Partition -> its replicas."""


def placements(writes: Iterable[ZnodeWrite]) -> dict[str, Placed]:
    """Return topic -> placement of its partitions, for the topics that these writes create."""
    found: dict[str, Placed] = {}
    for write in writes:
        known = paths.parse(write.path)
        if write.op == "create" and known is not None and known.kind is PathKind.TOPIC and known.topic is not None:
            value = json_of(write.data)
            partitions = value.get("partitions") if isinstance(value, dict) else None
            if isinstance(partitions, dict):
                found[known.topic] = {int(number): replicas for number, replicas in partitions.items() if number.isdecimal()}
    return found


class Drawn:
    """Random numbers that were drawn beforehand."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def randrange(self, stop: int, /) -> int:
        return self._numbers.pop(0) % stop


def numbers_for(
    recorded: Placed | None, brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int
) -> RandomNumbers:
    """Return numbers that lead to the recorded placement; random ones if none do, or if no placement was recorded."""
    for start in range(len(brokers)) if recorded else ():
        for shift in range(len(brokers)):
            if recorded == _placement(brokers, partitions, replication_factor, Draw(start, shift)):
                return Drawn([start, shift])
    return random.Random(SEED)


def _placement(brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int, drawn: Draw) -> Placed | None:
    try:
        placed = assign_replicas(brokers, partitions, replication_factor, drawn)
    except RefusedError:
        return None
    return {partition: list(replicas) for partition, replicas in placed.items()}
