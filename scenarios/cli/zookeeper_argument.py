"""--zookeeper of the commands that run a cluster: the ZooKeeper that it denotes, or the end of the command."""

import sys
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.zk.security import ClientSecurity

ENSEMBLE_MEMBERS = 3


def zookeeper_choice(text: str, members: int = 1) -> "ZooKeeperChoice":
    """Read --zookeeper: one of the kinds, or the connect string of a running ZooKeeper.

    Args:
        members: how many servers to start if the servers are ours; an ensemble has at least three.
    """
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
    from kcsim.text import did_you_mean

    kinds = [kind.value for kind in ZooKeeperKind if kind is not ZooKeeperKind.EXTERNAL]
    if text in kinds:
        kind = ZooKeeperKind(text)
        return ZooKeeperChoice(kind, members=max(ENSEMBLE_MEMBERS, members) if kind is ZooKeeperKind.ENSEMBLE else members)
    if not any(mark in text for mark in ":,/"):
        hint = did_you_mean(text, kinds) or f"; it is one of {', '.join(kinds)}, or host:port,…/chroot"
        fail(f"--zookeeper: unknown ZooKeeper {text!r}{hint}", ExitStatus.USAGE)
    from kcsim.zk.security import SecurityError
    from kcsim.zk.servers.errors import BadConnectStringError
    from kcsim.zk.servers.external import parse_connect_string

    try:
        parse_connect_string(text)
        return ZooKeeperChoice(ZooKeeperKind.EXTERNAL, connect=text, security=security_of(text))
    except BadConnectStringError as error:
        fail(f"--zookeeper: {error}", ExitStatus.USAGE)
    except SecurityError as error:
        fail(str(error), ExitStatus.USAGE)


def print_read_only_note() -> None:
    print("note: answered by a ZooKeeper member that has lost its quorum; what it says may be old", file=sys.stderr)


def print_migration_note(kraft_controller: int) -> None:
    what = f"this cluster is in migration to KRaft, with the KRaft controller {kraft_controller}"
    print(f"note: {what}; it can be read here, but not changed", file=sys.stderr)


def security_of(connect: str) -> "ClientSecurity":
    """Return SASL and TLS for a running ZooKeeper: those of the environment, unless this user's kcsim runs it.

    Raises: BadConnectStringError, SecurityError, UserDirectoryError.
    """
    from kcsim.scenarios.cli.up_cluster.server_registry import is_registered
    from kcsim.zk.security import ClientSecurity

    return ClientSecurity() if is_registered(connect) else ClientSecurity.from_environment()
