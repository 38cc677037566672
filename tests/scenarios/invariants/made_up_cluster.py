"""A made-up log for tests of invariants: a partition with replicas 1, 2 and 3, broker 1 the controller and the leader."""

import json

from kcsim.scenarios.invariants import named, violations
from kcsim.zk.events import EventKind
from tests.scenarios.made_up import Story

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


class Cluster(Story):
    """A story that begins with a cluster in which all is well."""

    def __init__(self) -> None:
        super().__init__()
        for broker in (1, 2, 3):
            self.tell(f"broker-{broker}", EventKind.PROCESS_STATE, state="running")
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
        """The epoch is raised; its znode's version is the epoch, as in a cluster nobody has meddled with."""
        self.changed("/controller_epoch", str(epoch), zxid=epoch, zk_version=epoch)
        self.tell(f"broker-{broker}", EventKind.ELECTION_WON, controller_epoch=epoch, controller_id=broker)

    def decides(self, text: str) -> int:
        return self.changed(STATE, text, zxid=9, zk_version=1)

    def leads(self, broker: int, epoch: int) -> None:
        told = {"topic": "orders", "partition": 0, "leader_epoch": epoch}
        self.tell(f"broker-{broker}", EventKind.BECAME_LEADER, **told)  # type: ignore[arg-type]

    def follows(self, broker: int, epoch: int) -> None:
        told = {"topic": "orders", "partition": 0, "leader_epoch": epoch}
        self.tell(f"broker-{broker}", EventKind.BECAME_FOLLOWER, **told)  # type: ignore[arg-type]

    def elects_uncleanly(self, broker: int, epoch: int) -> None:
        chosen = {"rule": "Unclean", "leader": broker, "leader_epoch": epoch}
        self.tell("broker-1", EventKind.LEADER_ELECTION, topic="orders", partition=0, **chosen)  # type: ignore[arg-type]

    def dies(self, broker: int) -> None:
        self.tell(f"broker-{broker}", EventKind.PROCESS_STATE, state="dead")
        self.gone(f"/brokers/ids/{broker}")

    def says(self, name: str) -> list[str]:
        """What one invariant has to say."""
        return [told.removeprefix(f"{name}: ") for told in violations(self.events, named([name]))]
