"""The registry of kcsim's own ZooKeepers: a running kcsim announces them, and they count while that process lives."""

import subprocess
import sys
from pathlib import Path

import pytest

from kcsim.scenarios.cli.up_cluster.server_registry import is_registered, register_servers
from kcsim.scenarios.cli.up_cluster.user_directory import UserDirectoryError, user_directory

PATIENCE_S = 300.0


@pytest.fixture(autouse=True)
def runtime_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_a_zookeeper_is_ours_while_it_is_announced() -> None:
    assert not is_registered("127.0.0.1:2181")
    with register_servers("127.0.0.1:2181"):
        assert is_registered("127.0.0.1:2181")
    assert not is_registered("127.0.0.1:2181")


@pytest.mark.parametrize(
    ("announced", "asked", "ours"),
    [
        ("127.0.0.1:2181", "localhost:2181/kafka", True),
        ("127.0.0.1:2181", "[::1]", True),
        ("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "127.0.0.1:3,127.0.0.1:1", True),
        ("127.0.0.1:2181/kafka", "127.0.0.1:2181/kafka/below", True),
        ("127.0.0.1:2181/kafka", "127.0.0.1:2181", False),
        ("127.0.0.1:2181/kafka", "127.0.0.1:2181/kafka-of-others", False),
        ("127.0.0.1:2181", "127.0.0.1:2182", False),
        ("127.0.0.1:2181", "127.0.0.1:2181,elsewhere:2181", False),
    ],
)
def test_all_its_servers_and_the_chroot_have_to_be_ours(announced: str, asked: str, ours: bool) -> None:
    with register_servers(announced):
        assert is_registered(asked) is ours


def test_what_one_stops_announcing_another_may_still_announce() -> None:
    with register_servers("127.0.0.1:1"):
        with register_servers("127.0.0.1:1"):
            pass
        assert is_registered("127.0.0.1:1")


def test_what_a_killed_process_announced_is_not_ours_and_is_cleared_away(runtime_directory: Path) -> None:
    program = """
import sys
from kcsim.scenarios.cli.up_cluster.server_registry import register_servers
with register_servers("127.0.0.1:1"):
    print("announced", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "announced\n"
        assert is_registered("127.0.0.1:1")
        process.kill()
        process.wait(PATIENCE_S)
    assert not is_registered("127.0.0.1:1")
    (left_behind,) = (runtime_directory / "kcsim").iterdir()
    with register_servers("127.0.0.1:2"):
        assert not left_behind.exists()


def test_a_directory_that_others_may_enter_is_not_trusted(runtime_directory: Path) -> None:
    (runtime_directory / "kcsim").mkdir(mode=0o755)
    with pytest.raises(UserDirectoryError, match="is not a directory that belongs to you alone"):
        user_directory()
    assert not is_registered("127.0.0.1:1")
