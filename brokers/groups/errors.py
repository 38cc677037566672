"""What can be wrong with a consumer group or with what is done to it. Nothing has happened when one of these is raised."""

from collections.abc import Iterable


class GroupError(ValueError):
    """Something about a group makes no sense."""


class DuplicateMemberError(GroupError):
    """Two members with one member id."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"member {member_id!r} is there twice")
        self.member_id = member_id


class UnknownMemberError(GroupError):
    """A member that the group does not have. `known` are those it has."""

    def __init__(self, member_id: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown member {member_id!r}")
        self.member_id, self.known = member_id, tuple(known)


class UnknownTopicError(GroupError):
    """A topic that there is not. `known` are those there are."""

    def __init__(self, topic: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown topic {topic!r}")
        self.topic, self.known = topic, tuple(known)


class BadPatternError(GroupError):
    """A subscription's pattern that is no regular expression. `position` counts from 0; None if that is not known."""

    def __init__(self, pattern: str, problem: str, position: int | None) -> None:
        where = "" if position is None else f" at character {position + 1}"
        super().__init__(f"{pattern!r} is no regular expression: {problem}{where}")
        self.pattern, self.problem, self.position = pattern, problem, position


class FewerPartitionsError(GroupError):
    """A topic's partitions can become more, never fewer."""

    def __init__(self, topic: str, present: int, wanted: int) -> None:
        super().__init__(f"{topic} has {present} partitions and cannot have fewer: {wanted}; delete the topic first")
        self.topic, self.present, self.wanted = topic, present, wanted
