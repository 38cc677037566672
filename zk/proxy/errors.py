"""Errors of a proxy: it could not listen, or the requested operation would have no effect."""

from kcsim.vocabulary import SessionId


class ProxyError(Exception):
    """A proxy could not be started, or could not inject a fault."""


class ProxyNotRunningError(ProxyError):
    """The proxy has not been started, or was stopped."""

    def __init__(self) -> None:
        super().__init__("this proxy is not running: start it first")


class NoSessionError(ProxyError):
    """There is no session to end: none was opened through this proxy, all have ended, or the named one is not open."""

    def __init__(self, session_id: SessionId | None, seen: int) -> None:
        which = "no session is open" if session_id is None else f"session {session_id:#018x} is not open"
        super().__init__(f"nothing to expire: {which} through this proxy; it has seen {seen} in all")
        self.session_id = session_id
