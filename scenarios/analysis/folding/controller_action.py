"""The controller's actions on the whole cluster that concern partitions: brokers come and go, controllers fail over.

An action takes place when the controller acts: a broker that dies has no effect on leaders before the controller has noticed
its death.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kcsim.scenarios.analysis.folding.trigger import Trigger


class ControllerActionKind(StrEnum):
    """What the controller does."""

    FAILOVER = "failover"  # another controller is ready to take over: `brokers` are those it finds dead, in its order
    STARTED = "started"
    STOPPED = "stopped"  # noticed as gone; for a bounced broker, the first half
    SHUTTING_DOWN = "shutting down"  # one broker, at its own request
    REBALANCE = "rebalance"  # leadership returns to the preferred leaders `brokers`; if none are named, to all of them
    UNCLEAN_ENABLED = "unclean enabled"  # for `topic`, or for all
    LOG_DIRS_FAILED = "log dirs failed"  # the replicas of the partitions `concerned` on `brokers` no longer serve
    DELETION = "deletion"  # of `topic` begins: its replicas on `brokers` are deleted, in this order


class ControllerView(NamedTuple):
    """What a controller knows of the brokers.

    Attributes:
        epoch: its controller epoch; 0 while it is not the controller.
        live: the registered brokers as a set of bits (see BrokerBits), those shutting down included.
        shutting_down: the brokers that are shutting down, as a set of bits.
        is_unclean_allowed: unclean.leader.election.enable for topics that do not set it themselves.
        phase: which change of brokers it is processing: each BrokerChange has up to four phases.
        since: seq of the beginning of its term; -1 while it has none.
    """

    epoch: int = 0
    live: int = 0
    shutting_down: int = 0
    is_unclean_allowed: bool = False
    phase: Trigger = Trigger.UNKNOWN
    since: int = -1


@dataclass(frozen=True, slots=True)
class ControllerAction:
    """One action. Actions are ordered by `seq`; those of one event share its seq and are in the order of handling.

    Attributes:
        view: the controller's view from now on.
        trigger: the trigger of the elections and removals that follow.
    """

    seq: int
    t_ms: int
    kind: ControllerActionKind
    view: ControllerView
    brokers: tuple[int, ...] = ()
    topic: str | None = None
    trigger: Trigger = Trigger.UNKNOWN
    concerned: frozenset[tuple[str, int]] = frozenset()


class BrokerBits:
    """Sets of brokers as integers, one bit per broker: hundreds of thousands of views of a thousand brokers are kept."""

    __slots__ = ("_bits",)

    def __init__(self, ids: Sequence[int] = ()) -> None:
        self._bits: dict[int, int] = {}
        self.set_of(ids)

    @property
    def ids(self) -> Mapping[int, int]:
        """Broker id -> its bit."""
        return self._bits

    def bit(self, broker: int) -> int:
        """Return a broker's bit; a new broker gets the next bit."""
        found = self._bits.get(broker)
        if found is None:
            found = self._bits[broker] = 1 << len(self._bits)
        return found

    def set_of(self, brokers: Sequence[int]) -> int:
        """Return these brokers as a set of bits."""
        bits = 0
        for broker in brokers:
            bits |= self.bit(broker)
        return bits

    def among(self, brokers: Sequence[int], bits: int) -> tuple[int, ...]:
        """Return those of these brokers that are in the set, in their order."""
        known = self._bits
        return tuple([b for b in brokers if known.get(b, 0) & bits])  # a list is faster: this is called millions of times

    def all_in(self, bits: int) -> tuple[int, ...]:
        """Return every broker of a set, by id."""
        return tuple(sorted(b for b, bit in self._bits.items() if bit & bits))
