"""A limit of a broker's replication rate, as a slow disk or link imposes it.

A throttled follower appends at most half a second's worth of records from a response, drops the rest and fetches again when
the time for the appended records has passed. Source: none in Kafka; the limit models a slow machine.
"""

from kcsim.runtime.ports import Runtime

AT_ONCE_MS = 500


class ReplicationThrottle:
    """The replication throttle, shared by all fetchers of a broker.

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
        """Return the time until the next fetch; meaningless while replication is stopped."""
        if self.records_per_second is None:
            return 0
        return max(0, round(self._free_at_ms - self._runtime.now_ms()))

    def change(self, records_per_second: float | None) -> None:
        """Set a new rate. Records appended before do not delay the next fetch."""
        assert records_per_second is None or records_per_second >= 0, f"{records_per_second} records per second"
        self.records_per_second = records_per_second
        self._free_at_ms = 0.0

    def allowance(self) -> int | None:
        """Return how many records of a response may be appended; None: all."""
        if self.records_per_second is None:
            return None
        return 0 if self.is_stopped else max(1, int(self.records_per_second * AT_ONCE_MS / 1_000))

    def took(self, records: int) -> None:
        """Account for the time of records that were appended."""
        if self.records_per_second:
            begin_ms = max(self._free_at_ms, float(self._runtime.now_ms()))
            self._free_at_ms = begin_ms + 1_000 * records / self.records_per_second
