"""Conditions on ZooKeeper's content while a step is played. Each returns None, or a sentence on what is observed instead."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.zk.capture.write_comparison.content import json_of
from kcsim.zk.capture.write_comparison.isr import isr_of
from kcsim.znodes import paths


def controller_is(state: ClusterState, broker_id: int) -> str | None:
    """Check that /controller names this broker."""
    return None if state.controller_id == broker_id else f"{paths.CONTROLLER} names {state.controller_id}"


def all_closed(state: ClusterState, session_ids: Iterable[str]) -> str | None:
    """Check that ZooKeeper has ended these sessions."""
    left = [session_id for session_id in session_ids if state.sessions.get(session_id) != "closed"]
    return f"these sessions live: {', '.join(left)}" if left else None


def registered_anew(state: ClusterState, broker_id: int, former: Collection[str | None]) -> str | None:
    """Check that a broker is registered, in a session other than these."""
    path = f"{paths.BROKER_IDS}/{broker_id}"
    znode = state.znodes.get(path)
    if znode is None:
        return f"{path} does not exist"
    return f"{path} is of the former session" if znode.session_id in former else None


def all_exist(state: ClusterState, wanted: Iterable[str]) -> str | None:
    """Check that these znodes exist."""
    missing = [path for path in wanted if path not in state.znodes]
    return f"missing: {', '.join(missing)}" if missing else None


def led_by(state: ClusterState, leaders: Mapping[str, int]) -> str | None:
    """Check that these partitions have these leaders."""
    found = {tp: _field(state, tp, "leader") for tp in leaders}
    wrong = [f"{tp} is led by {found[tp]}" for tp, leader in leaders.items() if found[tp] != leader]
    return ", ".join(wrong) or None


def in_sync(state: ClusterState, isrs: Mapping[str, Sequence[int]]) -> str | None:
    """Check that these partitions have these ISRs, in any order."""
    found = {tp: isr_of(_state_data(state, tp)) for tp in isrs}
    wrong = [f"{tp} has ISR {found[tp]}" for tp, isr in isrs.items() if sorted(found[tp] or ()) != sorted(isr)]
    return ", ".join(wrong) or None


def state_path(partition: str) -> str:
    """Return the state znode's path of a partition written as orders-0."""
    topic, _, number = partition.rpartition("-")
    return f"{paths.topic_partitions(topic)}/{number}/state"


def _state_data(state: ClusterState, partition: str) -> str | None:
    znode = state.znodes.get(state_path(partition))
    return znode.data if znode else None


def _field(state: ClusterState, partition: str, name: str) -> object:
    value = json_of(_state_data(state, partition))
    return value.get(name) if isinstance(value, dict) else None
