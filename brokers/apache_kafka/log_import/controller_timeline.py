"""Which broker was the controller, with which epoch and since when, in order of epochs regardless of the hosts' clocks.

Pure. Source: docs/kafka/logging.md 5 and 8.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from kcsim.brokers.apache_kafka.log_import.entries import ControllerRoleChange, NotShown, RegistrationChange, Visibility
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex, TimedMessage
from kcsim.brokers.apache_kafka.log_lines.messages import ControllerElected
from kcsim.vocabulary import BrokerId, ControllerEpoch


class ControllerTimeline:
    """The elections that the files show.

    Attributes:
        elections: by epoch, in the order of epochs.
        not_shown: what is missing between the elections, and what zombies did.
    """

    def __init__(self, gathered: EvidenceIndex) -> None:
        self._gathered = gathered
        self.not_shown: list[NotShown] = []
        self.elections: dict[ControllerEpoch, ControllerRoleChange] = self._elections()
        self._name_missing()
        self._name_zombies()

    @property
    def controllers(self) -> Mapping[ControllerEpoch, BrokerId]:
        return {epoch: change.controller for epoch, change in self.elections.items() if change.controller is not None}

    def epoch_at(self, broker: BrokerId, t_ms: int) -> ControllerEpoch | None:
        """Return the epoch of the broker's latest election by this time, or None if it had not been elected by then."""
        of_broker = (e for e, change in self.elections.items() if change.controller == broker and change.t_ms <= t_ms)
        return max(of_broker, default=None)

    def is_zombie(self, epoch: ControllerEpoch | None, t_ms: int) -> bool:
        """Return whether a higher epoch existed before this time."""
        return epoch is not None and any(e > epoch and change.t_ms < t_ms for e, change in self.elections.items())

    def with_their_sessions(self, registrations: Iterable[RegistrationChange]) -> Iterator[RegistrationChange]:
        """Yield the registrations, with ends of controllers that no line shows at once moved to the next election's time.

        The winner of that election logs the loss only some lines later, but it could not have won while that session lived.
        If another broker has since lost the role too, the session did not end with the role, and its time is kept.
        """
        elections = list(self.elections.values())
        lost = [(one.controller, other.t_ms) for one, other in pairwise(elections) if one.controller is not None]
        began: dict[BrokerId, int] = {}
        for change in registrations:
            if change.is_registered:
                began[change.broker] = change.t_ms
                yield change
            elif change.shown is Visibility.AT_ONCE:
                yield change
            else:
                since = began.get(change.broker, change.t_ms)
                before = [(t, loser) for loser, t in lost if since < t <= change.t_ms]
                t_ms, loser = max(before, default=(change.t_ms, change.broker))
                yield replace(change, t_ms=t_ms) if loser == change.broker else change

    def changes(self, registrations: Iterable[RegistrationChange]) -> list[ControllerRoleChange]:
        """Return each election and, before each but the first, the end of the term before it."""
        ends = sorted((change for change in registrations if not change.is_registered), key=lambda change: change.t_ms)
        found: list[ControllerRoleChange] = []
        before: ControllerRoleChange | None = None
        for election in self.elections.values():
            if before is not None:
                found.append(self._end(before, election, ends))
            found.append(election)
            before = election
        if before is not None and (last := self._session_end(before, None, ends)) is not None:
            found.append(last)
        return found

    def _elections(self) -> dict[ControllerEpoch, ControllerRoleChange]:
        found: dict[ControllerEpoch, ControllerRoleChange] = {}
        for at in self._gathered.others[ControllerElected]:
            if isinstance(message := at.message, ControllerElected):
                epoch = message.controller_epoch
                found.setdefault(epoch, _election(at, message.controller, epoch, message.zk_version))
        for epoch, span in self._gathered.spans.items():
            if epoch not in found:
                found[epoch] = _election(span.first, span.controller, epoch, None, Visibility.LATER)
        return dict(sorted(found.items()))

    def _end(
        self, before: ControllerRoleChange, election: ControllerRoleChange, ends: list[RegistrationChange]
    ) -> ControllerRoleChange:
        """Return the end of a controller's term: that of its session if it is known to precede the next election."""
        found = self._session_end(before, election, ends)
        if found is not None:
            return found
        what = f"the end of broker-{before.controller} as controller with epoch {before.controller_epoch}"
        why = f"no file logs it; it follows from the election of broker-{election.controller}"
        self.not_shown.append(NotShown(f"{what}: {why}", election.place))
        is_gone = any(end.broker == before.controller and end.t_ms == election.t_ms for end in ends)
        return ControllerRoleChange(
            t_ms=election.t_ms,
            place=election.place,
            shown=Visibility.NOT,
            controller=None,
            controller_epoch=before.controller_epoch,
            because=_session_ended(before) if is_gone else f"broker-{election.controller} was elected",
            with_session=is_gone,
        )

    def _session_end(
        self, before: ControllerRoleChange, election: ControllerRoleChange | None, ends: list[RegistrationChange]
    ) -> ControllerRoleChange | None:
        for end in ends:
            is_later = end.t_ms >= before.t_ms and (election is None or end.t_ms <= election.t_ms)
            if end.broker == before.controller and is_later and end.shown is not Visibility.NOT:
                return ControllerRoleChange(
                    t_ms=end.t_ms,
                    place=end.place,
                    shown=end.shown,
                    controller=None,
                    controller_epoch=before.controller_epoch,
                    because=_session_ended(before),
                    with_session=True,
                )
        return None

    def _name_missing(self) -> None:
        epochs = list(self.elections)
        for one, other in pairwise(epochs):
            if other > one + 1:
                missing = f"epoch {one + 1}" if other == one + 2 else f"epochs {one + 1} to {other - 1}"
                what = f"who was the controller with {missing}: no file of it is here"
                self.not_shown.append(NotShown(what, self.elections[other].place))
        for change in self.elections.values():
            if change.shown is Visibility.LATER:
                what = f"when broker-{change.controller} was elected with epoch {change.controller_epoch}"
                self.not_shown.append(NotShown(f"{what}: by the first line with that epoch, which is this", change.place))

    def _name_zombies(self) -> None:
        for epoch, span in self._gathered.spans.items():
            later = [c for e, c in self.elections.items() if e > epoch and c.t_ms < span.last.t_ms]
            if later:
                by = min(later, key=lambda change: change.t_ms)
                late = span.last.t_ms - by.t_ms
                what = (
                    f"whether what broker-{span.controller} still did with controller epoch {epoch} had any effect: this is "
                    f"its last line, {late} ms after broker-{by.controller} had been elected with {by.controller_epoch} "
                    f"({by.place}); what such a zombie writes to ZooKeeper is refused"
                )
                self.not_shown.append(NotShown(what, span.last.place))


def _election(
    at: TimedMessage,
    controller: BrokerId,
    epoch: ControllerEpoch,
    zk_version: int | None,
    shown: Visibility = Visibility.AT_ONCE,
) -> ControllerRoleChange:
    return ControllerRoleChange(
        t_ms=at.t_ms, place=at.place, shown=shown, controller=controller, controller_epoch=epoch, zk_version=zk_version
    )


def _session_ended(before: ControllerRoleChange) -> str:
    return f"the session of broker-{before.controller} ended"
