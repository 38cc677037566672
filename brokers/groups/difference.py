"""What changed from one assignment to the next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.zk.vocabulary import TopicPartition


class Move(NamedTuple):
    """From one member to another; the first may have left the group."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Two assignments compared; partitions and members are in order, and members without a change are missing.

    Attributes:
        moved: partitions that had an owner and now have another.
        revoked: member -> what it had and has no more, whether somebody else has it now or nobody.
        added: member -> what it has and had not, whether it was somebody else's or nobody's.
        kept: how many partitions are where they were.
    """

    moved: Mapping[TopicPartition, Move]
    revoked: Mapping[str, tuple[TopicPartition, ...]]
    added: Mapping[str, tuple[TopicPartition, ...]]
    kept: int


def difference(before: Mapping[str, Iterable[TopicPartition]], after: Mapping[str, Iterable[TopicPartition]]) -> Difference:
    """Compare two assignments, each member id -> its partitions; members may have come and gone in between."""
    old = {member_id: set(partitions) for member_id, partitions in before.items()}
    new = {member_id: set(partitions) for member_id, partitions in after.items()}
    members = sorted(old.keys() | new.keys())
    nothing: set[TopicPartition] = set()
    revoked = {m: tuple(sorted(old.get(m, nothing) - new.get(m, nothing))) for m in members}
    added = {m: tuple(sorted(new.get(m, nothing) - old.get(m, nothing))) for m in members}
    former_owner = {tp: member_id for member_id, partitions in revoked.items() for tp in partitions}
    moved = {tp: Move(former_owner[tp], m) for m, partitions in added.items() for tp in partitions if tp in former_owner}
    return Difference(
        dict(sorted(moved.items())),
        {m: partitions for m, partitions in revoked.items() if partitions},
        {m: partitions for m, partitions in added.items() if partitions},
        sum(len(old[m] & new[m]) for m in old.keys() & new.keys()),
    )
