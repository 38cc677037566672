"""The parts of a scenario in Python, as they would be written in a file, and the keyword arguments that make them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from kcsim.scenarios.language.model import hyphenated

ScenarioPart = Mapping[str, Any]
"""A part of a scenario, as it would be written in a file."""
Names = str | Sequence[str]
"""One or several names: broker-1, controller, leader-of orders-0, a name given with `as_`; `all`."""


class TimingKeywords(TypedDict, total=False):
    """When a step is executed, and how often."""

    at: str
    after: str
    when: ScenarioPart
    times: int
    every: str
    if_possible: bool


class NamingStepKeywords(TimingKeywords, total=False):
    """TimingKeywords, and the name that the step gives to its target."""

    as_: str


class MidWriteStepKeywords(NamingStepKeywords, total=False):
    """NamingStepKeywords, and the write to ZooKeeper before or after which a fault takes effect."""

    at_write: str
    path: str
    nth: int


class LinkKeywords(TypedDict, total=False):
    """Links of the network: both ways `between` some `and` others, or one way `from` some `to` others."""

    between: Names
    and_: Names
    from_: Names
    to: Names


class ConditionKeywords(TypedDict, total=False):
    """The conditions on a cluster, as in a scenario file, and the time within which they must hold."""

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
    groups: Mapping[str, ScenarioPart]
    assignment: Mapping[str, Names]
    moved: Mapping[str, Names]
    unconsumed: Mapping[str, ScenarioPart]
    metrics: ScenarioPart
    znode: ScenarioPart
    event: ScenarioPart
    no_event: ScenarioPart
    events: ScenarioPart
    order: Sequence[ScenarioPart]
    time_between: ScenarioPart
    as_recorded: Literal[True]
    within: str


class ExpectationKeywords(ConditionKeywords, total=False):
    """ConditionKeywords, and the time of the run at which they are judged instead of its end."""

    at: str


# --- as written in a file --------------------------------------------------------------------------------------------------


def given(**parts: Any) -> dict[str, Any]:
    return hyphenate_keys({name: part for name, part in parts.items() if part is not None})


def hyphenate_keys(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {hyphenated(name): part for name, part in parts.items()}
