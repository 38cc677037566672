"""An assignment: which member consumes which partitions."""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.brokers.groups.layout import GroupLayout
from kcsim.brokers.groups.numbering import PartitionNumbering
from kcsim.zk.vocabulary import TopicPartition


class Assignment(Mapping[str, tuple[TopicPartition, ...]]):
    """Every member's partitions, by member id in string order; a member without any has an empty tuple.

    The order of a member's partitions is the one in which the assignor gave them. They are kept as numbers and made into
    TopicPartitions when looked at: a hundred thousand are cheap as long as nobody looks.
    """

    def __init__(self, numbering: PartitionNumbering, numbers: Mapping[str, Sequence[int]]) -> None:
        """`numbers`: member id -> numbers of its partitions."""
        self.numbering = numbering
        self.numbers = dict(sorted(numbers.items()))

    @classmethod
    def of(cls, layout: GroupLayout, numbers: Sequence[Sequence[int]]) -> "Assignment":
        """Make it of the partitions' numbers for each member's index."""
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
        """How many partitions each member has."""
        return {member_id: len(numbers) for member_id, numbers in self.numbers.items()}
