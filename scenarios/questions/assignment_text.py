"""Replica assignments for people to read and for Kafka's tools: tables, spread, how each replica was chosen, JSON."""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing
from kcsim.controller.decisions.placement import Candidate, Draw, Replicas, Rule, candidates, shift_bumps
from kcsim.controller.decisions.spread import Evenness, Spread
from kcsim.scenarios.language.words import listed
from kcsim.scenarios.questions.broker_words import broker_written, brokers_written
from kcsim.zk.vocabulary import BrokerId, TopicPartition

K = TypeVar("K", bound=Hashable)

Racks = Mapping[BrokerId, str | None]
SHARING_SHOWN = 10


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lines of a table: what begins with a digit is a number and stands at the right of its column."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in chain([list(header)], cells):
        padded = (c.rjust(width) if c.isdigit() else c.ljust(width) for c, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def assignment_lines(assignment: Mapping[int, Replicas], racks: Racks) -> Iterator[str]:
    """Partition, replicas, and their racks if there are any."""
    if not any(racks.values()):
        return table(("Partition", "Replicas"), ((p, _ids(replicas)) for p, replicas in assignment.items()))
    rows = ((p, _ids(r), ",".join(racks.get(b) or "-" for b in r)) for p, r in assignment.items())
    return table(("Partition", "Replicas", "Racks"), rows)


def ring_line(ring: BrokerRing, racks: Racks) -> str:
    """The list of brokers that placement walks."""
    order = "racks alternating" if ring.is_rack_aware else "without racks"
    walked = [BrokerMetadata(broker, racks.get(broker) if ring.is_rack_aware else None) for broker in ring.brokers]
    return f"Brokers in the order walked, {order}: {brokers_written(walked)}"


# --- spread ----------------------------------------------------------------------------------------------------------------


def spread_lines(found: Spread[K], racks: Racks) -> Iterator[str]:
    """Replicas and preferred leaders per broker and rack, how even they are, and what shares a rack."""
    rows = (
        (broker, racks.get(broker) or "-", load.replicas, load.leaders, found.follower_sets[broker])
        for broker, load in found.brokers.items()
    )
    yield from table(("Broker", "Rack", "Replicas", "Leaders", "Follower sets"), rows)
    yield ""
    if found.racks:
        yield from table(
            ("Rack", "Replicas", "Leaders"), ((rack, load.replicas, load.leaders) for rack, load in found.racks.items())
        )
        yield ""
    yield f"Replicas per broker: {_even(found.replicas_per_broker)}"
    yield f"Leaders per broker: {_even(found.leaders_per_broker)}"
    if found.racks:
        yield f"Replicas per rack: {_even(found.replicas_per_rack)}"
        yield f"Leaders per rack: {_even(found.leaders_per_rack)}"
        yield f"Partitions with replicas that share a rack: {_some(found.sharing_a_rack)}"


def _even(counts: Evenness) -> str:
    return (
        f"max {counts.largest}, min {counts.smallest}, mean {counts.mean:.2f},"
        f" standard deviation {counts.standard_deviation:.2f}"
    )


def _some(partitions: Sequence[object]) -> str:
    if not partitions:
        return "none"
    more = f", and {len(partitions) - SHARING_SHOWN} more" if len(partitions) > SHARING_SHOWN else ""
    return f"{len(partitions)} ({listed(partitions[:SHARING_SHOWN])}{more})"


# --- how each replica was chosen -------------------------------------------------------------------------------------------


def explanation_lines(
    ring: BrokerRing, racks: Racks, drawn: Draw, assignment: Mapping[int, Replicas], start_partition: int
) -> Iterator[str]:
    """For each partition the brokers looked at, one after the other, and what became of each.

    Args:
        assignment: what was placed with this ring and draw, beginning with start_partition.
    """
    n = len(ring)
    step = f" * {ring.rack_count}" if ring.rack_count > 1 else ""
    meaning = f", {ring.rack_count} being the number of racks" if ring.rack_count > 1 else ""
    yield f"First replica of partition p: position (p + {drawn.start_index}) mod {n} in the list above, counted from 0."
    if any(len(replicas) > 1 for replicas in assignment.values()):
        yield (
            f"Candidate k for follower, k = 0, 1, …: position (first + 1 + (shift{step} + k) mod {n - 1}) mod {n}"
            f"{meaning}; until there are enough replicas."
        )
    yield (
        f"The shift begins with {drawn.next_replica_shift} and grows by 1 with each partition, other than 0,"
        f" whose number is a multiple of {n}."
    )
    for partition, replicas in assignment.items():
        first = ring.leading_position(partition, drawn.start_index)
        shift = drawn.next_replica_shift + shift_bumps(n, partition, start_partition)
        yield ""
        yield f"Partition {partition}, shift {shift}: {_ids(replicas)}"
        yield from table(
            ("", "Broker", "Position", ""), _looked_at(ring, racks, candidates(ring, first, shift), len(replicas))
        )


def _looked_at(
    ring: BrokerRing, racks: Racks, looked_at: Iterator[Candidate], replication_factor: int
) -> Iterator[tuple[object, ...]]:
    chosen = 0
    for candidate in looked_at:
        broker = ring.brokers[candidate.position]
        named = broker_written(BrokerMetadata(broker, racks.get(broker) if ring.is_rack_aware else None))
        which = "first replica" if candidate.number is None else f"candidate {candidate.number}"
        chosen += candidate.rule is Rule.CHOSEN
        judged = "chosen" if candidate.rule is Rule.CHOSEN else f"passed over: {candidate.rule.value}"
        yield f"  {which}", named, candidate.position, judged
        if chosen == replication_factor:
            return


# --- JSON ------------------------------------------------------------------------------------------------------------------


def reassignment_json(assignment: Mapping[TopicPartition, Replicas]) -> str:
    """What `kafka-reassign-partitions` reads and prints, log directories included."""
    entries = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": replicas, "log_dirs": ["any"] * len(replicas)}
        for tp, replicas in assignment.items()
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"))


def _ids(replicas: Replicas) -> str:
    return ",".join(map(str, replicas))
