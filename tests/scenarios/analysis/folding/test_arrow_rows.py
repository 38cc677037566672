"""Transitions as rows of an Arrow table."""

import msgspec

from kcsim.scenarios.analysis.folding.arrow_rows import record_batch
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from tests.scenarios.analysis.folding.simulated_runs import library_run


def test_a_table_of_transitions_has_all_that_they_say() -> None:
    """The analyses read this table only."""
    rows = fold_events("batch", "run", library_run("last-isr-member-lost")).transitions
    assert record_batch(rows, transitions_arrow_schema()).to_pylist() == msgspec.json.decode(msgspec.json.encode(rows))
