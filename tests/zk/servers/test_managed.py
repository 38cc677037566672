"""ManagedZooKeeper on a host without servers."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path

from kcsim.zk.servers.managed import ManagedZooKeeper
from kcsim.zk.servers.ports import State

OVERLAP_WITHIN_S = 0.3
"""How long a kill gives another call the opportunity to come in between; with a lock, this much time is lost."""


class ObservedHost:
    """A host whose only member can be killed; a kill notices calls of other threads during the kill."""

    def __init__(self) -> None:
        self.state: State = "up"
        self.is_killing = threading.Event()
        self.was_entered = threading.Event()
        self.is_between: bool | None = None

    def prepare(self, client_ports: Mapping[str, int]) -> None: ...
    def launch(self, name: str) -> None: ...

    def kill(self, name: str) -> State:
        self.is_killing.set()
        self.is_between = self.was_entered.wait(OVERLAP_WITHIN_S)
        self.state = -9
        return self.state

    def pause(self, name: str) -> State:
        return self.state

    def resume(self, name: str) -> State:
        return self.state

    def states(self) -> Mapping[str, State]:
        if self.is_killing.is_set():
            self.was_entered.set()
        return {"member-1": self.state}

    def log_path(self, name: str) -> Path:
        return Path(name)

    def transaction_log_dir(self, name: str) -> Path | None:
        return None

    def close(self) -> None: ...


class StartedZooKeeper(ManagedZooKeeper):
    """One whose server needs not be waited for."""

    def _wait_until_ready(self, names: object) -> None: ...


def test_no_two_threads_call_a_host_at_the_same_time() -> None:
    """The container host would iterate over its members while another thread adds one."""
    host = ObservedHost()

    async def look() -> Mapping[str, State]:
        await asyncio.to_thread(host.is_killing.wait)
        return await zookeeper.states()

    async def kill_while_looking() -> Mapping[str, State]:
        await zookeeper.start()
        _, seen = await asyncio.gather(zookeeper.kill("member-1"), look())
        await zookeeper.stop()
        return seen

    zookeeper = StartedZooKeeper(host, 1)
    assert asyncio.run(kill_while_looking()) == {"member-1": -9}
    assert host.is_between is False
