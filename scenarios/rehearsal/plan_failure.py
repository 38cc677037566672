"""What goes wrong while a step of a plan is executed, in one run of a rehearsal."""

from enum import StrEnum
from typing import Literal

import msgspec


class FailureKind(StrEnum):
    """Kinds of failures, in the order in which they are reported. Values are for people."""

    CONTROLLER = "the controller dies"
    SOURCE = "a source dies"
    DESTINATION = "a destination dies"
    RACK = "a rack is lost"
    HARMFUL_STEP = "a loss after the first harm"
    THROTTLE = "a throttle too low"


class ControllerWrite(msgspec.Struct, frozen=True):
    """A write of the controller's broker to ZooKeeper, counted from the beginning of the step."""

    moment: Literal["before", "after"]
    nth: int


class PlanFailure(msgspec.Struct, frozen=True):
    """A failure.

    Attributes:
        what: for people, such as `rack b is lost`.
        brokers: those that die at once, at `at_ms` after the beginning of the step.
        write: the write at which the controller dies.
        throttle: the throttle that takes the place of the plan's.
    """

    kind: FailureKind
    what: str
    brokers: tuple[int, ...] = ()
    at_ms: int = 0
    write: ControllerWrite | None = None
    throttle: int | None = None

    @property
    def is_loss_of_rack(self) -> bool:
        """Whether several brokers die, as only the loss of a rack does it."""
        return len(self.brokers) > 1
