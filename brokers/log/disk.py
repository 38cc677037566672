"""The logs in a broker's log directories. The disk outlives the broker's process.

A crash loses nothing of a log (replica_log.py names what that leaves out), but the next process knows only the checkpointed
high watermark. A failed directory loses its logs.

Source: Kafka 2.8, LogManager; docs/kafka/requests.md 4.5, 6.6.
"""

from collections.abc import Iterator, Sequence

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import JitterNumbers
from kcsim.brokers.log.replica_log import DEFAULT_CONFIG, NO_RANDOM_NUMBERS, ReplicaLog
from kcsim.vocabulary import TopicPartition


class StorageError(Exception):
    """A broker's log directories cannot be used; the message says why, in one line."""


class Disk:
    """The log directories of one broker.

    Args:
        numbers: the source of the random jitter of segments.

    Attributes:
        failed: directories that cannot be used any more, until the broker restarts.
        live_dirs: all others; computed when `failed` changes, and not for each of very many replicas.
    """

    def __init__(self, log_dirs: Sequence[str], numbers: JitterNumbers = NO_RANDOM_NUMBERS) -> None:
        assert log_dirs, "a broker has at least one log directory"
        self.log_dirs = tuple(log_dirs)
        self.failed: set[str] = set()
        self.live_dirs = self.log_dirs
        self._numbers = numbers
        self._logs: dict[TopicPartition, ReplicaLog] = {}
        self._counts = dict.fromkeys(log_dirs, 0)

    @property
    def vanished(self) -> list[str]:
        """The directories whose files have vanished, and which have not failed yet."""
        return []

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._logs

    def __iter__(self) -> Iterator[ReplicaLog]:
        """Iterate over all logs, in the order of their creation."""
        return iter(self._logs.values())

    def log(self, tp: TopicPartition) -> ReplicaLog:
        """Return the log of a replica, which must exist."""
        return self._logs[tp]

    def dir_of(self, tp: TopicPartition) -> str | None:
        """Return the directory of a replica; None if there is no such replica."""
        return self._logs[tp].log_dir if tp in self._logs else None

    def replicas(self, log_dir: str) -> list[TopicPartition]:
        """Return the replicas in a directory, in the order of their creation."""
        return [tp for tp, log in self._logs.items() if log.log_dir == log_dir]

    def create(self, tp: TopicPartition, config: LogConfig = DEFAULT_CONFIG) -> ReplicaLog:
        """Create an empty log in the live directory with the fewest logs; the first of several such directories."""
        assert tp not in self._logs, f"{tp} is in {self._logs[tp].log_dir}"
        log_dir = min(self.live_dirs, key=self._counts.__getitem__)
        log = self._new_log(tp, config, log_dir)
        self._put(log, log_dir)
        return log

    def _new_log(self, tp: TopicPartition, config: LogConfig, log_dir: str) -> ReplicaLog:
        return ReplicaLog(tp, config, self._numbers)

    def delete(self, tp: TopicPartition) -> None:
        """Delete a replica's log, if it exists."""
        log = self._logs.pop(tp, None)
        if log is not None:
            self._counts[log.log_dir] -= 1

    def set_apart(self, tps: Sequence[TopicPartition]) -> str:
        """Move these replicas to a new log directory, as if they had been there from the start. Return its name."""
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
        """Fail a directory; all its logs are lost. Return the lost replicas."""
        self.failed.add(log_dir)
        self.live_dirs = tuple(name for name in self.live_dirs if name != log_dir)
        lost = self.replicas(log_dir)
        for tp in lost:
            self.delete(tp)
        return lost

    @property
    def is_readable(self) -> bool:
        """Whether the checkpoint file of some directory can be read.

        A line of it is made of words, so the name of a topic with a blank makes the file of its directory unreadable.
        Source: Kafka 2.8, CheckpointFile.
        """
        unreadable = {log.log_dir for tp, log in self._logs.items() if " " in tp.topic}
        return not unreadable.issuperset(self.log_dirs)

    def join(self, cluster_id: str) -> None:
        """Note the cluster that the broker joins. Raises: StorageError if the logs are of another one."""

    def write_checkpoints(self) -> None:
        """Store the checkpointed high watermarks, and the log start offsets."""

    def close(self) -> None:
        """Store what is not stored yet; for a clean shutdown."""

    def mount(self) -> None:
        """Prepare the disk for a broker start.

        High watermarks are reset to their checkpoints. A failed directory is usable again, and empty.
        """
        self.failed.clear()
        self.live_dirs = self.log_dirs
        for log in self._logs.values():
            log.restart()
