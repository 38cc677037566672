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
def test_without_hardening_the_row_is_not_true(row: HardeningRow) -> None:
    """Otherwise the row would describe what Kafka does anyway, and would show nothing."""
    assert run_row(row, is_hardened=False).held == row.is_the_same


@rows
def test_a_cluster_that_is_not_hardened_quarantines_nothing(row: HardeningRow) -> None:
    """Off is the default: Kafka's behaviour."""
    kinds = {event.kind for event in run_row(row, is_hardened=False).events}
    assert kinds.isdisjoint({EventKind.ZNODE_QUARANTINED, EventKind.ZNODE_RELEASED})
