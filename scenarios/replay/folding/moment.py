"""What happens to the whole cluster, as far as partitions are concerned: brokers come and go, controllers take over.

A moment is what the controller does, when it does it: a broker that dies is of no consequence to who leads before the
controller has seen it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kcsim.scenarios.replay.folding.trigger import Trigger


class MomentKind(StrEnum):
    """What the controller does."""

    FAILOVER = "failover"  # another controller is ready to take over: `brokers` are those it finds dead, in its order
    STARTED = "started"
    STOPPED = "stopped"  # seen to be gone; of a bounced broker, the first half
    SHUTTING_DOWN = "shutting down"  # one broker, at its own wish
    REBALANCE = "rebalance"  # leadership is given back to the preferred leaders `brokers`; to all of them: none are named
    UNCLEAN_ENABLED = "unclean enabled"  # for `topic`, or for all
    LOG_DIRS_FAILED = "log dirs failed"  # partitions of `brokers` do not serve any more: those of `concerned`
    DELETION = "deletion"  # of `topic` begins: its replicas on `brokers` go, in this order


class View(NamedTuple):
    """What a controller knows of the brokers.

    Attributes:
        epoch: its controller epoch; 0 while it is none.
        live: those registered, as a set of bits (see Brokers); those shutting down included.
        shutting_down: as a set of bits.
        is_unclean_allowed: unclean.leader.election.enable where a topic does not say otherwise.
        phase: what it is about with brokers: each BrokerChange has up to four phases.
        since: seq of the beginning of its term of office; -1 while it has none.
    """

    epoch: int = 0
    live: int = 0
    shutting_down: int = 0
    is_unclean_allowed: bool = False
    phase: Trigger = Trigger.UNKNOWN
    since: int = -1


@dataclass(frozen=True, slots=True)
class Moment:
    """One of them, in the order of `seq`; those of one event share its seq and are in the order of handling.

    Attributes:
        view: the controller's, from now on.
        trigger: what elections and removals that follow are told to follow from.
    """

    seq: int
    t_ms: int
    kind: MomentKind
    view: View
    brokers: tuple[int, ...] = ()
    topic: str | None = None
    trigger: Trigger = Trigger.UNKNOWN
    concerned: frozenset[tuple[str, int]] = frozenset()


class Brokers:
    """Sets of brokers as whole numbers, a bit for each: views of a thousand brokers are kept by the hundred thousand."""

    __slots__ = ("_bits",)

    def __init__(self, ids: Sequence[int] = ()) -> None:
        self._bits: dict[int, int] = {}
        self.set_of(ids)

    @property
    def ids(self) -> Mapping[int, int]:
        """Broker id -> its bit."""
        return self._bits

    def bit(self, broker: int) -> int:
        """A broker's bit; a new one gets the next."""
        found = self._bits.get(broker)
        if found is None:
            found = self._bits[broker] = 1 << len(self._bits)
        return found

    def set_of(self, brokers: Sequence[int]) -> int:
        """These brokers as a set of bits."""
        bits = 0
        for broker in brokers:
            bits |= self.bit(broker)
        return bits

    def among(self, brokers: Sequence[int], bits: int) -> tuple[int, ...]:
        """Those of these brokers that are in the set, in their order."""
        known = self._bits
        return tuple([b for b in brokers if known.get(b, 0) & bits])  # a list: this is asked millions of times

    def all_in(self, bits: int) -> tuple[int, ...]:
        """Every broker of a set, by id."""
        return tuple(sorted(b for b, bit in self._bits.items() if bit & bits))
