"""A ZooKeeper in containers: its particular features, its failures, and its clean-up of its own containers only."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.container import (
    DEFAULT_IMAGE,
    IMAGE_VARIABLE,
    RUN_LABEL,
    ContainerZooKeeper,
    archive_of,
    connect,
    keeps_user_ids,
)
from kcsim.zk.servers.errors import ImageMissingError, NoDockerError, ServerDiedError
from tests.requirements import require
from tests.zk.servers.processes import assert_nothing_left, leaving_no_directory, line_from, python_program, until


@pytest.fixture
def engine() -> Iterator[Any]:
    require("docker")
    engine = connect()
    yield engine
    engine.close()


def left_of(engine: Any, pid: int) -> list[str]:
    """Return the names of the containers and networks that a process has made."""
    prefix = f"kcsim-{pid}-"
    names = [thing.name for kind in (engine.containers.list(all=True), engine.networks.list()) for thing in kind]
    return [name for name in names if name.startswith(prefix)]


def test_an_engine_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with (
        leaving_no_directory(),
        pytest.raises(NoDockerError, match=r"no Docker engine reachable: .*; start one, or point DOCKER_HOST at it"),
    ):
        ContainerZooKeeper().__enter__()


@pytest.mark.docker
def test_an_image_that_is_not_there_is_reported_and_not_fetched(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, "kcsim-has-no-such-image:1")
    with (
        leaving_no_directory(),
        pytest.raises(ImageMissingError, match="get it with: docker pull kcsim-has-no-such-image:1"),
    ):
        ContainerZooKeeper().__enter__()


@pytest.mark.docker
def test_an_image_that_is_named_comes_before_the_variable(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, "kcsim-has-no-such-image:1")
    with pytest.raises(ImageMissingError, match="no image kcsim-nor-this-one:1"):
        ContainerZooKeeper(image="kcsim-nor-this-one:1").__enter__()


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.live
def test_a_container_that_dies_is_reported_with_the_end_of_its_log(engine: Any) -> None:
    before = left_of(engine, os.getpid())
    with (
        leaving_no_directory(),
        pytest.raises(ServerDiedError, match=r"member-1 died with status 1; .*Too small maximum heap"),
    ):
        ContainerZooKeeper(settings=ServerSettings(heap_mb=1)).__enter__()
    assert left_of(engine, os.getpid()) == before


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.live
def test_stopping_removes_what_was_made_and_nothing_else(engine: Any) -> None:
    before = left_of(engine, os.getpid())
    foreign = engine.containers.create(DEFAULT_IMAGE, labels={RUN_LABEL: "somebody-else-s"})
    try:
        with ContainerZooKeeper(3):
            assert len(left_of(engine, os.getpid())) == len(before) + 4  # three members and their network
        assert left_of(engine, os.getpid()) == before
        foreign.reload()  # raises if it is gone
    finally:
        foreign.remove()


PROGRAM = """
import sys
from kcsim.zk.servers.container import ContainerZooKeeper
zk = ContainerZooKeeper(3)
print("begun", flush=True)
zk.__enter__()
print("serving", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.live
def test_no_container_outlives_its_parent(engine: Any) -> None:
    with python_program(PROGRAM) as parent:
        assert (line_from(parent), line_from(parent)) == ("begun", "serving")
        assert len(left_of(engine, parent.pid)) == 4
        os.kill(parent.pid, signal.SIGKILL)
        assert_nothing_left(parent.pid)  # the directory is deleted last
        assert left_of(engine, parent.pid) == []


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.live
@pytest.mark.parametrize("made", [1, 3])
def test_no_container_outlives_a_parent_killed_while_they_are_made(engine: Any, made: int) -> None:
    """The engine completes a request whose sender is already dead."""
    with python_program(PROGRAM) as parent:
        until(lambda: left_of(engine, parent.pid), lambda left: len(left) >= made, f"{made} of network and containers")
        os.kill(parent.pid, signal.SIGKILL)
        assert_nothing_left(parent.pid)  # the directory is deleted last
        assert left_of(engine, parent.pid) == []


@pytest.mark.docker
@pytest.mark.live
def test_its_settings_and_its_transaction_log_are_ours_to_read(engine: Any) -> None:
    with ContainerZooKeeper() as zk:
        directory = zk.transaction_log_dir("member-1")
        assert directory is not None
        assert directory.stat().st_uid == os.getuid()
        assert asyncio.run(zk.version()).startswith("3.9")


def test_docker_is_not_loaded_before_it_is_needed() -> None:
    """The command and the pytest plugin start quickly, and work where Docker's package is broken."""
    program = "import sys, kcsim.zk.servers.container; print(sorted({'docker', 'requests', 'kazoo'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], True),
        (["name=seccomp,profile=default", "name=cgroupns"], True),
        (["name=seccomp,profile=default", "name=rootless"], False),
        (["name=userns"], False),
    ],
)
def test_an_engine_that_maps_user_ids_keeps_the_files_to_itself(options: list[str], expected: bool) -> None:
    assert keeps_user_ids(options) is expected


def test_the_configuration_goes_in_as_a_file_everybody_may_read() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive_of("zoo.cfg", "tickTime=200\n"))) as tar:
        (entry,) = tar.getmembers()
        content = tar.extractfile(entry)
        assert content is not None
        assert (entry.name, entry.mode, content.read()) == ("zoo.cfg", 0o644, b"tickTime=200\n")
