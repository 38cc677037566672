"""An assignment: which member consumes which partitions."""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.numbering import PartitionNumbering
from kcsim.vocabulary import TopicPartition


class Assignment(Mapping[str, tuple[TopicPartition, ...]]):
    """Every member's partitions, by member id in string order; a member without any has an empty tuple.

    The order of a member's partitions is the one in which the assignor gave them. They are kept as numbers and converted to
    TopicPartitions on access, so that an assignment of a hundred thousand partitions is cheap until it is read.
    """

    def __init__(self, numbering: PartitionNumbering, numbers: Mapping[str, Sequence[int]]) -> None:
        """`numbers`: member id -> numbers of its partitions."""
        self.numbering = numbering
        self.numbers = dict(sorted(numbers.items()))

    @classmethod
    def of(cls, layout: GroupLayout, numbers: Sequence[Sequence[int]]) -> "Assignment":
        """Build an assignment from the numbers of the partitions of each member, by the member's index."""
        ids = (member.member_id for member in layout.members)
        return cls(layout.numbering, dict(zip(ids, numbers, strict=True)))

    def __getitem__(self, member_id: str) -> tuple[TopicPartition, ...]:
        return self.numbering.partitions(self.numbers[member_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"Assignment({ {m: [str(tp) for tp in partitions] for m, partitions in self.items()} })"

    @property
    def sizes(self) -> dict[str, int]:
        """The number of partitions of each member."""
        return {member_id: len(numbers) for member_id, numbers in self.numbers.items()}
