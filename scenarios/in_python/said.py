"""What a scenario is made of in Python: parts as they would stand in a file, and the keywords that they are made with."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from kcsim.scenarios.language.model import hyphenated

Said = Mapping[str, Any]
"""A part of a scenario, as it would stand in a file."""
Names = str | Sequence[str]
"""One, or several: broker-1, controller, leader-of orders-0, a name given with `as_`; `all`."""


class Timing(TypedDict, total=False):
    """When a step is done, and how often."""

    at: str
    after: str
    when: Said
    times: int
    every: str
    if_possible: bool


class Naming(Timing, total=False):
    """The same of a step that can give a name to whom it is done."""

    as_: str


class MidWrite(Naming, total=False):
    """The same of a fault that can strike in the middle of a write to ZooKeeper."""

    at_write: str
    path: str
    nth: int


class Links(TypedDict, total=False):
    """Links of the network: between some and others, or from some to others."""

    between: Names
    and_: Names
    from_: Names
    to: Names


class Conditions(TypedDict, total=False):
    """What can be true of a cluster."""

    controller: str
    controller_epoch: int
    controller_epochs: Sequence[int]
    registered: Names
    unregistered: Names
    re_registered: Names
    running: Names
    paused: Names
    stopped: Names
    dead: Names
    session_expired: Names
    topics: Names
    leader: Mapping[str, Names]
    leader_epoch: Mapping[str, int]
    isr: Mapping[str, Sequence[int]]
    replicas: Mapping[str, Sequence[int]]
    in_sync: Names
    leaders_preferred: Names
    reassigning: Names
    offline_partitions: int
    under_replicated: int
    acknowledged: Any
    given_up: Any
    lost: Any
    lost_everywhere: Any
    incomplete: Any
    unacknowledged: Any
    duplicated: Any
    divergent: Any
    groups: Mapping[str, Said]
    assignment: Mapping[str, Names]
    moved: Mapping[str, Names]
    unconsumed: Mapping[str, Said]
    metrics: Said
    znode: Said
    event: Said
    no_event: Said
    events: Said
    order: Sequence[Said]
    time_between: Said
    within: str


class Expected(Conditions, total=False):
    """The same, judged at a moment of the run instead of its end."""

    at: str


# --- as a file has it ------------------------------------------------------------------------------------------------------


def step(verb: str, to_whom: Any, timing: Mapping[str, Any], **more: Any) -> Said:
    return {verb: to_whom, **given(**more), **said(timing)}


def given(**parts: Any) -> dict[str, Any]:
    return said({name: part for name, part in parts.items() if part is not None})


def said(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {hyphenated(name): part for name, part in parts.items()}
