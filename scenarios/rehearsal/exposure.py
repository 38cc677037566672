"""What the loss of one broker or of one rack would do to a partition, from its in-sync replicas: pure functions."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple


class Exposure(Enum):
    """A state of a partition that a plan should not bring about, the gravest first. Values go on after the ISR."""

    OFFLINE = "of which none leads: the partition is offline"
    OFFLINE_BY_BROKER = "a single replica: the loss of {0} takes the partition offline, and its data"
    OFFLINE_BY_RACK = "all in rack {0}: the loss of rack {0} takes the partition offline, and its data"
    BELOW_MIN_ISR = "fewer than min.insync.replicas"
    BELOW_MIN_ISR_BY_BROKER = "as many as min.insync.replicas: the loss of one broker ends writes with acks=all"
    BELOW_MIN_ISR_BY_RACK = "so many in rack {0} that its loss leaves fewer than min.insync.replicas"

    @property
    def is_offline(self) -> bool:
        """Whether the partition, or its data, is lost: else only acks=all is refused."""
        return self in OFFLINE_STATES


OFFLINE_STATES = (Exposure.OFFLINE, Exposure.OFFLINE_BY_BROKER, Exposure.OFFLINE_BY_RACK)
AS_GRAVE: Mapping[Exposure, frozenset[Exposure]] = {
    Exposure.OFFLINE: frozenset({Exposure.OFFLINE}),
    Exposure.OFFLINE_BY_BROKER: frozenset({Exposure.OFFLINE, Exposure.OFFLINE_BY_BROKER}),
    Exposure.OFFLINE_BY_RACK: frozenset(OFFLINE_STATES),
    Exposure.BELOW_MIN_ISR: frozenset({Exposure.OFFLINE, Exposure.BELOW_MIN_ISR}),
    Exposure.BELOW_MIN_ISR_BY_BROKER: frozenset(Exposure) - {Exposure.OFFLINE_BY_RACK, Exposure.BELOW_MIN_ISR_BY_RACK},
    Exposure.BELOW_MIN_ISR_BY_RACK: frozenset(Exposure),
}
"""Exposure -> those that are as grave or graver: a partition that had one of them before has become no worse."""
GRAVITY = {exposure: place for place, exposure in enumerate(Exposure)}


class InSync(NamedTuple):
    """What is in sync of a partition. Attributes: is_led: whether it has a leader that is registered."""

    isr: tuple[int, ...]
    is_led: bool
    min_isr: int


class Exposed(NamedTuple):
    """An exposure of a partition. Attributes: brokers: those whose loss does it; empty: none has to be lost for it."""

    exposure: Exposure
    brokers: tuple[int, ...] = ()
    rack: str | None = None

    def __str__(self) -> str:
        lost = self.rack if self.rack is not None else ", ".join(f"broker {broker}" for broker in self.brokers)
        return self.exposure.value.format(lost)


def exposures(of: InSync, racks: Mapping[int, str | None]) -> dict[Exposure, Exposed]:
    """Return the exposures of a partition. What one broker does is not repeated for its rack.

    Args:
        racks: broker -> its rack; racks count only if there are several.
    """
    if not of.is_led:
        return {Exposure.OFFLINE: Exposed(Exposure.OFFLINE)}
    found = [*_by_broker(of)]
    known = {found.exposure for found in found}
    if len({rack for rack in racks.values() if rack is not None}) > 1:
        found += [one for one in _by_rack(of, racks) if BY_BROKER[one.exposure] not in known]
    return {one.exposure: one for one in found}


BY_BROKER = {
    Exposure.OFFLINE_BY_RACK: Exposure.OFFLINE_BY_BROKER,
    Exposure.BELOW_MIN_ISR_BY_RACK: Exposure.BELOW_MIN_ISR_BY_BROKER,
}
"""Exposure to a rack -> the same to a broker, which is a part of some rack."""


def _by_broker(of: InSync) -> Sequence[Exposed]:
    found = []
    if len(of.isr) == 1:
        found.append(Exposed(Exposure.OFFLINE_BY_BROKER, of.isr))
    if len(of.isr) < of.min_isr:
        found.append(Exposed(Exposure.BELOW_MIN_ISR))
    elif len(of.isr) == of.min_isr > 1:
        found.append(Exposed(Exposure.BELOW_MIN_ISR_BY_BROKER, of.isr))
    return found


def _by_rack(of: InSync, racks: Mapping[int, str | None]) -> Sequence[Exposed]:
    in_rack = Counter(rack for broker in of.isr if (rack := racks.get(broker)) is not None)
    if not in_rack:
        return []
    rack, most = max(in_rack.items(), key=lambda one: (one[1], one[0]))
    brokers = tuple(broker for broker in of.isr if racks.get(broker) == rack)
    found = []
    if most == len(of.isr):
        found.append(Exposed(Exposure.OFFLINE_BY_RACK, brokers, rack))
    elif len(of.isr) - most < of.min_isr <= len(of.isr):
        found.append(Exposed(Exposure.BELOW_MIN_ISR_BY_RACK, brokers, rack))
    return found


def harmed_by_plan(
    offline: Collection[str], below_min_isr: Collection[str], before: Mapping[str, Collection[Exposure]], by_rack: bool
) -> Iterator[str]:
    """Yield the partitions to which a loss does what no loss of that kind would have done to them before the plan.

    Args:
        offline: what the loss has taken offline, or what a replica outside the ISR leads because of it.
        below_min_isr: what it has brought below min.insync.replicas.
        before: partition -> its exposures before the plan.
        by_rack: whether a rack was lost; False: a broker.
    """
    offline_by = Exposure.OFFLINE_BY_RACK if by_rack else Exposure.OFFLINE_BY_BROKER
    below_by = Exposure.BELOW_MIN_ISR_BY_RACK if by_rack else Exposure.BELOW_MIN_ISR_BY_BROKER
    yield from (name for name in offline if AS_GRAVE[offline_by].isdisjoint(before[name]))
    yield from (name for name in below_min_isr if AS_GRAVE[below_by].isdisjoint(before[name]))
