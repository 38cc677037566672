"""The choice of the fold."""

from functools import partial

from kcsim.scenarios.analysis.folding.folding_runs import FoldPartition, fold_recorded
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.folding.what_if_replay import fold_what_if


def fold_for(what_if: WhatIf | None) -> FoldPartition:
    """Return the fold of the recorded history if `what_if` is None, else the fold that derives transitions."""
    return fold_recorded if what_if is None else partial(fold_what_if, what_if)
