"""The choice of a run's ZooKeeper: the value of --zookeeper."""

from dataclasses import dataclass, field
from enum import StrEnum

from kcsim.zk.security import ClientSecurity


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
    """A ZooKeeper.

    Attributes:
        connect: the connect string of an EXTERNAL one.
        members: 1 or 3; how many servers the run starts.
        security: SASL and TLS of an EXTERNAL one.
    """

    kind: ZooKeeperKind
    connect: str | None = None
    members: int = 1
    security: ClientSecurity = field(default_factory=ClientSecurity)

    @classmethod
    def parse(cls, text: str) -> "ZooKeeperChoice":
        """Read --zookeeper: one of the kinds, or a connect string, whose security is that of the environment.

        Raises: SecurityError.
        """
        if text == ZooKeeperKind.ENSEMBLE:
            return cls(ZooKeeperKind.ENSEMBLE, members=3)
        if text in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.DOCKER, ZooKeeperKind.MODEL, ZooKeeperKind.SIMULATED):
            return cls(ZooKeeperKind(text))
        return cls(ZooKeeperKind.EXTERNAL, connect=text, security=ClientSecurity.from_environment())
