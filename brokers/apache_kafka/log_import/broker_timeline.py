"""When each broker was registered, from its own lines and the controllers' reads of /brokers/ids, in order of time.

A controller logs which brokers are gone, but nothing logs the end of the controller's own session: it follows from the next
election, whose winner does not find that broker. A broker epoch (Kafka 2.2 and newer) identifies a registration; before 2.2
only the time does.

Pure. Source: docs/kafka/logging.md 5, 6, 8.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import.entries import RegistrationChange, SourceLine, Visibility
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BrokerEpochs,
    BrokersAlive,
    BrokersChanged,
    BrokerSessionEnded,
    BrokerShutsDown,
    Registered,
)
from kcsim.vocabulary import BrokerId

AGAIN = "it registered again"
EXPIRED = "its session expired"
CLOSED = "it closed its session"


class RegistrationEvidenceKind(IntEnum):
    """What a line shows about a broker; evidence of the same time is taken in the order of these values."""

    DELETED = 0  # according to the controller
    CLOSED = 1
    EXPIRED = 2
    REGISTERED = 3  # according to the broker itself
    ADDED = 4
    BOUNCED = 5
    PRESENT = 6
    ABSENT = 7  # not registered when a controller was elected
    LEAVING = 8  # the broker has requested a controlled shutdown


class RegistrationEvidence(NamedTuple):
    """One piece of evidence about one broker."""

    t_ms: int
    kind: RegistrationEvidenceKind
    place: SourceLine
    epoch: int | None = None
    endpoints: tuple[str, ...] = ()


def registrations(gathered: EvidenceIndex) -> list[RegistrationChange]:
    """Return every registration and its end, as far as the lines show them, in order of time for each broker."""
    return [
        change
        for broker, evidence in sorted(_evidence_by_broker(gathered).items())
        for change in _Timeline(broker).of(evidence)
    ]


def _evidence_by_broker(gathered: EvidenceIndex) -> dict[BrokerId, list[RegistrationEvidence]]:
    found: dict[BrokerId, list[RegistrationEvidence]] = defaultdict(list)
    for broker, evidence in _all(gathered):
        found[broker].append(evidence)
    for t_ms, place, alive in _broker_lists(gathered):
        for broker in sorted(found.keys() - alive):
            found[broker].append(RegistrationEvidence(t_ms, RegistrationEvidenceKind.ABSENT, place))
    return found


def _all(gathered: EvidenceIndex) -> Iterator[tuple[BrokerId, RegistrationEvidence]]:
    for at in gathered.others[Registered]:
        if isinstance(message := at.message, Registered):
            yield (
                message.broker,
                RegistrationEvidence(
                    at.t_ms, RegistrationEvidenceKind.REGISTERED, at.place, message.epoch, message.endpoints
                ),
            )
    for at in gathered.others[BrokersChanged]:
        if isinstance(message := at.message, BrokersChanged):
            for kind, brokers in (
                (RegistrationEvidenceKind.ADDED, message.added),
                (RegistrationEvidenceKind.DELETED, message.deleted),
                (RegistrationEvidenceKind.BOUNCED, message.bounced),
            ):
                yield from ((broker, RegistrationEvidence(at.t_ms, kind, at.place)) for broker in brokers)
    for at in gathered.others[BrokerEpochs]:
        if isinstance(message := at.message, BrokerEpochs):
            for broker, epoch in sorted(message.epochs.items()):
                yield broker, RegistrationEvidence(at.t_ms, RegistrationEvidenceKind.PRESENT, at.place, epoch)
    for at in gathered.others[BrokersAlive]:
        if isinstance(message := at.message, BrokersAlive):
            yield from (
                (broker, RegistrationEvidence(at.t_ms, RegistrationEvidenceKind.PRESENT, at.place))
                for broker in message.brokers
            )
    for at in gathered.others[BrokerShutsDown]:
        if isinstance(message := at.message, BrokerShutsDown):
            yield message.broker, RegistrationEvidence(at.t_ms, RegistrationEvidenceKind.LEAVING, at.place)
    for at in gathered.others[BrokerSessionEnded]:
        owners = gathered.owners[at.place.file]
        if isinstance(message := at.message, BrokerSessionEnded) and len(owners) == 1:
            kind = RegistrationEvidenceKind.EXPIRED if message.is_expired else RegistrationEvidenceKind.CLOSED
            yield next(iter(owners)), RegistrationEvidence(at.t_ms, kind, at.place)


def _broker_lists(gathered: EvidenceIndex) -> Iterator[tuple[int, SourceLine, set[BrokerId]]]:
    """Yield the complete list of registered brokers each time that a controller read it at its election."""
    for at in gathered.others[BrokerEpochs]:
        if isinstance(message := at.message, BrokerEpochs) and message.at_election:
            yield at.t_ms, at.place, set(message.epochs)
    for at in gathered.others[BrokersAlive]:
        if isinstance(message := at.message, BrokersAlive):
            yield at.t_ms, at.place, set(message.brokers)


class _Timeline:
    """One broker's registrations, built from its evidence in order."""

    def __init__(self, broker: BrokerId) -> None:
        self._broker = broker
        self._changes: list[RegistrationChange] = []
        self._known: set[int] = set()
        self._is_there: bool | None = None  # None: nothing is known yet
        self._is_leaving = False
        self._registered_ms: int | None = None  # the time of the broker's own last line about a registration

    def of(self, evidence_of_broker: list[RegistrationEvidence]) -> list[RegistrationChange]:
        for evidence in sorted(evidence_of_broker):
            self._take(evidence)
        return self._changes

    def _take(self, evidence: RegistrationEvidence) -> None:
        match evidence.kind:
            case RegistrationEvidenceKind.REGISTERED:
                self._begin(evidence, Visibility.AT_ONCE)
            case RegistrationEvidenceKind.PRESENT | RegistrationEvidenceKind.ADDED:
                self._begin(evidence, Visibility.LATER)
            case RegistrationEvidenceKind.BOUNCED:
                if not self._is_new(evidence):
                    self._end(evidence, Visibility.LATER, AGAIN)
                    self._begin(evidence, Visibility.LATER)
            case RegistrationEvidenceKind.DELETED if self._is_there is not False:
                self._end(evidence, Visibility.AT_ONCE, None)
            case RegistrationEvidenceKind.CLOSED if self._is_there:
                self._end(evidence, Visibility.AT_ONCE, CLOSED, was_closed=True)
            case RegistrationEvidenceKind.EXPIRED if self._is_there:
                self._end(evidence, Visibility.LATER, EXPIRED)
            case RegistrationEvidenceKind.CLOSED | RegistrationEvidenceKind.EXPIRED if self._changes:
                self._changes[-1] = _explained(self._changes[-1], evidence)
            case RegistrationEvidenceKind.LEAVING:
                self._is_leaving = True
            case RegistrationEvidenceKind.ABSENT if self._is_there:
                self._end(evidence, Visibility.NOT, "the controller that was elected next did not find it")
            case _:
                pass

    def _is_new(self, evidence: RegistrationEvidence) -> bool:
        """Return whether the last registration is already the one after the bounce, shown by the broker's own line."""
        last = self._changes[-1] if self._changes else None
        return last is not None and last.is_registered and last.shown is Visibility.AT_ONCE and len(self._changes) > 1

    def _begin(self, evidence: RegistrationEvidence, shown: Visibility) -> None:
        if evidence.epoch is not None:
            self._take_back_end(evidence.epoch)
        last = self._changes[-1] if self._changes else None
        if self._is_there and last is not None and self._is_same(last, evidence):
            self._changes[-1] = _completed(last, evidence, shown)
        elif evidence.epoch is None or evidence.epoch not in self._known:
            if self._is_there:
                self._end(evidence, Visibility.NOT, AGAIN)
            self._is_there, self._is_leaving = True, False
            self._changes.append(
                RegistrationChange(
                    t_ms=evidence.t_ms,
                    place=evidence.place,
                    shown=shown,
                    broker=self._broker,
                    is_registered=True,
                    epoch=evidence.epoch,
                    endpoints=evidence.endpoints,
                )
            )
        if evidence.epoch is not None:
            self._known.add(evidence.epoch)
        if evidence.kind is RegistrationEvidenceKind.REGISTERED:
            self._registered_ms = evidence.t_ms

    def _take_back_end(self, epoch: int) -> None:
        """Remove an end that no line shows, with what follows it, if a later line has the broker epoch from before that end.

        The broker had then registered between the moment when a new controller read the brokers and the line about them.
        """
        ends = [place for place, change in enumerate(self._changes) if not change.is_registered]
        if not ends:
            return
        end, after = self._changes[ends[-1]], self._changes[ends[-1] + 1 :]
        if end.shown is Visibility.NOT and end.epoch == epoch and all(change.epoch is None for change in after):
            del self._changes[ends[-1] :]
            self._is_there = True

    def _is_same(self, last: RegistrationChange, evidence: RegistrationEvidence) -> bool:
        """Return whether evidence can be of the last registration: by epochs or, if one has none, by the broker's own lines.

        A broker logs each registration once, so two of its own lines are of one registration only if they are copies of one
        record, in two files. A controller's line may be about any registration.
        """
        if None not in (last.epoch, evidence.epoch):
            return last.epoch == evidence.epoch
        are_both_own = last.shown is Visibility.AT_ONCE and evidence.kind is RegistrationEvidenceKind.REGISTERED
        return not are_both_own or evidence.t_ms == self._registered_ms

    def _end(self, evidence: RegistrationEvidence, shown: Visibility, because: str | None, was_closed: bool = False) -> None:
        epoch = self._changes[-1].epoch if self._changes else None
        self._is_there = False
        self._changes.append(
            RegistrationChange(
                t_ms=evidence.t_ms,
                place=evidence.place,
                shown=shown,
                broker=self._broker,
                is_registered=False,
                epoch=epoch,
                because=because,
                was_closed=was_closed or self._is_leaving,
            )
        )


def _completed(known: RegistrationChange, evidence: RegistrationEvidence, shown: Visibility) -> RegistrationChange:
    """Return the registration with another line's epoch, and with place and endpoints if it is the broker's own line."""
    epoch = known.epoch if evidence.epoch is None else evidence.epoch
    if known.shown is Visibility.LATER and shown is Visibility.AT_ONCE:
        return replace(known, place=evidence.place, shown=shown, epoch=epoch, endpoints=evidence.endpoints)
    return replace(known, epoch=epoch)


def _explained(end: RegistrationChange, evidence: RegistrationEvidence) -> RegistrationChange:
    """Return an end that other lines showed earlier, with the reason from the broker's own line."""
    is_closed = evidence.kind is RegistrationEvidenceKind.CLOSED
    explained = replace(end, because=CLOSED if is_closed else EXPIRED, was_closed=is_closed)
    return replace(explained, place=evidence.place, shown=Visibility.LATER) if end.shown is Visibility.NOT else explained
