"""What a leader knows of the writers of a partition, so that a batch sent twice is appended once, and none is missing.

Found in the log itself, so that it holds after a change of the leader. Coarser than Kafka's, which remembers a producer's
last five batches and forgets producers that are silent: here a batch counts as a duplicate as long as the log has it.

Source: Kafka 2.8, ProducerStateManager, ProducerAppendInfo.checkSequence; KIP-98, KIP-360.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcsim.brokers.records import Run
from kcsim.brokers.requests import ProduceBatch
from kcsim.controller.requests import ErrorCode


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a batch may be appended; if it is in the log already, without an error, from which offset on."""

    error: ErrorCode = ErrorCode.NONE
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True)
class WriterState:
    """The last that a writer has written; `epoch` is that of its producer, 0 while only the log knows of it."""

    last_sequence: int
    epoch: int = 0


Runs = Callable[[], Sequence[Run]]
"""Those of a log, oldest first; asked for only where what is remembered does not do."""


def admission(state: WriterState, batch: ProduceBatch, runs: Runs) -> Admission:
    """Decide about an idempotent batch of a writer that has written before."""
    if batch.producer_epoch < state.epoch:
        return Admission(ErrorCode.INVALID_PRODUCER_EPOCH)
    if batch.last_sequence <= state.last_sequence:
        found = offset_of(runs(), batch)
        return Admission(ErrorCode.DUPLICATE_SEQUENCE_NUMBER) if found is None else Admission(duplicate_of=found)
    if batch.first_sequence != state.last_sequence + 1 and batch.producer_epoch == state.epoch:
        return Admission(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return Admission()


def offset_of(runs: Sequence[Run], batch: ProduceBatch) -> int | None:
    """Where these records begin in the log; None if they are not all there."""
    for run in reversed(runs):
        if run.writer == batch.writer and run.first_sequence <= batch.first_sequence <= run.last_sequence:
            is_whole = batch.last_sequence <= run.last_sequence
            return run.base_offset + batch.first_sequence - run.first_sequence if is_whole else None
    return None


class WriterStates:
    """Of one partition, for as long as its log only grows: to be begun anew when that may have been cut."""

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states: dict[str, WriterState] = {}

    def admit(self, batch: ProduceBatch, runs: Runs) -> Admission:
        """Decide about a batch. An idempotent writer of which the log has nothing may begin anywhere."""
        if not batch.is_idempotent:
            return Admission()
        if batch.writer not in self._states:
            last = next((run for run in reversed(runs()) if run.writer == batch.writer), None)
            if last is None:
                return Admission()
            self._states[batch.writer] = WriterState(last.last_sequence)
        return admission(self._states[batch.writer], batch, runs)

    def appended(self, batch: ProduceBatch) -> None:
        """It is in the log now."""
        if batch.is_idempotent:
            self._states[batch.writer] = WriterState(batch.last_sequence, batch.producer_epoch)
