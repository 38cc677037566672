"""The log directories of one broker, in a folder that outlives its process.

The folder has Kafka's files: meta.properties, which names the broker and the cluster; a lock; the checkpoints; and a
directory for each replica. With several log directories each is a folder in it.

Left out: `log.flush.scheduler.interval.ms`, which is off by default; a deleted replica's directory is not renamed first.

Source: Kafka 2.8, LogManager, KafkaServer.getBrokerMetadataAndOfflineDirs, FileLock.
"""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.disk import Disk, StorageError
from kcsim.brokers.log.log_segments import JitterNumbers
from kcsim.brokers.log.replica_log import DEFAULT_CONFIG, ReplicaLog
from kcsim.brokers.stored_logs.checkpoint_files import (
    MalformedFileError,
    errors_named,
    read_offsets,
    read_properties,
    write_offsets,
    write_properties,
)
from kcsim.brokers.stored_logs.segment_files import CutOff
from kcsim.brokers.stored_logs.stored_log import StoredReplicaLog
from kcsim.vocabulary import BrokerId, TopicPartition

META = "meta.properties"
LOCK = ".lock"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"


class StoredDisk(Disk):
    """The disk of one broker, in files.

    Args:
        folder: is created with what is missing above it.
        log_dirs: the log directories' names.

    Attributes:
        cut_off: what was damaged in the files, and was cut off.

    Raises: StorageError, before anything is changed in the folder: it belongs to another broker, is in use, or cannot be
        used.
    """

    def __init__(
        self,
        folder: Path,
        broker_id: BrokerId,
        log_dirs: Sequence[str],
        numbers: JitterNumbers,
    ) -> None:
        super().__init__(log_dirs, numbers)
        self._broker_id = broker_id
        names = [Path(log_dir).name for log_dir in log_dirs]
        self._folders = {
            log_dir: folder if len(names) == 1 else folder / name for log_dir, name in zip(log_dirs, names, strict=True)
        }
        if len(set(self._folders.values())) < len(names):
            raise StorageError(f"{folder}: several log directories have one name: {', '.join(log_dirs)}")
        self.cut_off: list[CutOff] = []
        self._locks = ExitStack()
        self._cluster_id: str | None = None
        try:
            with errors_named(folder):
                for each in self._folders.values():
                    self._claim(each)
                for log_dir, each in self._folders.items():
                    self._load(log_dir, each)
        except MalformedFileError as error:
            self._locks.close()
            raise StorageError(str(error)) from error
        except StorageError:
            self._locks.close()
            raise

    # --- the start

    def _claim(self, folder: Path) -> None:
        """Check that a log directory is of this broker, and lock it."""
        known = read_properties(folder / META)
        if known is not None and known.get("broker.id") != str(self._broker_id):
            other = known.get("broker.id")
            raise StorageError(f"{folder / META} is of broker {other}, not of broker {self._broker_id}")
        if known is None and folder.is_dir() and any(folder.iterdir()):
            raise StorageError(f"{folder} is not empty, and has no {META}: it is no log directory")
        folder.mkdir(parents=True, exist_ok=True)
        file = self._locks.enter_context((folder / LOCK).open("w"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(f"{folder} is in use by another broker, which holds {LOCK}") from None
        self._cluster_id = (known or {}).get("cluster.id", self._cluster_id)

    def _load(self, log_dir: str, folder: Path) -> None:
        high_watermarks = read_offsets(folder / HIGH_WATERMARKS)
        starts = read_offsets(folder / LOG_START_OFFSETS)
        for tp, directory in sorted(_replicas_in(folder)):
            log = StoredReplicaLog(tp, directory, DEFAULT_CONFIG, self._numbers)
            self.cut_off += log.load(starts.get(tp, 0), high_watermarks.get(tp, 0))
            self._put(log, log_dir)

    def join(self, cluster_id: str) -> None:
        if self._cluster_id not in (None, cluster_id):
            raise StorageError(f"{META} is of cluster {self._cluster_id}, and ZooKeeper has cluster {cluster_id}")
        for folder in self._folders.values():
            if read_properties(folder / META) is None:
                write_properties(folder / META, {"version": 0, "broker.id": self._broker_id, "cluster.id": cluster_id})

    # --- changes

    def _new_log(self, tp: TopicPartition, config: LogConfig, log_dir: str) -> ReplicaLog:
        directory = self._folders[log_dir] / str(tp)
        with errors_named(directory):
            directory.mkdir(exist_ok=True)
        log = StoredReplicaLog(tp, directory, config, self._numbers)
        log.begin()
        return log

    def delete(self, tp: TopicPartition) -> None:
        log = self._logs.get(tp)
        super().delete(tp)
        if isinstance(log, StoredReplicaLog):
            log.delete_files()

    @property
    def vanished(self) -> list[str]:
        return [log_dir for log_dir in self.live_dirs if not self._folders[log_dir].is_dir()]

    def write_checkpoints(self) -> None:
        for log_dir, folder in self._folders.items():
            logs = [self._logs[tp] for tp in self.replicas(log_dir)]
            write_offsets(folder / HIGH_WATERMARKS, {log.tp: log.checkpointed_high_watermark for log in logs})
            write_offsets(folder / LOG_START_OFFSETS, {log.tp: log.log_start_offset for log in logs if log.log_start_offset})

    def close(self) -> None:
        for log in self._logs.values():
            if isinstance(log, StoredReplicaLog):
                log.close()
        self.write_checkpoints()
        self._locks.close()


def _replicas_in(folder: Path) -> Iterator[tuple[TopicPartition, Path]]:
    for directory in folder.iterdir():
        topic, _, number = directory.name.rpartition("-")
        if directory.is_dir() and topic and number.isascii() and number.isdecimal():
            yield TopicPartition(topic, int(number)), directory
