"""A cluster's writes to ZooKeeper, in the form in which two clusters are compared."""

from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.znodes import paths

CONTROLLER = "controller"
"""The writer is the broker that holds /controller, in that role. Other writers are broker-N and ADMIN."""
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
    paths.FEATURE,
)
"""Writes to these znodes and below them are compared."""
FINAL_PLACES = (paths.CONTROLLER, paths.CONTROLLER_EPOCH, paths.BROKER_TOPICS)
"""The final content of these znodes and of all znodes below them is compared, and of all znodes below /admin."""


@dataclass(frozen=True, slots=True)
class ZnodeWrite:
    """One write to ZooKeeper.

    Attributes:
        by: controller, broker-N or admin.
        op: create, set, delete, or register for the multi that creates /brokers/ids/N and sets its data.
        path: with N for the number of a sequential znode.
        data: as written; None for null data and for operations whose data is not compared.
        fenced: the write was in one multi with a check of /controller_epoch.
    """

    by: str
    op: str
    path: str
    data: str | None = None
    fenced: bool = False


Writes = tuple[ZnodeWrite, ...]


@dataclass(frozen=True, slots=True)
class StepWrites:
    """The writes of one step and their context.

    Attributes:
        controller: the broker in /controller, or the last one in it, at the end of the step; None if unknown.
        writes: in the order of their zxids; None if unknown, so that they are not compared.
        sessions_closed: brokers whose session ended.
    """

    controller: int | None
    writes: Writes | None
    sessions_closed: tuple[str, ...] = ()


def is_below(path: str, places: Iterable[str]) -> bool:
    """Return whether a path is one of these paths, or below one of them."""
    return any(path == place or path.startswith(place + "/") for place in places)


def is_final(path: str) -> bool:
    """Return whether a znode's final content is compared."""
    return is_below(path, FINAL_PLACES) or path.startswith("/admin/")


def by_znode(writes: Iterable[ZnodeWrite]) -> dict[str, Writes]:
    """Return the writes by path, each path's in their order."""
    found: dict[str, list[ZnodeWrite]] = {}
    for write in writes:
        found.setdefault(write.path, []).append(write)
    return {path: tuple(of_path) for path, of_path in found.items()}
