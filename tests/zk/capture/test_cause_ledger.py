"""The ledger of causes: each cause is taken once, and an owner's close explains a session's end better than a fault."""

from kcsim.vocabulary import SessionId
from kcsim.zk.capture.cause_ledger import CauseLedger

OURS, OTHER = SessionId(1), SessionId(2)
WRITE, OPENING, FAULT, CLOSING = 10, 11, 12, 13


def test_the_cause_of_a_write_is_taken_once() -> None:
    """What is taken no longer fills the memory of a long run."""
    ledger = CauseLedger()
    ledger.record_write(OURS, 7, WRITE)
    assert [ledger.take_write(OURS, 8), ledger.take_write(OURS, 7), ledger.take_write(OURS, 7)] == [None, WRITE, None]


def test_causes_of_writes_that_nobody_takes_are_not_kept() -> None:
    """On an external ZooKeeper a reply comes with the cause of its request: the ledger would only grow."""
    ledger = CauseLedger(keeps_writes=False)
    ledger.record_write(OURS, 7, WRITE)
    assert ledger.take_write(OURS, 7) is None


def test_a_session_keeps_the_cause_of_its_first_opening() -> None:
    """A reconnection is recorded as an opening, too."""
    ledger = CauseLedger()
    ledger.record_open(OURS, OPENING)
    ledger.record_open(OURS, FAULT)
    assert (ledger.has_opened(OURS), ledger.cause_of_opening(OURS)) == (True, OPENING)
    assert (ledger.has_opened(OTHER), ledger.cause_of_opening(OTHER)) == (False, None)


def test_a_session_that_its_owner_closed_did_not_end_because_of_a_fault() -> None:
    ledger = CauseLedger()
    ledger.record_session_fault(OURS, FAULT)
    ledger.record_session_fault(OTHER, FAULT)
    ledger.record_close(OURS, CLOSING)
    assert (ledger.take_end(OURS), ledger.take_end(OTHER)) == ((True, CLOSING), (False, FAULT))


def test_a_fault_that_a_session_has_survived_explains_no_later_end() -> None:
    ledger = CauseLedger()
    ledger.record_session_fault(OURS, FAULT)
    assert ledger.is_end_explained(OURS)
    assert ledger.take_fault(OURS) == FAULT
    assert not ledger.is_end_explained(OURS)
    assert ledger.take_end(OURS) == (False, None)
