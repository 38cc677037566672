"""Which fold a wish needs."""

from functools import partial

from kcsim.scenarios.replay.folding.derived_history import fold_derived
from kcsim.scenarios.replay.folding.folding_runs import FoldPartition, fold_recorded
from kcsim.scenarios.replay.folding.what_if import WhatIf


def fold_for(what_if: WhatIf | None) -> FoldPartition:
    """As the history tells it, if nothing is to be derived."""
    return fold_recorded if what_if is None else partial(fold_derived, what_if)
