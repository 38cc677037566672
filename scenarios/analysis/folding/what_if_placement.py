"""The replicas that a partition would have had if its topic had been placed differently."""

import random
from functools import lru_cache

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Assignment, Draw
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.vocabulary import BrokerId, ReplicaAssignment

TOPICS_REMEMBERED = 16
"""A few are enough: the partitions of a topic are folded one after the other."""


def placement_of(what_if: WhatIf, key: PartitionKey, timeline: Timeline) -> ReplicaAssignment | None:
    """Return the replicas of the partition; None: those in the history. Raises: what assign_replicas raises."""
    given = what_if.placement.get((key.topic, key.partition))
    if given is not None:
        return ReplicaAssignment(tuple(BrokerId(b) for b in given))
    if what_if.replication_factor is None:
        return None
    partitions = 1 + max(
        (p for _, _, _, content in timeline.topic_timeline(key.topic).versions if content for p in content.assignments),
        default=0,
    )
    brokers = tuple(sorted(timeline.racks.items()))
    placed = _placed(key.topic, max(partitions, key.partition + 1), what_if.replication_factor, brokers, what_if.seed)
    return ReplicaAssignment(tuple(placed[key.partition]))


@lru_cache(TOPICS_REMEMBERED)
def _placed(topic: str, partitions: int, factor: int, brokers: tuple[tuple[int, str | None], ...], seed: int) -> Assignment:
    """Return Kafka's own placement of a whole topic; its two numbers are drawn from the seed and the topic's name."""
    drawn = random.Random(f"{seed} {topic}")
    racks = dict(brokers) if all(rack is not None for _, rack in brokers) else dict.fromkeys(dict(brokers))
    ring = [BrokerMetadata(BrokerId(b), rack) for b, rack in racks.items()]
    return assign_replicas(ring, partitions, factor, Draw(drawn.randrange(len(ring)), drawn.randrange(len(ring))))
