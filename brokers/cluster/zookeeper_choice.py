"""The choice of a run's ZooKeeper: the value of --zookeeper."""

from dataclasses import dataclass
from enum import StrEnum


class ZooKeeperKind(StrEnum):
    """Who runs the ZooKeeper, and how; the values are those of --zookeeper.

    MODEL is the model behind a socket, in real time; SIMULATED is the same model in virtual time.
    """

    EMBEDDED = "embedded"
    ENSEMBLE = "ensemble"
    DOCKER = "docker"
    MODEL = "model"
    SIMULATED = "simulated"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ZooKeeperChoice:
    """A ZooKeeper. `connect` is set only for EXTERNAL; `members`, 1 or 3, counts the servers that the run starts."""

    kind: ZooKeeperKind
    connect: str | None = None
    members: int = 1

    @classmethod
    def parse(cls, text: str) -> "ZooKeeperChoice":
        """Read --zookeeper: one of the kinds, or a connect string. Raises: BadConnectStringError."""
        if text == ZooKeeperKind.ENSEMBLE:
            return cls(ZooKeeperKind.ENSEMBLE, members=3)
        if text in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.DOCKER, ZooKeeperKind.MODEL, ZooKeeperKind.SIMULATED):
            return cls(ZooKeeperKind(text))
        return cls(ZooKeeperKind.EXTERNAL, connect=text)
