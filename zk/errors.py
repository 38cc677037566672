"""Errors of the ZooKeeper layer; each says whether the thing asked for happened.

Codes and names are ZooKeeper's own (KeeperException.Code).
"""

from enum import Enum
from typing import ClassVar


class Outcome(Enum):
    """Whether a failed request took effect."""

    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"


class Killed(BaseException):
    """The task was stopped: its node was killed, or whoever spawned it asked. Outside Exception, on every runtime.

    Raised at the await where the task stood, and by every port of a killed node, so that no `finally` reaches the world.
    """


class TimedOutError(Exception):
    """A bounded wait ran out. The message names what was waited for and what was last seen."""


class ZooKeeperError(Exception):
    """A request that ZooKeeper refused, or whose answer never came. Carries the path it was about."""

    outcome: ClassVar[Outcome] = Outcome.NOT_APPLIED
    code: ClassVar[int] = 0
    name: ClassVar[str] = "OK"

    def __init__(self, path: str | None = None, message: str | None = None) -> None:
        super().__init__(message or (f"{self.name} for {path}" if path else self.name))
        self.path = path

    def __eq__(self, other: object) -> bool:
        """Two refusals are equal when they say the same about the same path: the adapters are compared so."""
        return type(self) is type(other) and isinstance(other, ZooKeeperError) and self.path == other.path

    def __hash__(self) -> int:
        return hash((type(self), self.path))


class NoNodeError(ZooKeeperError):
    """The znode, or the parent of the one to be created, does not exist."""

    code, name = -101, "NONODE"


class BadVersionError(ZooKeeperError):
    """A conditional write or check named a version that the znode does not have. Nothing was written."""

    code, name = -103, "BADVERSION"


class NoChildrenForEphemeralsError(ZooKeeperError):
    """The parent is ephemeral and can have no children."""

    code, name = -108, "NOCHILDRENFOREPHEMERALS"


class NodeExistsError(ZooKeeperError):
    """The znode to be created is there already."""

    code, name = -110, "NODEEXISTS"


class NotEmptyError(ZooKeeperError):
    """The znode to be deleted has children."""

    code, name = -111, "NOTEMPTY"


class BadArgumentsError(ZooKeeperError):
    """The request itself makes no sense to the server (an illegal path, the deletion of the root)."""

    code, name = -8, "BADARGUMENTS"


class NoAuthError(ZooKeeperError):
    """The ACL of the znode forbids it."""

    code, name = -102, "NOAUTH"


class RuntimeInconsistencyError(ZooKeeperError):
    """An operation of a multi that was not tried, because one before it failed."""

    code, name = -2, "RUNTIMEINCONSISTENCY"


class RolledBackError(ZooKeeperError):
    """An operation of a multi that would have succeeded, undone because one after it failed (code 0 on the wire)."""

    code, name = 0, "OK, rolled back"


class SessionMovedError(ZooKeeperError):
    """The session has since been taken up by another connection."""

    code, name = -118, "SESSIONMOVED"


class SessionExpiredError(ZooKeeperError):
    """The session is gone, its ephemeral znodes with it; this handle will never work again. The request was not applied."""

    code, name = -112, "SESSIONEXPIRED"


class ConnectionLossError(ZooKeeperError):
    """The connection broke before the answer came: re-read before deciding again."""

    outcome: ClassVar[Outcome] = Outcome.UNKNOWN
    code, name = -4, "CONNECTIONLOSS"


class SessionClosedError(ZooKeeperError):
    """The session was closed by its owner; nothing can be asked on it any more."""

    code, name = -116, "SESSIONCLOSED"


ERRORS_BY_CODE: dict[int, type[ZooKeeperError]] = {
    error.code: error
    for error in (
        NoNodeError,
        BadVersionError,
        NoChildrenForEphemeralsError,
        NodeExistsError,
        NotEmptyError,
        BadArgumentsError,
        NoAuthError,
        RuntimeInconsistencyError,
        RolledBackError,
        SessionMovedError,
        SessionExpiredError,
        ConnectionLossError,
    )
}


class UnexpectedCodeError(ZooKeeperError):
    """The server answered with a code that this project gives no meaning."""

    def __init__(self, path: str | None, number: int) -> None:
        super().__init__(path, f"ZooKeeper answered with code {number} for {path}")
        self.number = number


def error_of_code(code: int, path: str | None) -> ZooKeeperError:
    """Return the error that stands for a code of KeeperException."""
    error = ERRORS_BY_CODE.get(code)
    return error(path) if error else UnexpectedCodeError(path, code)


class ZooKeeperUnavailableError(Exception):
    """No session could be opened in time. Says where it was tried, for how long, and what came back last."""


class ControllerMovedError(Exception):
    """The controller role belongs to somebody else now. Nothing was written by the request that found out.

    Args:
        epoch_zk_version: the version of /controller_epoch that a fenced write expected and did not find; None in elections.
    """

    def __init__(self, message: str, epoch_zk_version: int | None = None) -> None:
        super().__init__(message)
        self.epoch_zk_version = epoch_zk_version
