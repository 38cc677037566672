"""When one broker was registered, from its own lines and the controllers' looks at /brokers/ids, in order of time.

A controller tells who is gone, but nobody tells the end of the controller's own session: that follows from the next
election, whose winner does not find it. Broker epochs (Kafka 2.2 and newer) name a registration; before, only times do.

Pure. Source: reference logging.md 5, 6, 8.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from kcsim.scenarios.imported.kafka_logs.entries import Place, RegistrationChange, Shown
from kcsim.scenarios.imported.kafka_logs.evidence import Gathered
from kcsim.scenarios.imported.kafka_logs.messages import (
    BrokerEpochs,
    BrokersAlive,
    BrokersChanged,
    BrokerShutsDown,
    Registered,
    SessionEnded,
)
from kcsim.zk.vocabulary import BrokerId

AGAIN = "it registered again"
EXPIRED = "its session expired"
CLOSED = "it closed its session"


class Sign(IntEnum):
    """What a line says of a broker; of several at the same moment the lower come first."""

    DELETED = 0  # by the controller's account
    CLOSED = 1
    EXPIRED = 2
    REGISTERED = 3  # by its own account
    ADDED = 4
    BOUNCED = 5
    PRESENT = 6
    ABSENT = 7  # when a controller took the role
    LEAVING = 8  # it has asked the controller to be let go


class Look(NamedTuple):
    """One sign of one broker."""

    t_ms: int
    sign: Sign
    place: Place
    epoch: int | None = None
    endpoints: tuple[str, ...] = ()


def registrations(gathered: Gathered) -> list[RegistrationChange]:
    """Every registration and its end, as far as they show; in order of time for each broker."""
    return [change for broker, looks in sorted(_looks(gathered).items()) for change in _Timeline(broker).of(looks)]


def _looks(gathered: Gathered) -> dict[BrokerId, list[Look]]:
    found: dict[BrokerId, list[Look]] = defaultdict(list)
    for broker, look in _all(gathered):
        found[broker].append(look)
    for t_ms, place, alive in _rolls(gathered):
        for broker in sorted(found.keys() - alive):
            found[broker].append(Look(t_ms, Sign.ABSENT, place))
    return found


def _all(gathered: Gathered) -> Iterator[tuple[BrokerId, Look]]:
    for at in gathered.others[Registered]:
        if isinstance(says := at.says, Registered):
            yield says.broker, Look(at.t_ms, Sign.REGISTERED, at.place, says.epoch, says.endpoints)
    for at in gathered.others[BrokersChanged]:
        if isinstance(says := at.says, BrokersChanged):
            for sign, brokers in (
                (Sign.ADDED, says.added),
                (Sign.DELETED, says.deleted),
                (Sign.BOUNCED, says.bounced),
            ):
                yield from ((broker, Look(at.t_ms, sign, at.place)) for broker in brokers)
    for at in gathered.others[BrokerEpochs]:
        if isinstance(says := at.says, BrokerEpochs):
            for broker, epoch in sorted(says.epochs.items()):
                yield broker, Look(at.t_ms, Sign.PRESENT, at.place, epoch)
    for at in gathered.others[BrokersAlive]:
        if isinstance(says := at.says, BrokersAlive):
            yield from ((broker, Look(at.t_ms, Sign.PRESENT, at.place)) for broker in says.brokers)
    for at in gathered.others[BrokerShutsDown]:
        if isinstance(says := at.says, BrokerShutsDown):
            yield says.broker, Look(at.t_ms, Sign.LEAVING, at.place)
    for at in gathered.others[SessionEnded]:
        owners = gathered.owners[at.place.file]
        if isinstance(says := at.says, SessionEnded) and len(owners) == 1:
            sign = Sign.EXPIRED if says.is_expired else Sign.CLOSED
            yield next(iter(owners)), Look(at.t_ms, sign, at.place)


def _rolls(gathered: Gathered) -> Iterator[tuple[int, Place, set[BrokerId]]]:
    """The whole list of registered brokers, whenever a controller read it at its election."""
    for at in gathered.others[BrokerEpochs]:
        if isinstance(says := at.says, BrokerEpochs) and says.at_election:
            yield at.t_ms, at.place, set(says.epochs)
    for at in gathered.others[BrokersAlive]:
        if isinstance(says := at.says, BrokersAlive):
            yield at.t_ms, at.place, set(says.brokers)


class _Timeline:
    """One broker's registrations, sign by sign."""

    def __init__(self, broker: BrokerId) -> None:
        self._broker = broker
        self._changes: list[RegistrationChange] = []
        self._known: set[int] = set()
        self._is_there: bool | None = None  # None: nothing is known yet
        self._is_leaving = False

    def of(self, looks: list[Look]) -> list[RegistrationChange]:
        for look in sorted(looks):
            self._take(look)
        return self._changes

    def _take(self, look: Look) -> None:
        match look.sign:
            case Sign.REGISTERED:
                self._begin(look, Shown.AT_ONCE)
            case Sign.PRESENT | Sign.ADDED:
                self._begin(look, Shown.LATER)
            case Sign.BOUNCED:
                if not self._is_new(look):
                    self._end(look, Shown.LATER, AGAIN)
                    self._begin(look, Shown.LATER)
            case Sign.DELETED if self._is_there is not False:
                self._end(look, Shown.AT_ONCE, None)
            case Sign.CLOSED if self._is_there:
                self._end(look, Shown.AT_ONCE, CLOSED, was_closed=True)
            case Sign.EXPIRED if self._is_there:
                self._end(look, Shown.LATER, EXPIRED)
            case Sign.CLOSED | Sign.EXPIRED if self._changes:
                self._changes[-1] = _explained(self._changes[-1], look)
            case Sign.LEAVING:
                self._is_leaving = True
            case Sign.ABSENT if self._is_there:
                self._end(look, Shown.NOT, "the controller that was elected next did not find it")
            case _:
                pass

    def _is_new(self, look: Look) -> bool:
        """Whether the registration at hand is already the one after a bounce: nobody has told its epoch but itself."""
        last = self._changes[-1] if self._changes else None
        return last is not None and last.is_registered and last.shown is Shown.AT_ONCE and len(self._changes) > 1

    def _begin(self, look: Look, shown: Shown) -> None:
        last = self._changes[-1] if self._changes else None
        if self._is_there and last is not None and (look.epoch in (None, last.epoch) or last.epoch is None):
            self._changes[-1] = _better(last, look, shown)
        elif look.epoch is None or look.epoch not in self._known:
            if self._is_there:
                self._end(look, Shown.NOT, AGAIN)
            self._is_there, self._is_leaving = True, False
            self._changes.append(
                RegistrationChange(
                    t_ms=look.t_ms,
                    place=look.place,
                    shown=shown,
                    broker=self._broker,
                    is_registered=True,
                    epoch=look.epoch,
                    endpoints=look.endpoints,
                )
            )
        if look.epoch is not None:
            self._known.add(look.epoch)

    def _end(self, look: Look, shown: Shown, because: str | None, was_closed: bool = False) -> None:
        epoch = self._changes[-1].epoch if self._changes else None
        self._is_there = False
        self._changes.append(
            RegistrationChange(
                t_ms=look.t_ms,
                place=look.place,
                shown=shown,
                broker=self._broker,
                is_registered=False,
                epoch=epoch,
                because=because,
                was_closed=was_closed or self._is_leaving,
            )
        )


def _better(known: RegistrationChange, look: Look, shown: Shown) -> RegistrationChange:
    """The same registration with what another line adds: its epoch, and the broker's own word."""
    epoch = known.epoch if look.epoch is None else look.epoch
    if known.shown is Shown.LATER and shown is Shown.AT_ONCE:
        return replace(known, place=look.place, shown=shown, epoch=epoch, endpoints=look.endpoints)
    return replace(known, epoch=epoch)


def _explained(end: RegistrationChange, look: Look) -> RegistrationChange:
    """An end that others told of faster, with what the broker itself says of it."""
    is_closed = look.sign is Sign.CLOSED
    told = replace(end, because=CLOSED if is_closed else EXPIRED, was_closed=is_closed)
    return replace(told, place=look.place, shown=Shown.LATER) if end.shown is Shown.NOT else told
