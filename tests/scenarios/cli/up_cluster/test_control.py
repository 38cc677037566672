"""The control channel: one question and one answer over a socket that only its user can open."""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kcsim.runtime.ports import Promise
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.up_cluster.control import (
    BadClusterNameError,
    ClusterIsUpError,
    ControlError,
    DeniedError,
    NoClusterError,
    claim_cluster_name,
    running_clusters,
    send_request,
)
from kcsim.scenarios.cli.up_cluster.control_server import RequestHandler, serve_control

PATIENCE_S = 300.0


async def echo(verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"verb": verb, **arguments}


def with_cluster(answer: RequestHandler, ask: Callable[[], Awaitable[Any]], cluster: str = "default") -> Any:
    """Run `ask` while a cluster with this request handler is up, and return its result."""
    runtime = WallClockRuntime()

    async def main() -> Any:
        async with serve_control(listening, runtime, answer):
            return await ask()

    with claim_cluster_name(cluster) as listening:
        return runtime.run(main())


async def asked(verb: str, cluster: str = "default", **arguments: Any) -> dict[str, Any]:
    return await asyncio.to_thread(send_request, verb, arguments, cluster, PATIENCE_S)


# --- questions and answers -------------------------------------------------------------------------------------------------


def test_a_question_is_answered() -> None:
    assert with_cluster(echo, lambda: asked("kill", target="broker-3")) == {"verb": "kill", "target": "broker-3"}


def test_an_answer_may_be_long_and_have_any_letters() -> None:
    names = [f"größer-{number}" for number in range(20_000)]
    assert with_cluster(echo, lambda: asked("list", names=names)) == {"verb": "list", "names": names}


def test_a_question_that_takes_its_time_keeps_nobody_waiting() -> None:
    """A broker may take long to stop."""

    async def answer(verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if verb == "slow":
            begun.resolve(None)
            await free.wait()
        return {"verb": verb}

    async def main() -> list[Any]:
        async with serve_control(listening, runtime, answer):
            slow = asyncio.create_task(asked("slow"))
            await begun.wait(int(PATIENCE_S * 1000))
            quick = await asked("quick")
            free.resolve(None)
            return [quick, await slow]

    runtime = WallClockRuntime()
    begun: Promise[None] = runtime.promise()
    free: Promise[None] = runtime.promise()
    with claim_cluster_name("default") as listening:
        assert runtime.run(main()) == [{"verb": "quick"}, {"verb": "slow"}]


@pytest.mark.parametrize("invalid_request", [True, False])
def test_a_refusal_reaches_who_asked(invalid_request: bool) -> None:
    async def refuse(verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        raise DeniedError("broker-3 is not running", invalid_request)

    with pytest.raises(DeniedError, match="broker-3 is not running") as caught:
        with_cluster(refuse, lambda: asked("kill", target="broker-3"))
    assert caught.value.invalid_request is invalid_request


def test_a_cluster_that_goes_down_before_it_answered_is_reported() -> None:
    async def never(verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        heard.resolve(None)
        await runtime.promise().wait()
        raise AssertionError("nobody settles that promise")

    async def main() -> "Future[dict[str, Any]]":
        async with serve_control(listening, runtime, never):
            question = others.submit(send_request, "kill", {}, "default", PATIENCE_S)
            await heard.wait(int(PATIENCE_S * 1000))
            return question

    runtime = WallClockRuntime()
    heard: Promise[None] = runtime.promise()
    with claim_cluster_name("default") as listening, ThreadPoolExecutor(1) as others:
        question = runtime.run(main())
        with pytest.raises(ControlError, match="went down before it answered kill"):
            question.result(PATIENCE_S)


def test_a_silent_cluster_is_not_waited_for_for_ever() -> None:
    """The cluster may be stopped by a debugger: its socket listens, but the process does not answer."""
    with claim_cluster_name("default"), pytest.raises(ControlError, match="cluster default has not answered kill within"):
        send_request("kill", {}, timeout_s=0.05)


@pytest.mark.parametrize("line", [b"junk\n", b"[]\n", b'{"verb": "kill"}\n', b'{"verb": 7, "arguments": {}}\n', b"\xff\n"])
def test_what_is_no_question_is_answered_all_the_same(runtime_directory: Path, line: bytes) -> None:
    async def ask() -> bytes:
        reader, writer = await asyncio.open_unix_connection(runtime_directory / "default.sock")
        writer.write(line)
        received = await reader.readline()
        writer.close()
        return received

    reply = json.loads(with_cluster(echo, ask))
    assert (reply["invalid_request"], "not a request" in reply["error"]) == (True, True)


@pytest.mark.parametrize("line", [b"", b'{"verb": "kill", "arg'])
def test_who_leaves_without_a_question_disturbs_nobody(runtime_directory: Path, line: bytes) -> None:
    async def ask() -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as leaving:
            leaving.connect(str(runtime_directory / "default.sock"))
            leaving.sendall(line)
        return await asked("kill")

    assert with_cluster(echo, ask) == {"verb": "kill"}


# --- ownership of the socket -----------------------------------------------------------------------------------------------


def test_several_clusters_are_distinguished_by_name() -> None:
    async def ask() -> tuple[Any, list[str]]:
        return await asked("kill", "other"), running_clusters()

    with claim_cluster_name("default"):
        assert with_cluster(echo, ask, "other") == ({"verb": "kill"}, ["default", "other"])


def test_a_cluster_that_is_not_up_is_reported_with_those_that_are() -> None:
    with pytest.raises(NoClusterError, match="no cluster named default is up; start one with kcsim up"):
        send_request("kill", {})
    with claim_cluster_name("other"), pytest.raises(NoClusterError, match="up are: other"):
        send_request("kill", {})


def test_a_name_that_is_taken_is_refused() -> None:
    with (
        claim_cluster_name("default"),
        pytest.raises(ClusterIsUpError, match="a cluster named default is up already"),
        claim_cluster_name("default"),
    ):
        pytest.fail("two clusters of one name")


@pytest.mark.parametrize("name", ["", "Default", "a/b", "../up", "x" * 41, "-x"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(BadClusterNameError, match="is no name of a cluster"), claim_cluster_name(name):
        pytest.fail("it was taken")
    with pytest.raises(BadClusterNameError):
        send_request("kill", {}, name)


def test_a_socket_is_gone_with_its_cluster(runtime_directory: Path) -> None:
    with claim_cluster_name("default"):
        assert os.listdir(runtime_directory) == ["default.sock"]
    assert os.listdir(runtime_directory) == []


def test_a_socket_whose_owner_was_killed_is_nobody_s(runtime_directory: Path) -> None:
    """The killed owner did not unlink the socket; the next cluster with the name takes it over."""
    with socket.socket(socket.AF_UNIX) as killed:
        runtime_directory.mkdir(mode=0o700)
        killed.bind(str(runtime_directory / "default.sock"))
    with pytest.raises(NoClusterError):
        send_request("kill", {})
    assert running_clusters() == []
    assert with_cluster(echo, lambda: asked("kill")) == {"verb": "kill"}


def test_only_the_user_can_reach_a_cluster(runtime_directory: Path) -> None:
    with claim_cluster_name("default"):
        modes = [path.lstat().st_mode & 0o777 for path in (runtime_directory, *runtime_directory.iterdir())]
    assert modes == [0o700, 0o600]


def test_a_directory_that_others_can_enter_is_refused(runtime_directory: Path) -> None:
    runtime_directory.mkdir()
    runtime_directory.chmod(0o755)
    with pytest.raises(ControlError, match="is not a directory that belongs to you alone"), claim_cluster_name("default"):
        pytest.fail("it was used")


def test_a_path_that_is_too_long_is_reported(runtime_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = runtime_directory / ("x" * 120)
    far.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(far))
    with pytest.raises(ControlError, match="cannot listen at"), claim_cluster_name("default"):
        pytest.fail("it was used")
