"""The errors of assignors: contradictory members and subscriptions."""


class GroupError(ValueError):
    """A contradiction or an invalid value in a group's description."""


class DuplicateMemberError(GroupError):
    """Two members have the same member id."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"member {member_id!r} is there twice")
        self.member_id = member_id


class BadPatternError(GroupError):
    """A subscription's pattern is not a regular expression. `position` counts from 0; None if it is not known."""

    def __init__(self, pattern: str, problem: str, position: int | None) -> None:
        where = "" if position is None else f" at character {position + 1}"
        super().__init__(f"{pattern!r} is no regular expression: {problem}{where}")
        self.pattern, self.problem, self.position = pattern, problem, position
