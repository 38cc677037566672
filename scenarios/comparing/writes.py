"""What a cluster wrote to ZooKeeper, in the form in which two clusters are compared."""

from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.zk import paths

CONTROLLER = "controller"
"""Who wrote: the broker that holds /controller, in that role. Others are broker-N, and ADMIN."""
ADMIN = "admin"
WITH_DATA = ("create", "set")
"""Operations whose data is compared."""

PLACES = (
    paths.CONTROLLER,
    paths.CONTROLLER_EPOCH,
    "/brokers",
    "/admin",
    paths.ISR_CHANGE_NOTIFICATION,
    paths.LOG_DIR_EVENT_NOTIFICATION,
)
"""Writes to these znodes and below them are compared."""
FINAL_PLACES = (paths.CONTROLLER, paths.CONTROLLER_EPOCH, paths.BROKER_TOPICS)
"""These znodes and all below them are compared as they are at the end; of /admin, what is below it."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write to ZooKeeper.

    Attributes:
        by: controller, broker-N or admin.
        op: create, set, delete, or register for the multi that creates /brokers/ids/N and sets its data.
        path: with N for the number of a sequential znode.
        data: as written; None for null data and for operations whose data is not compared.
        fenced: it stood in one multi with a check of /controller_epoch.
    """

    by: str
    op: str
    path: str
    data: str | None = None
    fenced: bool = False


Writes = tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class StepWrites:
    """What followed from one step.

    Attributes:
        controller: who holds /controller, or held it last, when the step has ended; None if nobody knows.
        writes: in the order of their zxids; None if nobody knows, so that there is nothing to compare with.
        sessions_closed: brokers whose session ended.
    """

    controller: int | None
    writes: Writes | None
    sessions_closed: tuple[str, ...] = ()


def is_below(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these places, or below one."""
    return any(path == place or path.startswith(place + "/") for place in places)


def is_final(path: str) -> bool:
    """Whether a znode belongs to what is compared at the end."""
    return is_below(path, FINAL_PLACES) or path.startswith("/admin/")


def by_znode(writes: Iterable[Write]) -> dict[str, Writes]:
    """Writes by path, in their order."""
    found: dict[str, list[Write]] = {}
    for write in writes:
        found.setdefault(write.path, []).append(write)
    return {path: tuple(of_path) for path, of_path in found.items()}
