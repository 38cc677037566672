"""Whose ZooKeeper a run is on: what --zookeeper says."""

from dataclasses import dataclass
from enum import StrEnum


class ZooKeeperKind(StrEnum):
    """Whose ZooKeeper: the values are those of --zookeeper."""

    EMBEDDED = "embedded"
    ENSEMBLE = "ensemble"
    DOCKER = "docker"
    SIMULATED = "simulated"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ZooKeeperChoice:
    """`connect` only for EXTERNAL; `members` 1 or 3, for those that we start."""

    kind: ZooKeeperKind
    connect: str | None = None
    members: int = 1

    @classmethod
    def parse(cls, text: str) -> "ZooKeeperChoice":
        """Read --zookeeper: one of the kinds, or a connect string. Raises: BadConnectStringError."""
        if text == ZooKeeperKind.ENSEMBLE:
            return cls(ZooKeeperKind.ENSEMBLE, members=3)
        if text in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.DOCKER, ZooKeeperKind.SIMULATED):
            return cls(ZooKeeperKind(text))
        return cls(ZooKeeperKind.EXTERNAL, connect=text)
