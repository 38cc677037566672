"""A leader's state of the producers of a partition: duplicate batches are appended once, and missing batches are detected.

The state is found in the log itself, so that it survives a change of leader. It is coarser than Kafka's, which stores a
producer's last five batches and expires idle producers: here a batch without bytes counts as a duplicate as long as the log
has it.

Source: Kafka 2.8, ProducerStateManager, ProducerAppendInfo.checkSequence; KIP-98, KIP-360.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from kcsim.brokers.record_batches import NO_TIMESTAMP, epoch_of, numbered
from kcsim.brokers.records import Run
from kcsim.brokers.requests import UNDEFINED_EPOCH, ProduceBatch
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch


class AppendDecision(msgspec.Struct, frozen=True):
    """Whether a batch may be appended.

    If the log has the batch already, `error` is NONE, `duplicate_of` is its base offset. If its records have bytes,
    `timestamp_ms` is the largest of theirs, and `leader_epoch` that of their append.
    """

    error: ErrorCode = ErrorCode.NONE
    duplicate_of: int | None = None
    timestamp_ms: int = NO_TIMESTAMP
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH


class ProducerStateEntry(msgspec.Struct, frozen=True):
    """A writer's last sequence. `epoch` is the producer's epoch; 0 if the entry comes from records without bytes."""

    last_sequence: int
    epoch: int = 0


BATCHES_KNOWN = 5
"""How many of a producer's last batches are recognised when it sends them again."""

Runs = Callable[[], Sequence[Run]]
"""Returns the runs of a log, oldest first; called only if the stored state does not suffice."""


def check_sequence(state: ProducerStateEntry, batch: ProduceBatch, runs: Runs) -> AppendDecision:
    """Decide on an idempotent batch of a writer that has written before."""
    if batch.producer_epoch < state.epoch:
        return AppendDecision(ErrorCode.INVALID_PRODUCER_EPOCH)
    if batch.batch is not None:
        return _check_batch_of_bytes(state, batch, runs)
    if batch.last_sequence <= state.last_sequence:
        found = offset_of(runs(), batch)
        return AppendDecision(ErrorCode.DUPLICATE_SEQUENCE_NUMBER) if found is None else AppendDecision(duplicate_of=found)
    if batch.first_sequence != state.last_sequence + 1 and batch.producer_epoch == state.epoch:
        return AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return AppendDecision()


def _check_batch_of_bytes(state: ProducerStateEntry, batch: ProduceBatch, runs: Runs) -> AppendDecision:
    """Decide as Kafka does: an epoch begins with 0, and only the producer's last five batches are known."""
    if batch.producer_epoch > state.epoch:
        is_next = batch.first_sequence == numbered(batch.producer_epoch, 0)
    else:
        is_next = batch.first_sequence == state.last_sequence + 1
    if is_next:
        return AppendDecision()
    if batch.first_sequence <= state.last_sequence:
        for run in islice((run for run in reversed(runs()) if run.producer == batch.producer), BATCHES_KNOWN):
            if (run.first_sequence, run.last_sequence) == (batch.first_sequence, batch.last_sequence):
                offset, timestamp_ms = run.base_offset, run.timestamp_ms
                return AppendDecision(ErrorCode.NONE, offset, timestamp_ms, run.leader_epoch)
    return AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def offset_of(runs: Sequence[Run], batch: ProduceBatch) -> int | None:
    """Return the offset of these records in the log; None if the log does not have all of them."""
    for run in reversed(runs):
        if run.producer == batch.producer and run.first_sequence <= batch.first_sequence <= run.last_sequence:
            is_whole = batch.last_sequence <= run.last_sequence
            return run.base_offset + batch.first_sequence - run.first_sequence if is_whole else None
    return None


class ProducerStateManager:
    """The producer states of one partition, valid while its log only grows.

    The object must be replaced when the log may have been truncated.
    """

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states: dict[str, ProducerStateEntry] = {}

    def admit(self, batch: ProduceBatch, runs: Runs) -> AppendDecision:
        """Decide on a batch. An idempotent writer without records in the log may begin at any sequence."""
        if not batch.is_idempotent:
            return AppendDecision()
        if batch.producer not in self._states:
            last = next((run for run in reversed(runs()) if run.producer == batch.producer), None)
            if last is None:
                return AppendDecision()
            epoch = 0 if last.batch is None else epoch_of(last.last_sequence)
            self._states[batch.producer] = ProducerStateEntry(last.last_sequence, epoch)
        return check_sequence(self._states[batch.producer], batch, runs)

    def appended(self, batch: ProduceBatch) -> None:
        """Record that a batch was appended."""
        if batch.is_idempotent:
            self._states[batch.producer] = ProducerStateEntry(batch.last_sequence, batch.producer_epoch)
