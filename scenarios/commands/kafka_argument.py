"""--brokers and --kafka-home: whose brokers a scenario is run on, and which Apache Kafka is meant."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.scenarios.language.scenario_file import LoadedScenario
    from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice


class BrokersKind(StrEnum):
    """--brokers: whose brokers a scenario is run on."""

    SIMULATED = "simulated"
    KAFKA = "kafka"


def chosen_kafka(home: Path | None) -> "KafkaInstallation":
    """Find the Apache Kafka that --kafka-home names, or else the one that there is. None at all ends the command."""
    from kcsim.brokers.apache_kafka.installation import find_kafka
    from kcsim.zk.servers.errors import ServerError

    try:
        return find_kafka(home)
    except ServerError as error:
        give_up(f"--kafka-home: {error}" if home else str(error), ExitStatus.USAGE if home else ExitStatus.UNDECIDED)


def check_for_real_brokers(loaded: "LoadedScenario", choice: "ZooKeeperChoice") -> None:
    """Check that real brokers can do, on this ZooKeeper, what a scenario asks for; what they cannot is told line by line."""
    from kcsim.scenarios.on_kafka.told import refusals
    from kcsim.scenarios.zookeeper_choice import ZooKeeperKind

    if choice.kind not in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.ENSEMBLE):
        where = "embedded or ensemble, whose transaction log we can read"
        give_up(f"--zookeeper: with real brokers it is {where}", ExitStatus.USAGE)
    if problems := refusals(loaded):
        give_up("\n".join(map(str, problems)), ExitStatus.USAGE)
