"""--brokers and --kafka-home: the kind of brokers that a scenario runs on, and the Apache Kafka installation."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.installation import KafkaInstallation
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.language.scenario_file import LoadedScenario


class BrokersKind(StrEnum):
    """--brokers: the kind of brokers that a scenario runs on."""

    SIMULATED = "simulated"
    PROCESSES = "processes"
    KAFKA = "kafka"


def chosen_kafka(home: Path | None) -> "KafkaInstallation":
    """Find the Apache Kafka that --kafka-home names, or else an installed one. If there is none, end the command."""
    from kcsim.brokers.apache_kafka.installation import find_kafka
    from kcsim.zk.servers.errors import ServerError

    try:
        return find_kafka(home)
    except ServerError as error:
        fail(f"--kafka-home: {error}" if home else str(error), ExitStatus.USAGE if home else ExitStatus.UNDECIDED)


def check_protocol_version(loaded: "LoadedScenario", kafka: "KafkaInstallation") -> None:
    """Reject a scenario whose inter.broker.protocol.version is later than this Kafka and than the default.

    A Kafka that is older than the default has its own version instead.
    """
    from kcsim.brokers.apache_kafka.installation import release_of
    from kcsim.brokers.config import PROTOCOL_VERSION
    from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION

    wanted = loaded.scenario.cluster.settings.get(PROTOCOL_VERSION)
    latest = max(kafka.release, release_of(DEFAULT_PROTOCOL_VERSION))
    if wanted is not None and release_of(str(wanted)) > latest:
        why = f"Apache Kafka {kafka.version} does not have it; name a later one with --kafka-home"
        fail(f"{PROTOCOL_VERSION} {wanted}: {why}", ExitStatus.USAGE)


def check_for_real_brokers(loaded: "LoadedScenario", choice: "ZooKeeperChoice") -> None:
    """Check that real brokers on this ZooKeeper can execute a scenario. Report what they cannot, line by line."""
    from kcsim.scenarios.engine.real_brokers import refusals

    check_transaction_log(choice, "real brokers")
    if problems := refusals(loaded):
        fail("\n".join(map(str, problems)), ExitStatus.USAGE)


def check_for_processes(loaded: "LoadedScenario", choice: "ZooKeeperChoice") -> None:
    """Check that a scenario can be done to brokers in processes of their own. Report what cannot, line by line."""
    from kcsim.scenarios.engine.process_brokers import refusals_on_processes

    check_transaction_log(choice, "brokers in processes of their own")
    if problems := refusals_on_processes(loaded):
        fail("\n".join(map(str, problems)), ExitStatus.USAGE)


def check_transaction_log(choice: "ZooKeeperChoice", brokers: str) -> None:
    """Check that the run can read ZooKeeper's transaction log. Args: brokers: what needs it, in words."""
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind

    if choice.kind not in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.ENSEMBLE, ZooKeeperKind.MODEL):
        where = "embedded, ensemble or model, whose transaction log we can read"
        fail(f"--zookeeper: with {brokers} it is {where}", ExitStatus.USAGE)
