"""One of several workers: whichever leads sends the bills. It has the classic bug: see worker_fixed.py."""

import threading

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException


class Worker:
    """Campaigns from `start` to `stop`; somebody calls `work` now and then."""

    def __init__(self, zookeeper: str, name: str, bills: list[str]) -> None:
        self.client = KazooClient(zookeeper, timeout=4.0)
        self.name = name
        self.bills = bills
        self.is_leader = False
        self._stopped = threading.Event()

    def start(self) -> None:
        self.client.start()
        threading.Thread(target=self._campaign, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self.client.stop()
        self.client.close()

    def work(self) -> None:
        if self.is_leader:
            self.bills.append(f"sent by {self.name}")

    def _campaign(self) -> None:
        try:
            self.client.Election("/leader", self.name).run(self._lead)
        except KazooException:  # stopped while it campaigned
            self.is_leader = False

    def _lead(self) -> None:
        self.is_leader = True
        self._stopped.wait()  # nobody tells us that the session is gone, and somebody else leads
        self.is_leader = False
