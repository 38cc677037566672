"""Errors of the ZooKeeper layer; each says whether the failed request was applied.

Codes and names are ZooKeeper's own (KeeperException.Code).
"""

from typing import ClassVar

from kcsim.errors import Outcome


class ZooKeeperError(Exception):
    """A request that ZooKeeper refused, or whose answer was lost. `path` is the path of the request."""

    outcome: ClassVar[Outcome] = Outcome.NOT_APPLIED
    code: ClassVar[int] = 0
    name: ClassVar[str] = "OK"

    def __init__(self, path: str | None = None, message: str | None = None) -> None:
        super().__init__(message or (f"{self.name} for {path}" if path else self.name))
        self.path = path

    def __eq__(self, other: object) -> bool:
        """Compare type and path: the conformance tests compare the errors of the adapters in this way."""
        return type(self) is type(other) and isinstance(other, ZooKeeperError) and self.path == other.path

    def __hash__(self) -> int:
        return hash((type(self), self.path))


class NoNodeError(ZooKeeperError):
    """The znode, or the parent of the znode to be created, does not exist."""

    code, name = -101, "NONODE"


class BadVersionError(ZooKeeperError):
    """A conditional write or check named a version that the znode does not have. Nothing was written."""

    code, name = -103, "BADVERSION"


class NoChildrenForEphemeralsError(ZooKeeperError):
    """The parent is ephemeral and can have no children."""

    code, name = -108, "NOCHILDRENFOREPHEMERALS"


class NodeExistsError(ZooKeeperError):
    """The znode to be created exists already."""

    code, name = -110, "NODEEXISTS"


class NotEmptyError(ZooKeeperError):
    """The znode to be deleted has children."""

    code, name = -111, "NOTEMPTY"


class BadArgumentsError(ZooKeeperError):
    """The request itself is invalid (an illegal path, the deletion of the root)."""

    code, name = -8, "BADARGUMENTS"


class NoAuthError(ZooKeeperError):
    """The ACL of the znode forbids the operation."""

    code, name = -102, "NOAUTH"


class InvalidAclError(ZooKeeperError):
    """The ACL in a request is empty, or names a scheme or an id that does not exist."""

    code, name = -114, "INVALIDACL"


class AuthFailedError(ZooKeeperError):
    """The server knows no such scheme of authentication, or the credentials are wrong."""

    code, name = -115, "AUTHFAILED"


class NoWatcherError(ZooKeeperError):
    """The watch to be removed does not exist."""

    code, name = -121, "NOWATCHER"


class UnimplementedError(ZooKeeperError):
    """The server does not know, or does not allow, this operation."""

    code, name = -6, "UNIMPLEMENTED"


class RuntimeInconsistencyError(ZooKeeperError):
    """An operation of a multi was not tried, because an operation before it failed."""

    code, name = -2, "RUNTIMEINCONSISTENCY"


class RolledBackError(ZooKeeperError):
    """An operation of a multi was undone, because an operation after it failed (code 0 on the wire)."""

    code, name = 0, "OK, rolled back"


class NotReadOnlyError(ZooKeeperError):
    """The session is served by a member that is cut off from its ensemble, and which only reads."""

    code, name = -119, "NOTREADONLY"


class SaslRequiredError(ZooKeeperError):
    """The server serves only sessions that have authenticated with SASL, and has closed this one."""

    code, name = -124, "SESSIONCLOSEDREQUIRESASLAUTH"


class SessionMovedError(ZooKeeperError):
    """Another connection has taken over the session."""

    code, name = -118, "SESSIONMOVED"


class SessionExpiredError(ZooKeeperError):
    """The session has ended, and its ephemeral znodes are deleted; the session object cannot be used again.

    The request was not applied.
    """

    code, name = -112, "SESSIONEXPIRED"


class ConnectionLossError(ZooKeeperError):
    """The connection broke before the answer arrived: re-read before deciding again."""

    outcome: ClassVar[Outcome] = Outcome.UNKNOWN
    code, name = -4, "CONNECTIONLOSS"


class SessionClosedError(ZooKeeperError):
    """The session's owner closed it; it accepts no more requests."""

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
        InvalidAclError,
        AuthFailedError,
        NoWatcherError,
        UnimplementedError,
        RuntimeInconsistencyError,
        RolledBackError,
        NotReadOnlyError,
        SaslRequiredError,
        SessionMovedError,
        SessionExpiredError,
        ConnectionLossError,
    )
}


class UnexpectedCodeError(ZooKeeperError):
    """The server answered with an error code that this project does not know."""

    def __init__(self, path: str | None, number: int) -> None:
        super().__init__(path, f"ZooKeeper answered with code {number} for {path}")
        self.number = number


def error_of_code(code: int, path: str | None) -> ZooKeeperError:
    """Return the error for a code of KeeperException."""
    error = ERRORS_BY_CODE.get(code)
    return error(path) if error else UnexpectedCodeError(path, code)


class ZooKeeperUnavailableError(Exception):
    """No session could be opened in time. The message names the servers, the time-out and the last error."""


class ControllerMovedError(Exception):
    """Another broker is controller now. The request that failed with this error wrote nothing.

    Args:
        epoch_zk_version: the version of /controller_epoch that a fenced write expected and did not find; None in elections.
    """

    def __init__(self, message: str, epoch_zk_version: int | None = None) -> None:
        super().__init__(message)
        self.epoch_zk_version = epoch_zk_version
