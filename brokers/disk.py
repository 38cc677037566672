"""What a broker has on its disks: which replica is in which log directory. Outlives the process.

Left out until logs hold records: the logs themselves. Source: Kafka 2.8, LogManager; reference requests.md 4.5.
"""

from collections.abc import Sequence

from kcsim.zk.vocabulary import TopicPartition


class Disk:
    """The log directories of one broker.

    Attributes:
        failed: those that cannot be used any more, until the broker starts anew.
    """

    def __init__(self, log_dirs: Sequence[str]) -> None:
        assert log_dirs, "a broker has at least one log directory"
        self.log_dirs = tuple(log_dirs)
        self.failed: set[str] = set()
        self._dir_of: dict[TopicPartition, str] = {}
        self._counts = dict.fromkeys(log_dirs, 0)

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._dir_of

    @property
    def live_dirs(self) -> tuple[str, ...]:
        return tuple(name for name in self.log_dirs if name not in self.failed)

    def dir_of(self, tp: TopicPartition) -> str | None:
        """Where the replica is; None if it is nowhere."""
        return self._dir_of.get(tp)

    def replicas(self, log_dir: str) -> list[TopicPartition]:
        """What is in a directory, in the order in which it came there."""
        return [tp for tp, where in self._dir_of.items() if where == log_dir]

    def create(self, tp: TopicPartition) -> None:
        """Make an empty log, in the live directory that has the fewest; the first of several such."""
        assert tp not in self._dir_of, f"{tp} is in {self._dir_of[tp]}"
        chosen = min(self.live_dirs, key=self._counts.__getitem__)
        self._dir_of[tp] = chosen
        self._counts[chosen] += 1

    def delete(self, tp: TopicPartition) -> None:
        """Leave nothing of a replica, if it is there."""
        where = self._dir_of.pop(tp, None)
        if where is not None:
            self._counts[where] -= 1

    def set_apart(self, tps: Sequence[TopicPartition]) -> str:
        """Say that these replicas have lain in a log directory of their own all along; returns its name."""
        name = f"{self.log_dirs[0]}-{len(self.log_dirs)}"
        self.log_dirs = (*self.log_dirs, name)
        self._counts[name] = 0
        for tp in tps:
            self.delete(tp)
            self._dir_of[tp] = name
            self._counts[name] += 1
        return name

    def fail(self, log_dir: str) -> list[TopicPartition]:
        """Lose a directory and all that is in it; returns what that was."""
        self.failed.add(log_dir)
        lost = self.replicas(log_dir)
        for tp in lost:
            self.delete(tp)
        return lost

    def mount(self) -> None:
        """A broker starts: a directory that had failed is there again, and empty."""
        self.failed.clear()
