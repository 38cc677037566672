"""The state of one partition's replay between two portions of its history, as it is kept by a streaming query.

It holds what the facts so far have left to know. What is the same for all partitions is in the state of the timeline
(timeline_state.py).
"""

from typing import NamedTuple

import msgspec

from kcsim.scenarios.analysis.folding.controller_assignment_view import KnownAssignment
from kcsim.scenarios.analysis.folding.partition_state import UNASSIGNED, StateZnode
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import ReplicaAssignment


class PendingDecision(NamedTuple):
    """What a controller is about to write."""

    fact: ReplayFact
    stored: StateZnode  # as it will be, with the version after the write
    recorded: StateZnode  # the same as the history records it
    trigger: Trigger
    strategy: str | None = None
    rule: str | None = None
    clean: bool | None = None


class ReplayState(msgspec.Struct, array_like=True):
    """The state of a VerifyingReplay, whose attributes have the same names.

    Attributes:
        n: the number of the next transition.
        known: node -> the assignment as that controller knows it.
    """

    stored: StateZnode | None = None
    assignment: ReplicaAssignment = UNASSIGNED
    n: int = 0
    known: dict[str, KnownAssignment] = {}
    next_version: int = 0
    version: int | None = None
    earlier: list[tuple[int, StateZnode]] = []
    decided: list[PendingDecision] = []
    triggers: dict[int, Trigger] = {}
    last_step: ReplayFact | None = None
    last_seq: int = -1
