"""Where a session connects to, and how."""

from typing import NamedTuple

from kcsim.zk.security import ClientSecurity


class ConnectSettings(NamedTuple):
    """What all sessions of a client have in common.

    Attributes:
        connect_string: "h:p,h:p/chroot".
        security: SASL and TLS.
        accepts_read_only: whether a member that is cut off from its ensemble may serve the sessions.
    """

    connect_string: str
    security: ClientSecurity
    accepts_read_only: bool
