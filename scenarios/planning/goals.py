"""The goals of a plan, as a user writes them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcsim.text import did_you_mean

RACK_AWARE, BALANCE, BALANCE_LEADERS, BALANCE_BYTES = "rack-aware", "balance", "balance-leaders", "balance-bytes"
FLAGS = (RACK_AWARE, BALANCE, BALANCE_LEADERS)
GOALS = (
    "remove-brokers",
    "add-brokers",
    "replace",
    RACK_AWARE,
    "replication-factor",
    BALANCE,
    BALANCE_LEADERS,
    BALANCE_BYTES,
)
BROKER = re.compile(r"[0-9]+")
ANY = "*"


class PlanError(ValueError):
    """A plan that cannot be made: a goal that the cluster cannot have, or two that contradict each other. One line."""


@dataclass(frozen=True, slots=True)
class PlanGoals:
    """What the cluster is to be like afterwards.

    Attributes:
        removed: brokers that are to host nothing.
        added: brokers that are to get their share -> their rack, None if it was not given.
        replaced: broker -> the broker that takes over its replicas.
        replacement_racks: racks of brokers that take over, as far as they were given.
        factors: topic -> replication factor; the key `*` stands for all topics that are not named.
        is_rack_aware: whether the replicas of every partition are to be spread over the racks.
        is_balanced: whether brokers are to host as equally many replicas as possible.
        has_balanced_leaders: whether brokers are to lead as equally many partitions as their replicas let them.
        bytes_within: percent by which the bytes of a broker may differ from the average; None: by any number.
        capacities: broker -> the most bytes it may host.
    """

    removed: frozenset[int] = frozenset()
    added: Mapping[int, str | None] = field(default_factory=dict)
    replaced: Mapping[int, int] = field(default_factory=dict)
    replacement_racks: Mapping[int, str] = field(default_factory=dict)
    factors: Mapping[str, int] = field(default_factory=dict)
    is_rack_aware: bool = False
    is_balanced: bool = False
    has_balanced_leaders: bool = False
    bytes_within: int | None = None
    capacities: Mapping[int, int] = field(default_factory=dict)


def parse_goals(texts: Iterable[str], capacities: Iterable[str] = ()) -> PlanGoals:
    """Return the goals that texts denote: `remove-brokers 3,4`, `replication-factor orders=3`. Raises: PlanError."""
    removed: set[int] = set()
    added: dict[int, str | None] = {}
    replaced: dict[int, int] = {}
    racks: dict[int, str] = {}
    factors: dict[str, int] = {}
    flags = set()
    bytes_within = None
    for text in texts:
        name, _, value = text.strip().partition(" ")
        values = [part for part in re.split(r"[,\s]+", value) if part]
        if name not in GOALS:
            raise PlanError(f"{name!r} is no goal; the goals are {', '.join(GOALS)}{did_you_mean(name, GOALS)}")
        if (name in FLAGS) != (not values):
            raise PlanError(f"{name} takes no value" if values else f"{name} needs a value")
        match name:
            case "remove-brokers":
                removed.update(_broker(part, name) for part in values)
            case "add-brokers":
                for part in values:
                    number, _, rack = part.partition(":")
                    added[_broker(number, name)] = rack or None
            case "replace":
                for part in values:
                    old, _, rest = part.partition("=")
                    number, _, rack = rest.partition(":")
                    replaced[_broker(old, name)] = new = _broker(number, name)
                    if rack:
                        racks[new] = rack
            case "replication-factor":
                for part in values:
                    topic, _, number = part.rpartition("=")
                    if not BROKER.fullmatch(number) or int(number) < 1:
                        raise PlanError(f"replication-factor: {number!r} is no replication factor")
                    factors[topic or ANY] = int(number)
            case "balance-bytes":
                if not all(map(BROKER.fullmatch, values)) or len(values) > 1:
                    raise PlanError(f"balance-bytes: {value!r} is no percentage")
                bytes_within = int(values[0])
            case _:
                flags.add(name)
    limits = {}
    for text in capacities:
        broker, _, number = text.partition("=")
        if not BROKER.fullmatch(number):
            raise PlanError(f"--capacity: {text!r} is not BROKER=BYTES")
        limits[_broker(broker, "--capacity")] = int(number)
    is_balanced = BALANCE in flags or bytes_within is not None
    goals = PlanGoals(
        frozenset(removed),
        added,
        replaced,
        racks,
        factors,
        RACK_AWARE in flags,
        is_balanced,
        is_balanced or BALANCE_LEADERS in flags,
        bytes_within,
        limits,
    )
    _check_against_each_other(goals)
    return goals


def _broker(text: str, where: str) -> int:
    if not BROKER.fullmatch(text):
        raise PlanError(f"{where}: {text!r} is no broker id")
    return int(text)


def _check_against_each_other(goals: PlanGoals) -> None:
    leaving = goals.removed.union(goals.replaced)
    if both := leaving.intersection((*goals.added, *goals.replaced.values())):
        raise PlanError(f"broker {min(both)} is to be emptied and to get replicas")
    if both := goals.removed.intersection(goals.replaced):
        raise PlanError(f"broker {min(both)} is to be removed and to be replaced")
    if len(set(goals.replaced.values())) < len(goals.replaced):
        raise PlanError("replace: one broker cannot replace two")
