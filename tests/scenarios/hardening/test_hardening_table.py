"""The rows of the hardening table, each as a run with hardening and one without it."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.language.library import library_names
from tests.scenarios.hardening.rows import ROWS, HardeningRow, run_row

FAULTS = [name for name in library_names() if name.startswith("fault-")]
rows = pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))


def test_every_fault_of_the_library_has_a_row() -> None:
    """A fault without a row would be one of which nobody knows whether hardening helps."""
    assert list(ROWS) == FAULTS


@rows
def test_a_hardened_cluster_does_what_its_row_says(row: HardeningRow) -> None:
    """All expectations of the row and all invariants hold, and no event of the controller has failed for good."""
    ran = run_row(row, is_hardened=True)
    assert ran.held, str(ran)


@rows
@pytest.mark.slow
def test_without_hardening_the_row_is_not_true(row: HardeningRow) -> None:
    """Otherwise the row would describe what Kafka does anyway. Off is the default, and then nothing is quarantined."""
    ran = run_row(row, is_hardened=False)
    assert not ran.held
    assert {event.kind for event in ran.events}.isdisjoint({EventKind.ZNODE_QUARANTINED, EventKind.ZNODE_RELEASED})
