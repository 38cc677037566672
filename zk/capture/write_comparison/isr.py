"""Compares the writes of two clusters to a partition's state, where replicas may have joined the ISR in another order.

Which of two followers catches up first is random. So the replicas that have joined may have another order, in that list and
in every later one; the members of the ISR after a series of joins, and everything else, must be equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.zk.capture.write_comparison.content import content, json_of
from kcsim.zk.capture.write_comparison.writes import ADMIN, ZnodeWrite

Isr = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IsrHistory:
    """One partition's last written ISR on both sides, and the replicas that have joined since its state was created."""

    kafka: Isr = ()
    ours: Isr = ()
    joined: frozenset[int] = frozenset()

    def written(self, kafka: Isr, ours: Isr) -> "IsrHistory | None":
        """Return the history after both sides wrote an ISR; None if the ISRs differ in more than the order of joining."""
        same = sorted(kafka) == sorted(ours) and self._others(kafka) == self._others(ours)
        return IsrHistory(kafka, ours, self.joined) if same else None

    def joined_by_one(self, kafka: Isr, ours: Isr) -> "IsrHistory | None":
        """Return the history after one replica joined on each side, perhaps not the same one; None if others differ."""
        newcomers = ({*kafka} - {*self.kafka}) | ({*ours} - {*self.ours})
        after = IsrHistory(kafka, ours, self.joined | newcomers)
        return after if after._others(kafka) == after._others(ours) else None

    def _others(self, isr: Isr) -> list[int]:
        return [replica for replica in isr if replica not in self.joined]


def match_states(kafka: Sequence[ZnodeWrite], ours: Sequence[ZnodeWrite], before: IsrHistory) -> IsrHistory | None:
    """Compare the writes to one state znode in one step.

    Returns: the ISR's history after these writes; None if they differ.
    """
    if len(kafka) != len(ours):
        return None
    history: IsrHistory | None = before
    for theirs, mine in zip(kafka, ours, strict=True):
        history = _match(theirs, mine, history) if history else None
    return history if history and sorted(history.kafka) == sorted(history.ours) else None


def match_final_state(path: str, kafka: str | None, ours: str | None, history: IsrHistory) -> bool:
    """Return whether two final partition states are equal but for the order in which replicas joined the ISR."""
    if content(path, kafka, ["isr"]) != content(path, ours, ["isr"]):
        return False
    kafka_isr, our_isr = isr_of(kafka), isr_of(ours)
    if kafka_isr is None or our_isr is None:
        return kafka_isr == our_isr
    return history.written(kafka_isr, our_isr) is not None


def isr_of(data: str | None) -> Isr | None:
    """Return the ISR in a state znode; None if it cannot be read."""
    value = json_of(data)
    isr = value.get("isr") if isinstance(value, dict) else None
    return tuple(isr) if isinstance(isr, list) else None


def _match(kafka: ZnodeWrite, ours: ZnodeWrite, history: IsrHistory) -> IsrHistory | None:
    if (kafka.by, kafka.op, kafka.fenced) != (ours.by, ours.op, ours.fenced):
        return None
    if content(kafka.path, kafka.data, ["isr"]) != content(ours.path, ours.data, ["isr"]):
        return None
    kafka_isr, our_isr = isr_of(kafka.data), isr_of(ours.data)
    if kafka_isr is None or our_isr is None:  # deleted, or overwritten by hand with unreadable data
        return IsrHistory() if kafka_isr == our_isr else None
    if kafka.op == "create":
        return IsrHistory().written(kafka_isr, our_isr)
    if _is_join(kafka, history.kafka, kafka_isr) and _is_join(ours, history.ours, our_isr):
        return history.joined_by_one(kafka_isr, our_isr)
    return history.written(kafka_isr, our_isr)


def _is_join(write: ZnodeWrite, before: Isr, after: Isr) -> bool:
    """Return whether the write added one replica: by the leader itself, or by the controller that the leader asked.

    The controller never adds a replica of its own accord, and the leader that it elects is no addition to the old ISR.
    """
    return write.by != ADMIN and len(after) == len(before) + 1 and {*before} < {*after}
