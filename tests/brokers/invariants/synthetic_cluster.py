"""A synthetic log for tests of invariants: a partition with replicas 1, 2 and 3, broker 1 the controller and the leader."""

import json

from kcsim.brokers.invariants import named, violations
from kcsim.eventlog.events import EventKind
from tests.eventlog.synthetic_log import SyntheticLog

TOPIC = "/brokers/topics/orders"
STATE = f"{TOPIC}/partitions/0/state"


def state(leader: int = 1, leader_epoch: int = 0, isr: tuple[int, ...] = (1, 2, 3), controller_epoch: int = 1) -> str:
    return json.dumps(
        {
            "controller_epoch": controller_epoch,
            "leader": leader,
            "version": 1,
            "leader_epoch": leader_epoch,
            "isr": list(isr),
        }
    )


def assignment(*replicas: int, adding: tuple[int, ...] = ()) -> str:
    moving = {"adding_replicas": {"0": list(adding)} if adding else {}, "removing_replicas": {}}
    return json.dumps({"partitions": {"0": list(replicas)}, **moving, "version": 3})


class SyntheticCluster(SyntheticLog):
    """A history that begins with a healthy cluster."""

    def __init__(self) -> None:
        super().__init__()
        for broker in (1, 2, 3):
            self.append(f"broker-{broker}", EventKind.PROCESS_STATE, state="running")
            self.znode(f"/brokers/ids/{broker}", "{}", ephemeral=True)
        self.znode("/controller_epoch", "0")
        self.znode("/controller", '{"version":1,"brokerid":1,"timestamp":"0"}', ephemeral=True)
        self.won(1, epoch=1)
        self.znode("/config/topics/orders", '{"version":1,"config":{}}')
        self.znode(TOPIC, assignment(1, 2, 3))
        self.znode(f"{TOPIC}/partitions")
        self.znode(f"{TOPIC}/partitions/0")
        self.znode(STATE, state())
        self.leads(1, epoch=0)

    def won(self, broker: int, epoch: int) -> None:
        """Append an election: the epoch is raised, and its znode's version equals the epoch, as without writes by hand."""
        self.changed("/controller_epoch", str(epoch), zxid=epoch, zk_version=epoch)
        self.append(f"broker-{broker}", EventKind.ELECTION_WON, controller_epoch=epoch, controller_id=broker)

    def decides(self, text: str) -> int:
        return self.changed(STATE, text, zxid=9, zk_version=1)

    def leads(self, broker: int, epoch: int) -> None:
        fields = {"topic": "orders", "partition": 0, "leader_epoch": epoch}
        self.append(f"broker-{broker}", EventKind.BECAME_LEADER, **fields)  # type: ignore[arg-type]

    def follows(self, broker: int, epoch: int) -> None:
        fields = {"topic": "orders", "partition": 0, "leader_epoch": epoch}
        self.append(f"broker-{broker}", EventKind.BECAME_FOLLOWER, **fields)  # type: ignore[arg-type]

    def elects_uncleanly(self, broker: int, epoch: int) -> None:
        chosen = {"rule": "Unclean", "leader": broker, "leader_epoch": epoch}
        self.append("broker-1", EventKind.LEADER_ELECTION, topic="orders", partition=0, **chosen)  # type: ignore[arg-type]

    def dies(self, broker: int) -> None:
        self.append(f"broker-{broker}", EventKind.PROCESS_STATE, state="dead")
        self.gone(f"/brokers/ids/{broker}")

    def says(self, name: str) -> list[str]:
        """Return what one invariant reports."""
        return [sentence.removeprefix(f"{name}: ") for sentence in violations(self.events, named([name]))]
