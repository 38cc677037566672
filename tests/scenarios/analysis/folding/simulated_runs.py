"""Runs in virtual time to compare a fold with, and their states as read from the state znodes."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from kcsim import znodes
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.explore.generator import generate
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.vocabulary import NO_LEADER, ZkVersion
from kcsim.znodes import BadZnodeError

IN_MAKE_TEST = library_names()[::8]
"""Scenarios of the library that `make test` replays; `make test-all` replays all of them."""
SEEDS = range(240)
"""Explored runs that are replayed."""

STATE = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
State = tuple[int, int, tuple[int, ...], int, int]
"""Leader, leader epoch, ISR, controller epoch, version of the znode."""
Partition = tuple[str, int]


@cache
def library_run(name: str) -> Sequence[Event]:
    """Return the events of a scenario of the library, run with seed 1."""
    return simulate(load_scenario(find_scenario(name)), 1).events


def explored_run(seed: int) -> Sequence[Event]:
    """Return the events of a scenario generated from a seed."""
    return simulate(loaded(generate(load_profile("all"), seed)), seed).events


def stored_states(events: Iterable[Event]) -> dict[Partition, list[tuple[int, State | None]]]:
    """Return every change of every state znode as (seq, the state then; None if it is deleted or cannot be read)."""
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


def states_in_transitions(transitions: Iterable[Transition]) -> dict[Partition, list[tuple[int, State | None]]]:
    """Return the states after the transitions that change a state znode, in the form of stored_states()."""
    found: dict[Partition, list[tuple[int, State | None]]] = {}
    for row in transitions:
        if row.kind != EventKind.PARTITION_REASSIGNMENT and not is_failed_election(row):
            found.setdefault((row.topic, row.partition), []).append((row.seq, _state_after(row)))
    return found


def is_failed_election(row: Transition) -> bool:
    """Return True for an election that found no leader and changed nothing."""
    return row.kind == EventKind.LEADER_ELECTION and row.leader is None


def _state_after(row: Transition) -> State | None:
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
