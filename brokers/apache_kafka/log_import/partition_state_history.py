"""Order the writes of one partition's state by their versions, never by the clocks of different hosts.

The version of the state znode identifies a write, and since Kafka 2.7 nearly every line contains it. Lines without it are
matched by their leader epoch, which every write of a controller raises and no write of a leader does. So a write with the
epoch of the write before it is a leader's, whichever broker's line shows it. (At inter.broker.protocol.version 2.7 and newer
the controller writes ISRs for the leaders that request it, and logs that in controller.log; without that file, these writes
are taken for the leaders' own.)

Pure. Source: docs/kafka/logging.md 8.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kcsim.brokers.apache_kafka.log_import.entries import NotShown, SourceLine, StateWrite, Visibility, WriterRole
from kcsim.brokers.apache_kafka.log_import.evidence import Evidence, EvidenceKind
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId, ControllerEpoch, TopicPartition

WRITTEN_BY_CONTROLLER = (EvidenceKind.ELECTED, EvidenceKind.EPOCH_RAISED, EvidenceKind.ISR_UPDATED_BY_CONTROLLER)
WITHOUT_CONTROLLER_EPOCH = (EvidenceKind.EPOCH_RAISED, EvidenceKind.ISR_UPDATED_BY_CONTROLLER)


class PartitionStateHistory:
    """Orders the evidence of one partition, from its creation to its deletion.

    Args:
        controllers: the broker that was elected with each epoch.
        leads: returns the leader epoch with which a broker had last become leader by a time, or None if unknown.
        epoch_at: returns the controller epoch that a broker had at a time, or None if unknown.
    """

    def __init__(
        self,
        tp: TopicPartition,
        controllers: Mapping[ControllerEpoch, BrokerId],
        leads: Callable[[BrokerId, int], int | None],
        epoch_at: Callable[[BrokerId, int], ControllerEpoch | None],
    ) -> None:
        self._tp = tp
        self._controllers = controllers
        self._leads = leads
        self._epoch_at = epoch_at
        self.not_shown: list[NotShown] = []

    def writes(self, evidence: Iterable[Evidence]) -> list[StateWrite]:
        """Return every write that the evidence shows, in order; `not_shown` names those that it does not show."""
        found: list[StateWrite] = []
        ordered = _in_order(evidence)
        if ordered and ordered[0][0] is None:
            what = f"the versions of the state of {self._tp}: this line and others have none, so they are counted from 0"
            self.not_shown.append(NotShown(what, ordered[0][1][0].place))
        for version, group in ordered:
            before = found[-1] if found else None
            number = version if version is not None else (before.zk_version + 1 if before else 0)
            write = self._write(group, number, before)
            self._name_missing(before, write)
            found.append(replace(write, version_is_shown=version is not None))
        return _timed(found)

    def _write(self, group: list[Evidence], version: int, before: StateWrite | None) -> StateWrite:
        complete = next((one for one in group if one.leader_epoch is not None and one.leader is not None), None)
        own = next((one for one in group if one.kind is EvidenceKind.ISR_UPDATED), None)
        by_controller = next((one for one in group if one.kind in WITHOUT_CONTROLLER_EPOCH), None)
        follows = before if before is not None and before.zk_version == version - 1 else None
        leader, isr = (one := complete or own or group[0]).leader, one.isr
        is_recovering = any(evidence.is_recovering for evidence in group)
        epoch, controller_epoch = one.leader_epoch, one.controller_epoch
        if leader is None and follows is not None:
            leader, isr, is_recovering = follows.leader, follows.isr, follows.is_recovering
        if own is not None and epoch is None:
            epoch = follows.leader_epoch if follows else self._leads(own.speaker, own.t_ms)
        if by_controller is not None:
            controller_epoch = self._epoch_at(by_controller.speaker, by_controller.t_ms) or controller_epoch
        elif own is not None and before is not None and before.leader_epoch == epoch:
            controller_epoch = before.controller_epoch
        role = self._role(group, epoch, version, before)
        first = self._first_hand(group, role)
        self._name_contradictions(group, epoch, isr)
        return StateWrite(
            t_ms=(first or group[0]).t_ms,
            place=(first or group[0]).place,
            shown=Visibility.AT_ONCE if first else Visibility.LATER,
            tp=self._tp,
            leader=leader,
            leader_epoch=epoch,
            isr=isr,
            controller_epoch=controller_epoch,
            zk_version=version,
            by=self._author(role, leader, first, controller_epoch),
            role=role,
            is_unclean=_is_unclean(group, leader, isr, before),
            is_recovering=is_recovering,
        )

    def _role(self, group: list[Evidence], epoch: int | None, version: int, before: StateWrite | None) -> WriterRole | None:
        if any(one.kind in WRITTEN_BY_CONTROLLER for one in group):
            return WriterRole.CONTROLLER
        if any(one.kind is EvidenceKind.ISR_UPDATED for one in group):
            return WriterRole.LEADER
        if before is not None and epoch is not None and before.leader_epoch == epoch:
            return WriterRole.LEADER
        is_known = before is not None or version == 0 or any(one.kind is EvidenceKind.REMOVED for one in group)
        return WriterRole.CONTROLLER if is_known else None

    def _first_hand(self, group: list[Evidence], role: WriterRole | None) -> Evidence | None:
        """Return the evidence of the broker that made the write, logged at the time of writing."""
        kinds = (
            (*WRITTEN_BY_CONTROLLER, EvidenceKind.REMOVED) if role is WriterRole.CONTROLLER else (EvidenceKind.ISR_UPDATED,)
        )
        return next((one for one in group if one.kind in kinds), None)

    def _author(
        self, role: WriterRole | None, leader: int | None, first: Evidence | None, controller_epoch: ControllerEpoch | None
    ) -> BrokerId | None:
        match role:
            case WriterRole.LEADER:
                return None if leader is None or leader < 0 else BrokerId(leader)
            case WriterRole.CONTROLLER if first is not None:
                return first.speaker
            case WriterRole.CONTROLLER if controller_epoch is not None:
                return self._controllers.get(controller_epoch)
            case _:
                return None

    def _name_missing(self, before: StateWrite | None, write: StateWrite) -> None:
        if before is None:
            if write.zk_version > 0:
                what = f"{self._tp} up to version {write.zk_version - 1} of its state: before the first line about it"
                self.not_shown.append(NotShown(what, write.place))
            return
        missing = range(before.zk_version + 1, write.zk_version)
        if not missing:
            return
        versions = f"version {missing[0]}" if len(missing) == 1 else f"versions {missing[0]} to {missing[-1]}"
        if write.leader_epoch is not None and before.leader_epoch == write.leader_epoch:
            why = f"ISR changes by its leader, broker-{before.leader}, which only its own server.log shows at once"
        else:
            why = "by its leader or by the controller; the writer's lines are not in these files"
        self.not_shown.append(NotShown(f"{versions} of {self._tp}: {why}", write.place))

    def _name_contradictions(self, group: list[Evidence], epoch: int | None, isr: tuple[BrokerId, ...] | None) -> None:
        for one in group:
            other_epoch = one.leader_epoch is not None and one.leader_epoch != epoch
            other_isr = one.isr is not None and isr is not None and sorted(one.isr) != sorted(isr)
            if other_epoch or other_isr:
                state = f"leader epoch {one.leader_epoch}, ISR {comma_separated(one.isr or ())}"
                against = f"{group[0].place} shows another state of the same version"
                self.not_shown.append(NotShown(f"which is right of {self._tp}: {state}; {against}", one.place))


def _is_unclean(
    group: list[Evidence], leader: int | None, isr: tuple[BrokerId, ...] | None, before: StateWrite | None
) -> bool:
    """Return whether a leader from outside the ISR was elected. Only the ISR shows it: it is then the new leader alone."""
    is_election = any(one.kind is EvidenceKind.ELECTED and not one.is_first for one in group)
    was_in = before is None or before.isr is None or leader in before.isr
    return is_election and isr == (leader,) and not was_in


def _timed(writes: list[StateWrite]) -> list[StateWrite]:
    """Correct times: a write that was seen late was made no later than the next write."""
    timed = writes[:]
    for place in range(len(writes) - 2, -1, -1):
        if timed[place].shown is Visibility.LATER and timed[place].t_ms > timed[place + 1].t_ms:
            timed[place] = replace(timed[place], t_ms=timed[place + 1].t_ms)
    return timed


# --- the order of writes


def _in_order(evidence: Iterable[Evidence]) -> list[tuple[int | None, list[Evidence]]]:
    """Group the evidence by write, the best and then the earliest first; writes are in order of version."""
    by_version: dict[int, list[Evidence]] = defaultdict(list)
    by_epoch: dict[int, list[Evidence]] = defaultdict(list)
    for one in sorted(evidence, key=lambda one: (one.t_ms, one.place)):
        if one.zk_version is not None:
            by_version[one.zk_version].append(one)
        elif one.leader_epoch is not None:
            by_epoch[one.leader_epoch].append(one)
    ordered: list[tuple[int | None, list[Evidence]]] = [(version, by_version[version]) for version in sorted(by_version)]
    for epoch in sorted(by_epoch):
        _insert(ordered, epoch, by_epoch[epoch])
    return [(version, sorted(group, key=_reliability)) for version, group in ordered]


def _reliability(one: Evidence) -> tuple[bool, int, SourceLine]:
    """Return the sort key: an election's line, which is right in all values, comes first, then lines in order of time.

    Of lines without an election, the earliest has the most reliable controller epoch.
    """
    return one.kind is not EvidenceKind.ELECTED, one.t_ms, one.place


def _insert(ordered: list[tuple[int | None, list[Evidence]]], epoch: int, group: list[Evidence]) -> None:
    """Add evidence without a version to the first write of its leader epoch, or insert it where such a write is missing."""
    same = next((place for place, (_, other) in enumerate(ordered) if _epoch(other) == epoch), None)
    if same is not None:
        ordered[same][1].extend(group)
        return
    epochs = [_epoch(other) for _, other in ordered]
    begin = max((place + 1 for place, other in enumerate(epochs) if other is not None and other < epoch), default=0)
    end = next((place for place, other in enumerate(epochs) if other is not None and other > epoch), len(ordered))
    place = next((place for place in range(begin, end + 1) if _is_gap(ordered, place)), end)
    ordered.insert(place, (None, group))


def _epoch(group: list[Evidence]) -> int | None:
    return next((one.leader_epoch for one in group if one.leader_epoch is not None), None)


def _is_gap(ordered: list[tuple[int | None, list[Evidence]]], place: int) -> bool:
    """Return whether a version is missing before this place."""
    if place == 0 or place >= len(ordered):
        return place >= len(ordered) or (ordered[0][0] or 0) > 0
    before, after = ordered[place - 1][0], ordered[place][0]
    return before is not None and after is not None and after > before + 1
