"""The draws from which a topic may have been placed, as text for people and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcsim.controller.decisions.broker_ring import BrokerMetadata, ring_of
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas, replicas_of
from kcsim.controller.decisions.placement_inference import DrawInference, InferredGrowth, infer_draw, infer_growth
from kcsim.scenarios.views.terminal.table import table
from kcsim.text import comma_separated


class InferredTopic:
    """One topic and the draws from which it may have been placed.

    Args:
        described: the topic's partitions.
        brokers: the brokers that took part, as an argument for assign_replicas.
        start_partition: the first partition to explain.
    """

    def __init__(self, topic: str, described: Assignment, brokers: Sequence[BrokerMetadata], start_partition: int) -> None:
        self.topic = topic
        self._described = {p: replicas for p, replicas in sorted(described.items()) if p >= start_partition}
        self._ring = ring_of(brokers)
        self._start_partition = start_partition
        self.inference: DrawInference = infer_draw(self._described, brokers, start_partition)
        self.growth: InferredGrowth | None = (
            infer_growth(self._described, brokers) if self.inference.deviating and not start_partition else None
        )

    def lines(self) -> Iterator[str]:
        """Yield a few sentences, and the partitions that deviate."""
        found = self.inference
        yield f"Topic {self.topic}: {len(self._described)} partitions on brokers {comma_separated(self._ring.brokers)}"
        if found.solutions:
            apart = "" if found.is_unique else "; nothing about the topic distinguishes them"
            yield f"  made by {_pairs(found.solutions)}{apart}"
            return
        yield "  no start index and shift make this topic"
        if found.fitting:
            explained = len(self._described) - len(found.deviating)
            yield f"  nearest: {_pairs(found.fitting)}, which explains {explained} of {len(self._described)}; not these:"
            rows = [(p, _ids(self._described[p]), _ids(expected)) for p, expected in self._expected().items()]
            yield from ("  " + line for line in table(("Partition", "Replicas", "Would be"), rows))
        else:
            yield "  nor do they explain any one partition on these brokers"
        if self.growth is not None:
            made = f"partitions 0 to {self.growth.additions[0] - 1} by {_pairs(self.growth.created.solutions)}"
            added = " and ".join(f"from {partition} on" for partition in self.growth.additions)
            yield f"  it may have grown: {made}; those {added} added by {_pairs([self.growth.drawn])}"

    def _expected(self) -> Mapping[int, Replicas]:
        """Return the replicas that the nearest pair gives to the deviating partitions."""
        if not self.inference.fitting:
            return {}
        usual = next(len(replicas) for p, replicas in self._described.items() if p not in self.inference.deviating)
        nearest = self.inference.fitting[0]
        return {p: replicas_of(self._ring, p, usual, nearest, self._start_partition) for p in self.inference.deviating}

    def as_json(self) -> dict[str, Any]:
        """Return the same facts as a value for JSON."""
        found, expected = self.inference, self._expected()
        growth = self.growth and {
            "created_by": [pair._asdict() for pair in self.growth.created.solutions],
            "additions": list(self.growth.additions),
            "added_by": self.growth.drawn._asdict(),
        }
        return {
            "topic": self.topic,
            "brokers": list(self._ring.brokers),
            "rack_aware": self._ring.is_rack_aware,
            "solutions": [pair._asdict() for pair in found.solutions],
            "unique": found.is_unique,
            "nearest": [pair._asdict() for pair in found.fitting],
            "deviating": [
                {"partition": p, "replicas": list(self._described[p]), "expected": list(expected.get(p, ())) or None}
                for p in found.deviating
            ],
            "growth": growth,
        }


def _pairs(pairs: Sequence[Draw]) -> str:
    """Return the pairs as text, grouped by start index."""
    shifts: dict[int, list[int]] = {}
    for start, shift in pairs:
        shifts.setdefault(start, []).append(shift)
    return "; or ".join(f"start index {start}, shift {' or '.join(map(str, found))}" for start, found in shifts.items())


def _ids(replicas: Replicas) -> str:
    return ",".join(map(str, replicas))
