"""Runs in virtual time to hold a fold against, and what they came to, read off their state znodes."""

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache

from kcsim.scenarios.exploring.generator import generate
from kcsim.scenarios.exploring.playing import play
from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.zk import znodes
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import NO_LEADER, ZkVersion
from kcsim.zk.znodes import BadZnodeError

SEEDS = range(int(os.environ.get("KCSIM_REPLAY_SEEDS", "24")))
"""Explored runs that are replayed each time; 200 with KCSIM_REPLAY_SEEDS=200."""

STATE = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
State = tuple[int, int, tuple[int, ...], int, int]
"""Leader, leader epoch, ISR, controller epoch, version of the znode."""
Partition = tuple[str, int]


@cache
def library_run(name: str) -> Sequence[Event]:
    """A scenario of the library, seed 1."""
    return play(load_scenario(find_scenario(name)), 1).events


def explored_run(seed: int) -> Sequence[Event]:
    """A scenario that is drawn from a seed."""
    return play(loaded(generate(load_profile("all"), seed)), seed).events


def stored_states(events: Iterable[Event]) -> dict[Partition, list[tuple[int, State | None]]]:
    """Every change of every state znode: (seq, what it holds then; None if it is gone, or cannot be read)."""
    found: dict[Partition, list[tuple[int, State | None]]] = {}
    for event in events:
        of_state = STATE.fullmatch(event.path or "")
        if of_state is not None and event.kind in (
            EventKind.ZNODE_CREATED,
            EventKind.ZNODE_CHANGED,
            EventKind.ZNODE_DELETED,
        ):
            found.setdefault((of_state[1], int(of_state[2])), []).append((event.seq, _state(event)))
    return found


def states_told(transitions: Iterable[Transition]) -> dict[Partition, list[tuple[int, State | None]]]:
    """The same of transitions: those that are a change of the state znode."""
    found: dict[Partition, list[tuple[int, State | None]]] = {}
    for row in transitions:
        if row.kind != EventKind.PARTITION_REASSIGNMENT and not found_nobody(row):
            found.setdefault((row.topic, row.partition), []).append((row.seq, _told(row)))
    return found


def found_nobody(row: Transition) -> bool:
    """Whether it is an election that changed nothing."""
    return row.kind == EventKind.LEADER_ELECTION and row.leader is None


def _told(row: Transition) -> State | None:
    if row.leader is None or row.leader_epoch is None or row.controller_epoch is None or row.zk_version is None:
        return None
    return row.leader, row.leader_epoch, tuple(row.isr), row.controller_epoch, row.zk_version


def _state(event: Event) -> State | None:
    if event.kind is EventKind.ZNODE_DELETED or event.data is None:
        return None
    version = ZkVersion(event.zk_version or 0)
    try:
        state = znodes.decode_partition_state(event.path or "", event.data.encode(), version, lambda path, reason: None)
    except BadZnodeError:
        return None
    if state is None:
        return None
    of = state.leader_and_isr
    leader = NO_LEADER if of.leader is None else of.leader
    return leader, of.leader_epoch, of.isr, state.controller_epoch, version
