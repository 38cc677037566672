"""--zookeeper of the commands that run a cluster: which one is meant, or the end of the command."""

from typing import TYPE_CHECKING

from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice

ENSEMBLE_MEMBERS = 3


def zookeeper_choice(text: str, members: int = 1) -> "ZooKeeperChoice":
    """Read --zookeeper: one of the kinds, or the connect string of a ZooKeeper that runs.

    Args:
        members: how many servers are wanted of one that we start; an ensemble has at least three.
    """
    from kcsim.scenarios.language.words import did_you_mean
    from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
    from kcsim.zk.servers.errors import BadConnectStringError
    from kcsim.zk.servers.external import parse_connect_string

    kinds = [kind.value for kind in ZooKeeperKind if kind is not ZooKeeperKind.EXTERNAL]
    if text in kinds:
        kind = ZooKeeperKind(text)
        return ZooKeeperChoice(kind, members=max(ENSEMBLE_MEMBERS, members) if kind is ZooKeeperKind.ENSEMBLE else members)
    if not any(mark in text for mark in ":,/"):
        hint = did_you_mean(text, kinds) or f"; it is one of {', '.join(kinds)}, or host:port,…/chroot"
        give_up(f"--zookeeper: unknown ZooKeeper {text!r}{hint}", ExitStatus.USAGE)
    try:
        parse_connect_string(text)
    except BadConnectStringError as error:
        give_up(f"--zookeeper: {error}", ExitStatus.USAGE)
    return ZooKeeperChoice(ZooKeeperKind.EXTERNAL, connect=text)
