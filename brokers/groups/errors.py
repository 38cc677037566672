"""Errors of consumer groups and of changes to them. When one of these is raised, nothing was changed."""

from collections.abc import Iterable

from kcsim.brokers.groups.assignors.errors import GroupError


class UnknownMemberError(GroupError):
    """A member that the group does not have. `known` are the members that it has."""

    def __init__(self, member_id: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown member {member_id!r}")
        self.member_id, self.known = member_id, tuple(known)


class UnknownTopicError(GroupError):
    """A topic that does not exist. `known` are the topics that exist."""

    def __init__(self, topic: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown topic {topic!r}")
        self.topic, self.known = topic, tuple(known)


class FewerPartitionsError(GroupError):
    """A change would reduce a topic's partitions. Partitions can only be added."""

    def __init__(self, topic: str, present: int, wanted: int) -> None:
        super().__init__(f"{topic} has {present} partitions and cannot have fewer: {wanted}; delete the topic first")
        self.topic, self.present, self.wanted = topic, present, wanted
