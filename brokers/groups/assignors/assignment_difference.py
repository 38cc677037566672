"""The differences between one assignment and the next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.vocabulary import TopicPartition


class OwnerChange(NamedTuple):
    """The owners of a partition before and after a change; the first may have left the group."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class AssignmentDifference:
    """The result of comparing two assignments. Partitions and members are in order; members without a change are missing.

    Attributes:
        moved: partitions that had an owner and now have another.
        revoked: member -> partitions that it had and no longer has, whether or not another member has them now.
        added: member -> partitions that it has now and did not have, whether or not another member had them.
        kept: the number of partitions that have the same owner as before.
    """

    moved: Mapping[TopicPartition, OwnerChange]
    revoked: Mapping[str, tuple[TopicPartition, ...]]
    added: Mapping[str, tuple[TopicPartition, ...]]
    kept: int


def assignment_difference(
    before: Mapping[str, Iterable[TopicPartition]], after: Mapping[str, Iterable[TopicPartition]]
) -> AssignmentDifference:
    """Compare two assignments, each member id -> its partitions; members may have come and gone in between."""
    old = {member_id: set(partitions) for member_id, partitions in before.items()}
    new = {member_id: set(partitions) for member_id, partitions in after.items()}
    members = sorted(old.keys() | new.keys())
    nothing: set[TopicPartition] = set()
    revoked = {m: tuple(sorted(old.get(m, nothing) - new.get(m, nothing))) for m in members}
    added = {m: tuple(sorted(new.get(m, nothing) - old.get(m, nothing))) for m in members}
    former_owner = {tp: member_id for member_id, partitions in revoked.items() for tp in partitions}
    moved = {
        tp: OwnerChange(former_owner[tp], m) for m, partitions in added.items() for tp in partitions if tp in former_owner
    }
    return AssignmentDifference(
        dict(sorted(moved.items())),
        {m: partitions for m, partitions in revoked.items() if partitions},
        {m: partitions for m, partitions in added.items() if partitions},
        sum(len(old[m] & new[m]) for m in old.keys() & new.keys()),
    )
