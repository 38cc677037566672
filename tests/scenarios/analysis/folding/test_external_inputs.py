"""What a history says that no controller decides, applied to a simulated partition."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.folding.external_inputs import external_inputs
from kcsim.scenarios.analysis.folding.partition_simulator import PartitionSimulator
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey, StateZnode, TransitionLog
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.trigger import Trigger

KEY = PartitionKey("batch", "run", "orders", 0)


@pytest.mark.parametrize("leader", [2, None])
def test_a_state_that_was_written_by_hand_is_the_simulated_partitions_state(leader: int | None) -> None:
    """Nothing of it is computed: a state written by hand can name any leader, or none."""
    recorded = TransitionLog(KEY, is_derived=False)
    recorded.stored = StateZnode(leader, 5, (2, 3), 7, 9)
    recorded.append(30, 300, EventKind.ZNODE_CHANGED.value, Trigger.WRITTEN, None)
    simulator = PartitionSimulator(KEY, Timeline())
    (written,) = external_inputs(KEY, Timeline(), [], recorded.take())
    assert written.apply(simulator), "it counts as an input that no longer applies"
    assert simulator.stored == recorded.stored
