"""One of several workers: whichever leads sends the bills, and stops as soon as it may not be the leader any more."""

import threading

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState


class Worker:
    """Campaigns from `start` to `stop`; somebody calls `work` now and then."""

    def __init__(self, zookeeper: str, name: str, bills: list[str]) -> None:
        self.client = KazooClient(zookeeper, timeout=4.0)
        self.name = name
        self.bills = bills
        self.is_leader = False
        self._step_down = threading.Event()
        self._stopped = threading.Event()
        self.client.add_listener(self._hear)

    def start(self) -> None:
        self.client.start()
        threading.Thread(target=self._campaign, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._step_down.set()
        self.client.stop()
        self.client.close()

    def work(self) -> None:
        if self.is_leader:
            self.bills.append(f"sent by {self.name}")

    def _hear(self, state: str) -> None:
        if state != KazooState.CONNECTED:  # suspended is enough: the session may end any moment, and we would not hear
            self.is_leader = False
            self._step_down.set()

    def _campaign(self) -> None:
        while not self._stopped.is_set():
            try:
                self.client.Election("/leader", self.name).run(self._lead)
            except KazooException:
                self._step_down.wait(0.1)

    def _lead(self) -> None:
        self._step_down.clear()
        self.is_leader = self.client.connected
        self._step_down.wait()
        self.is_leader = False
