"""Kafka's own commands are run by the names that they have in 2.8, and report how they ended."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.commands import MOVED, CommandOutcome, main_class_in, run_kafka_command
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.errors import TimedOutError
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from tests.brokers.apache_kafka.real_brokers import SETTINGS, UP_WITHIN_S, znodes_below
from tests.requirements import require
from tests.zk.servers.processes import processes_about

WITHIN_S = 180.0
TOPIC_COMMAND = "kafka.admin.TopicCommand"


@pytest.mark.parametrize("name", MOVED)
def test_a_command_has_its_old_name_until_it_moved(name: str) -> None:
    (major, minor), new_name = MOVED[name]
    assert main_class_in((major, minor - 1), name) == name
    assert main_class_in((major, minor), name) == new_name
    assert new_name.rpartition(".")[2] == name.rpartition(".")[2]


def test_a_command_that_never_moved_keeps_its_name() -> None:
    assert main_class_in((3, 9), "kafka.admin.ConfigCommand") == "kafka.admin.ConfigCommand"


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Return a running broker; its directory belongs to its guard process, and is deleted with it."""
    require("java", "kafka")
    server: EmbeddedZooKeeper = request.getfixturevalue("server")
    guarded = GuardedProcesses(what="kafka")
    try:
        with znodes_below(server, tmp_path_factory.mktemp("commands").name) as znodes:
            directory = guarded.directory / "broker-1"
            broker = KafkaBroker(find_kafka(None), KafkaBrokerSpec(1, znodes.connect, SETTINGS), directory, guarded=guarded)
            asyncio.run(started(broker))
            yield broker
    finally:
        guarded.close()
    assert not directory.exists()
    assert processes_about(str(directory)) == []


async def started(broker: KafkaBroker) -> None:
    await broker.start()
    await broker.wait_until_up(UP_WITHIN_S)


def run(main_class: str, *args: str, stdin: str | None = None, timeout_s: float = WITHIN_S) -> CommandOutcome:
    return asyncio.run(run_kafka_command(find_kafka(None), main_class, args, stdin, timeout_s))


def topics(broker: KafkaBroker, *args: str) -> CommandOutcome:
    return run(TOPIC_COMMAND, "--bootstrap-server", broker.address, *args)


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.live
class TestOnARealBroker:
    def test_topics_are_made_and_listed_and_a_failure_reports_its_status_and_why(self, broker: KafkaBroker) -> None:
        create = ["--create", "--topic", "orders", "--partitions", "1", "--replication-factor", "1"]
        made = topics(broker, *create)
        assert (made.rc, made.err) == (0, "")
        assert topics(broker, "--list") == CommandOutcome(0, "orders\n", "")
        refused = topics(broker, *create)
        assert refused.rc == 1
        assert "already exists" in refused.out + refused.err

    def test_what_it_is_given_to_read_arrives(self, broker: KafkaBroker) -> None:
        topics(broker, "--create", "--topic", "payments", "--partitions", "1", "--replication-factor", "1")
        words = ["--broker-list", broker.address, "--topic", "payments"]
        written = run("kafka.tools.ConsoleProducer", *words, stdin="one\nzwö\n")
        assert (written.rc, written.err) == (0, "")
        (segment,) = (broker.log_dirs[0] / "payments-0").glob("*.log")
        assert re.search("one.*zwö".encode(), segment.read_bytes(), re.DOTALL)

    def test_a_command_that_takes_too_long_is_killed(self, broker: KafkaBroker, tmp_path: Path) -> None:
        with pytest.raises(
            TimedOutError, match=r"waited 0 s for kafka\.admin\.TopicCommand to end; its last output: nothing"
        ):
            run(TOPIC_COMMAND, "--bootstrap-server", broker.address, "--describe", f"--topic={tmp_path.name}", timeout_s=0)
        assert processes_about(f"--topic={tmp_path.name}") == []
