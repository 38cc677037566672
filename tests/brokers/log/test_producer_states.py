"""A leader's knowledge of idempotent producers. Source: KIP-98, KIP-360; Kafka 2.8, ProducerAppendInfo.checkSequence."""

import pytest

from kcsim.brokers.log.producer_states import AppendDecision, ProducerStateManager
from kcsim.brokers.record_batches import numbered
from kcsim.brokers.records import Run
from kcsim.brokers.requests import ProduceBatch
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch

LOG = (
    Run(0, 10, LeaderEpoch(0), "a", 0, 0, 100),
    Run(10, 5, LeaderEpoch(0), "b", 0, 0, 100),
    Run(15, 5, LeaderEpoch(1), "a", 10, 0, 100),
)
"""Of one writer, 0..9 at offsets 0..9, then 10..14 at 15..19, under the next leader."""


def batch(first: int, count: int = 1, writer: str = "a", epoch: int = 0, is_idempotent: bool = True) -> ProduceBatch:
    return ProduceBatch(writer, first, count, 100, 0, is_idempotent, epoch)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(batch(15), AppendDecision(), id="the next"),
        pytest.param(batch(16), AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), id="a gap"),
        pytest.param(batch(10, 5), AppendDecision(duplicate_of=15), id="the last once more"),
        pytest.param(batch(3, 4), AppendDecision(duplicate_of=3), id="an old one, written under an earlier leader"),
        pytest.param(
            batch(8, 4), AppendDecision(ErrorCode.DUPLICATE_SEQUENCE_NUMBER), id="one that was never written like that"
        ),
        pytest.param(batch(13, 4), AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), id="half of it new"),
        pytest.param(batch(7, writer="c"), AppendDecision(), id="an unknown writer may begin anywhere"),
        pytest.param(batch(5, writer="b"), AppendDecision(), id="each writer has its own sequence"),
        pytest.param(batch(3, is_idempotent=False), AppendDecision(), id="a batch that is not idempotent is not checked"),
    ],
)
def test_a_new_leader_knows_writers_from_its_log(sent: ProduceBatch, expected: AppendDecision) -> None:
    assert ProducerStateManager().admit(sent, lambda: LOG) == expected


def test_what_a_leader_has_appended_itself_is_known_without_the_log() -> None:
    states = ProducerStateManager()
    states.appended(batch(0, 3, writer="c"))
    assert states.admit(batch(3, writer="c"), lambda: ()) == AppendDecision()
    assert states.admit(batch(4, writer="c"), lambda: ()) == AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_an_earlier_incarnation_of_a_producer_is_fenced() -> None:
    states = ProducerStateManager()
    states.appended(batch(0, 3, epoch=2))
    assert states.admit(batch(3, epoch=1), lambda: ()) == AppendDecision(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert states.admit(batch(9, epoch=3), lambda: ()) == AppendDecision()


# --- batches of bytes: as Kafka 2.8.2 answers in tests/brokers/differential


def of_bytes(sequence: int, count: int = 1, epoch: int = 0) -> ProduceBatch:
    return ProduceBatch("p", numbered(epoch, sequence), count, 10, 0, True, epoch, batch=b"?")


SIX = tuple(Run(n, 1, LeaderEpoch(0), "p", n, 1_000 + n, 10, batch=b"?") for n in range(6))
OUT_OF_ORDER = AppendDecision(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(of_bytes(6), AppendDecision(), id="the next"),
        pytest.param(of_bytes(7), OUT_OF_ORDER, id="a gap"),
        pytest.param(of_bytes(5), AppendDecision(ErrorCode.NONE, 5, 1_005, LeaderEpoch(0)), id="the last again"),
        pytest.param(of_bytes(1), AppendDecision(ErrorCode.NONE, 1, 1_001, LeaderEpoch(0)), id="the fifth last again"),
        pytest.param(of_bytes(0), OUT_OF_ORDER, id="the sixth last again"),
        pytest.param(of_bytes(4, 2), OUT_OF_ORDER, id="two batches as one"),
        pytest.param(of_bytes(5, 2), OUT_OF_ORDER, id="half of it new"),
        pytest.param(of_bytes(0, epoch=1), AppendDecision(), id="the next epoch"),
        pytest.param(of_bytes(3, epoch=1), OUT_OF_ORDER, id="the next epoch, not from 0"),
    ],
)
def test_a_new_leader_decides_on_batches_of_bytes_as_kafka(sent: ProduceBatch, expected: AppendDecision) -> None:
    assert ProducerStateManager().admit(sent, lambda: SIX) == expected


def test_the_epoch_of_a_producer_is_in_the_log_too() -> None:
    log = (*SIX, Run(6, 1, LeaderEpoch(0), "p", numbered(3, 0), 0, 10, batch=b"?"))
    states = ProducerStateManager()
    assert states.admit(of_bytes(6), lambda: log) == AppendDecision(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert states.admit(of_bytes(1, epoch=3), lambda: log) == AppendDecision()


def test_a_producer_is_known_by_its_id_where_the_log_does_not_have_its_client() -> None:
    """A follower that gets a batch over TCP learns the producer id only; it may be the next leader."""

    def sent(writer: str, sequence: int) -> ProduceBatch:
        return ProduceBatch(writer, sequence, 1, 10, 0, True, batch=b"?")

    log = (Run(0, 1, LeaderEpoch(0), "#7", 0, 1_000, 10, batch=b"?"),)
    states = ProducerStateManager()
    assert states.admit(sent("app#7", 0), lambda: log) == AppendDecision(ErrorCode.NONE, 0, 1_000, LeaderEpoch(0))
    assert states.admit(sent("app#7", 2), lambda: log) == OUT_OF_ORDER
    assert states.admit(sent("app#8", 2), lambda: log) == AppendDecision()
    states.appended(sent("app#7", 1))
    assert states.admit(sent("other#7", 3), lambda: log) == OUT_OF_ORDER
