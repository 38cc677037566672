"""What a broker has on its disks: which log is in which log directory. Outlives the process.

A crash loses nothing of a log (replica_log.py says what that leaves out), but of the high watermark the next process knows
only what was checkpointed. A directory that fails loses the logs in it.

Source: Kafka 2.8, LogManager; reference requests.md 4.5, 6.6.
"""

from collections.abc import Iterator, Sequence

from kcsim.brokers.log_segments import LogConfig, RandomNumbers
from kcsim.brokers.replica_log import DEFAULT_CONFIG, NO_RANDOM_NUMBERS, ReplicaLog
from kcsim.zk.vocabulary import TopicPartition


class Disk:
    """The log directories of one broker.

    Args:
        numbers: give the jitter of segments.

    Attributes:
        failed: those that cannot be used any more, until the broker starts anew.
        live_dirs: all others; worked out when that changes, and not for each of very many replicas.
    """

    def __init__(self, log_dirs: Sequence[str], numbers: RandomNumbers = NO_RANDOM_NUMBERS) -> None:
        assert log_dirs, "a broker has at least one log directory"
        self.log_dirs = tuple(log_dirs)
        self.failed: set[str] = set()
        self.live_dirs = self.log_dirs
        self._numbers = numbers
        self._logs: dict[TopicPartition, ReplicaLog] = {}
        self._counts = dict.fromkeys(log_dirs, 0)

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._logs

    def __iter__(self) -> Iterator[ReplicaLog]:
        """All logs, in the order in which they came here."""
        return iter(self._logs.values())

    def log(self, tp: TopicPartition) -> ReplicaLog:
        """The log of a replica, which must be here."""
        return self._logs[tp]

    def dir_of(self, tp: TopicPartition) -> str | None:
        """Where the replica is; None if it is nowhere."""
        return self._logs[tp].log_dir if tp in self._logs else None

    def replicas(self, log_dir: str) -> list[TopicPartition]:
        """What is in a directory, in the order in which it came there."""
        return [tp for tp, log in self._logs.items() if log.log_dir == log_dir]

    def create(self, tp: TopicPartition, config: LogConfig = DEFAULT_CONFIG) -> ReplicaLog:
        """Make an empty log, in the live directory that has the fewest; the first of several such."""
        assert tp not in self._logs, f"{tp} is in {self._logs[tp].log_dir}"
        log = ReplicaLog(tp, config, self._numbers)
        self._put(log, min(self.live_dirs, key=self._counts.__getitem__))
        return log

    def delete(self, tp: TopicPartition) -> None:
        """Leave nothing of a replica, if it is there."""
        log = self._logs.pop(tp, None)
        if log is not None:
            self._counts[log.log_dir] -= 1

    def set_apart(self, tps: Sequence[TopicPartition]) -> str:
        """Say that these replicas have lain in a log directory of their own all along; returns its name."""
        name = f"{self.log_dirs[0]}-{len(self.log_dirs)}"
        self.log_dirs = (*self.log_dirs, name)
        self.live_dirs = (*self.live_dirs, name)
        self._counts[name] = 0
        for tp in tps:
            log = self._logs[tp]
            self.delete(tp)
            self._put(log, name)
        return name

    def _put(self, log: ReplicaLog, log_dir: str) -> None:
        log.log_dir = log_dir
        self._logs[log.tp] = log
        self._counts[log_dir] += 1

    def fail(self, log_dir: str) -> list[TopicPartition]:
        """Lose a directory and all that is in it; returns what that was."""
        self.failed.add(log_dir)
        self.live_dirs = tuple(name for name in self.live_dirs if name != log_dir)
        lost = self.replicas(log_dir)
        for tp in lost:
            self.delete(tp)
        return lost

    def mount(self) -> None:
        """A broker starts: high watermarks are as checkpointed; a directory that had failed is there again, and empty."""
        self.failed.clear()
        self.live_dirs = self.log_dirs
        for log in self._logs.values():
            log.restart()
