"""How fast a broker can replicate: as fast as it likes, or as a slow disk or link lets it.

A slow follower takes no more records from an answer than go into half a second, drops the rest and fetches again when those
it took are due. Source: none in Kafka; the slowness is that of the machine.
"""

from kcsim.zk.ports import Runtime

AT_ONCE_MS = 500


class FetchPace:
    """Shared by all fetchers of a broker.

    Attributes:
        records_per_second: None: no limit. 0: nothing is replicated.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.records_per_second: float | None = None
        self._runtime = runtime
        self._free_at_ms = 0.0

    @property
    def is_stopped(self) -> bool:
        return self.records_per_second == 0

    def wait_ms(self) -> int:
        """How long until the next fetch; without meaning while it is stopped."""
        if self.records_per_second is None:
            return 0
        return max(0, round(self._free_at_ms - self._runtime.now_ms()))

    def change(self, records_per_second: float | None) -> None:
        """From now on. What was taken up before is no burden."""
        assert records_per_second is None or records_per_second >= 0, f"{records_per_second} records per second"
        self.records_per_second = records_per_second
        self._free_at_ms = 0.0

    def allowance(self) -> int | None:
        """How many records of an answer may be taken; None: all."""
        if self.records_per_second is None:
            return None
        return 0 if self.is_stopped else max(1, int(self.records_per_second * AT_ONCE_MS / 1_000))

    def took(self, records: int) -> None:
        """So many were taken, and cost their time."""
        if self.records_per_second:
            begin_ms = max(self._free_at_ms, float(self._runtime.now_ms()))
            self._free_at_ms = begin_ms + 1_000 * records / self.records_per_second
