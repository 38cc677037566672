"""Replica assignments as text for people and for Kafka's tools: tables, spread, the choice of each replica, JSON."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing
from kcsim.controller.decisions.placement import Candidate, CandidateRule, Draw, Replicas, candidates, shift_bumps
from kcsim.controller.decisions.spread import Evenness, ReplicaSpread
from kcsim.scenarios.cli.calculators.broker_list import broker_text, brokers_text
from kcsim.scenarios.views.terminal.table import table
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId

K = TypeVar("K", bound=Hashable)

Racks = Mapping[BrokerId, str | None]
SHARING_SHOWN = 10


def assignment_lines(assignment: Mapping[int, Replicas], racks: Racks) -> Iterator[str]:
    """Return a table of partitions, their replicas, and the replicas' racks if there are any."""
    if not any(racks.values()):
        return table(("Partition", "Replicas"), ((p, _ids(replicas)) for p, replicas in assignment.items()))
    rows = ((p, _ids(r), ",".join(racks.get(b) or "-" for b in r)) for p, r in assignment.items())
    return table(("Partition", "Replicas", "Racks"), rows)


def ring_line(ring: BrokerRing, racks: Racks) -> str:
    """Return the line with the list of brokers that placement walks."""
    order = "racks alternating" if ring.is_rack_aware else "without racks"
    walked = [BrokerMetadata(broker, racks.get(broker) if ring.is_rack_aware else None) for broker in ring.brokers]
    return f"Brokers in the order walked, {order}: {brokers_text(walked)}"


# --- spread ----------------------------------------------------------------------------------------------------------------


def spread_lines(found: ReplicaSpread[K], racks: Racks) -> Iterator[str]:
    """Yield tables of replicas and preferred leaders per broker and per rack, and lines on their distribution.

    The lines say how even the numbers are, and which partitions have several replicas in one rack.
    """
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
    return f"{len(partitions)} ({comma_separated(partitions[:SHARING_SHOWN])}{more})"


# --- how each replica was chosen -------------------------------------------------------------------------------------------


def explanation_lines(
    ring: BrokerRing, racks: Racks, drawn: Draw, assignment: Mapping[int, Replicas], start_partition: int
) -> Iterator[str]:
    """Yield, for each partition, the brokers that were considered, in order, and the decision about each.

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
        named = broker_text(BrokerMetadata(broker, racks.get(broker) if ring.is_rack_aware else None))
        which = "first replica" if candidate.number is None else f"candidate {candidate.number}"
        chosen += candidate.rule is CandidateRule.CHOSEN
        judged = "chosen" if candidate.rule is CandidateRule.CHOSEN else f"passed over: {candidate.rule.value}"
        yield f"  {which}", named, candidate.position, judged
        if chosen == replication_factor:
            return


# --- JSON ------------------------------------------------------------------------------------------------------------------


def _ids(replicas: Replicas) -> str:
    return ",".join(map(str, replicas))
