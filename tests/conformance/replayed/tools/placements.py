"""Makes a new topic be placed as it was in a recording, if Kafka's rules allow that at all.

Kafka draws two numbers for a placement. Later steps depend on them, so they are chosen as the winner of an election is.
"""

import random
from collections.abc import Iterable, Mapping, Sequence

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.placement import Draw, RandomNumbers
from kcsim.scenarios.comparing.content import json_of
from kcsim.scenarios.comparing.writes import Write
from kcsim.zk import paths
from kcsim.zk.paths import PathKind

SEED = 1
"""For placements that no recording tells of."""
Placed = Mapping[int, Sequence[int]]
"""Partition -> its replicas."""


def placements(writes: Iterable[Write]) -> dict[str, Placed]:
    """Topic -> where its partitions were placed, of the topics that came into being with these writes."""
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
    """Numbers that were drawn beforehand."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def randrange(self, stop: int, /) -> int:
        return self._numbers.pop(0) % stop


def numbers_for(
    recorded: Placed | None, brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int
) -> RandomNumbers:
    """Numbers that lead to the recorded placement; others if none do, or if there is no such thing."""
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
