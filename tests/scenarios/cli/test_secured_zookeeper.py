"""Commands on a ZooKeeper that serves only clients with SASL; and a ZooKeeper with SASL of our own."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.zk.security.jaas import client_section
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require
from tests.scenarios.cli.live_cluster import kcsim

JAAS = "KCSIM_ZOOKEEPER_JAAS"
RACE = "controller-race"
A_THROTTLE = "leader.replication.throttled.rate=1000000"
PATIENCE_S = 300


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    require("java")
    settings = ServerSettings(sasl_users={"kafka": "secret"}, entries={"sessionRequireClientSASLAuth": "true"})
    with EmbeddedZooKeeper(settings=settings) as server:
        yield server.connect_string


@pytest.fixture
def jaas(tmp_path: Path) -> Path:
    path = tmp_path / "jaas.conf"
    path.write_text(client_section("kafka", "secret"))
    return path


@pytest.mark.live
def test_commands_authenticate_as_the_environment_says(
    secured: str, jaas: Path, monkeypatch: pytest.MonkeyPatch, runtime_directory: Path
) -> None:
    without = kcsim("zk", "tree", secured)
    assert without.exit_code == ExitStatus.UNDECIDED
    assert "SESSIONCLOSEDREQUIRESASLAUTH" in without.stderr
    monkeypatch.setenv(JAAS, str(jaas))
    ran = kcsim("run", RACE, "--zookeeper", secured, "--execute")
    assert ran.exit_code == 0, ran.output
    tree = kcsim("zk", "tree", secured, "/controller_epoch")
    assert (tree.exit_code, tree.stdout.split()[0]) == (0, "/controller_epoch")
    listed = kcsim("topics", "--zookeeper", secured, "--list")
    assert listed.exit_code == 0, listed.output
    jaas.write_text(client_section("kafka", "guessed"))
    refused = kcsim("topics", "--zookeeper", secured, "--list")
    assert refused.exit_code == ExitStatus.UNDECIDED
    assert "rejects the name or the password" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["zk", "tree", "127.0.0.1:1"],
        ["topics", "--zookeeper", "127.0.0.1:1", "--list"],
        ["run", RACE, "--zookeeper", "127.0.0.1:1", "--execute"],
    ],
    ids=["zk tree", "topics", "run"],
)
def test_a_file_that_cannot_be_used_ends_a_command_before_it_connects(
    command: list[str], jaas: Path, monkeypatch: pytest.MonkeyPatch, runtime_directory: Path
) -> None:
    jaas.write_text("Client {")
    monkeypatch.setenv(JAAS, str(jaas))
    result = kcsim(*command)
    assert result.exit_code == ExitStatus.USAGE
    assert result.stderr == f"{JAAS}: {jaas}: line 1: the file ends within a section\n"


@pytest.mark.parametrize(
    ("text", "more", "problem"),
    [
        ("Client {};", [], "no section Server with a "),
        ("Server {", [], "line 1: the file ends within a section"),
        ("Server {};", ["--zookeeper", "model"], "--jaas: the model has no SASL; use --zookeeper embedded"),
    ],
)
def test_a_zookeeper_of_ours_needs_users_for_sasl(tmp_path: Path, text: str, more: list[str], problem: str) -> None:
    path = tmp_path / "server.conf"
    path.write_text(text)
    result = kcsim("zk", "start", "--jaas", str(path), *more)
    assert result.exit_code == ExitStatus.USAGE
    assert problem in result.stderr


# --- members that only read ------------------------------------------------------------------------------------------------


@pytest.mark.live
def test_a_member_without_quorum_answers_commands_that_read_and_a_note_says_so(runtime_directory: Path) -> None:
    require("java")
    note = "note: answered by a ZooKeeper member that has lost its quorum; what it says may be old\n"
    with EmbeddedZooKeeper(3, ServerSettings(read_only_mode=True)) as servers:
        assert kcsim("run", RACE, "--zookeeper", servers.connect_string, "--execute").exit_code == 0
        member = servers.connect_string.split(",")[0]
        for name in servers.member_names[1:]:
            asyncio.run(servers.kill(name))
        listed = kcsim("topics", "--zookeeper", member, "--list")
        assert (listed.exit_code, listed.stderr) == (0, note)
        tree = kcsim("zk", "tree", member, "/controller_epoch")
        assert (tree.exit_code, tree.stderr) == (0, note)
        written = kcsim(
            "configs", "--zookeeper", member, "--alter", "--broker", "1", "--execute", "--add-config", A_THROTTLE
        )
        assert written.exit_code == ExitStatus.UNDECIDED


# --- with Kafka ------------------------------------------------------------------------------------------------------------


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.slow
def test_kafkas_migrator_secures_the_znodes_of_a_run(
    jaas: Path, monkeypatch: pytest.MonkeyPatch, runtime_directory: Path
) -> None:
    """After Kafka's ZkSecurityMigrator only clients with SASL write, and our commands are such clients."""
    require("java", "kafka")
    with EmbeddedZooKeeper(settings=ServerSettings(sasl_users={"kafka": "secret"})) as server:
        connect = server.connect_string
        assert kcsim("run", RACE, "--zookeeper", connect, "--execute").exit_code == 0
        kafka = find_kafka(None)
        migrated = subprocess.run(
            [
                str(kafka.java.executable),
                f"-Djava.security.auth.login.config={jaas}",
                "-cp",
                os.pathsep.join(map(str, kafka.jars())),
                "kafka.admin.ZkSecurityMigrator",
                "--zookeeper.acl=secure",
                f"--zookeeper.connect={connect}",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert migrated.returncode == 0, migrated.stdout + migrated.stderr
        throttle = ["configs", "--zookeeper", connect, "--alter", "--broker", "1", "--execute", "--add-config", A_THROTTLE]
        refused = kcsim(*throttle)
        assert refused.exit_code == ExitStatus.UNDECIDED
        assert "NOAUTH" in refused.stderr
        monkeypatch.setenv(JAAS, str(jaas))
        assert kcsim(*throttle).exit_code == 0
