"""Kafka's own log files: how fast one core reads them, parses them, and makes an event log of them.

The file is a synthetic state-change.log of a controller in a cluster in trouble: elections, removals from ISRs, requests and
caches, at the levels of Kafka 2.5 and older (all of it) and of 2.6 and newer (INFO). kafka-logs=1000 reads 1 GB. The lines
are not kept in memory, only the history is; so the peak memory of the process is printed as well.
"""

import resource
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import import_kafka_logs, survey
from kcsim.brokers.apache_kafka.log_import.log_files import lines_of
from kcsim.brokers.apache_kafka.log_import.record_parsing import read_lines
from kcsim.brokers.apache_kafka.log_import.zone import zone_named
from kcsim.brokers.apache_kafka.log_lines.records import read_records
from kcsim.eventlog.events import Event
from tests.bench.report import measure

SIZE_MB = 100
MB = 1_000_000
KILOBYTES_PER_MB = 1024
PARTITIONS = 5_000
REPLICAS = (1, 2, 3)
LEVELS = {"TRACE": ("TRACE", "INFO"), "INFO": ("INFO",)}


def main(size: str | None = None) -> None:
    """Print lines and megabytes per second of each step, at both levels."""
    size_mb = int(size or SIZE_MB)
    print(f"\nKafka's state-change.log, {PARTITIONS:,} partitions, one core")
    with tempfile.TemporaryDirectory() as scratch:
        for name, levels in LEVELS.items():
            path = Path(scratch) / f"state-change.log.{name}"
            lines = _write(path, size_mb * MB, levels)
            _report(name, path, lines)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_PER_MB
    print(f"  most memory that this process has had: {peak_mb:,.0f} MB")


def _report(name: str, path: Path, lines: int) -> None:
    size = path.stat().st_size
    steps: dict[str, Callable[[], object]] = {
        "read lines": lambda: deque(lines_of(path), maxlen=0),
        "to records": lambda: deque(read_records(lines_of(path)), maxlen=0),
        "to messages": lambda: deque(read_lines(lines_of(path)), maxlen=0),
        "to a history": lambda: survey([path]),
        "to events, without writing them": lambda: _import(path),
    }
    print(f"  {name}: {size / MB:,.0f} MB, {lines:,} lines")
    for step, work in steps.items():
        measured = measure(step, lines, work, rounds=1)
        speed = f"{measured.per_second:>10,.0f} lines/s {size / MB / measured.seconds:>7.1f} MB/s"
        print(f"    {step:<42} {measured.seconds:8.2f} s {speed}")


def _import(path: Path) -> None:
    events = 0

    def take(_: Event) -> None:
        nonlocal events
        events += 1

    import_kafka_logs(survey([path]), zone_named("UTC"), take, str(path))
    assert events > PARTITIONS, f"{events} events"


# --- the log ---------------------------------------------------------------------------------------------------------------


def _write(path: Path, size: int, levels: tuple[str, ...]) -> int:
    """Write whole lines until the file has this size in bytes; return the number of lines."""
    written = lines = 0
    with path.open("w") as file:
        for level, text in _messages():
            if level in levels:
                written += file.write(text)
                lines += 1
                if written >= size:
                    break
    return lines


def _messages() -> Iterator[tuple[str, str]]:
    """Yield endless messages: one partition after the other loses its leader and elects another; one message every 10 ms."""
    ms = count(0, 10)
    for round_ in count():
        for partition in range(PARTITIONS):
            yield from _election(next(ms), partition, round_)


def _election(ms: int, partition: int, epoch: int) -> Iterator[tuple[str, str]]:
    tp, leader = f"orders-{partition}", REPLICAS[(partition + epoch) % 3]
    isr = [broker for broker in REPLICAS if epoch == 0 or broker != leader % 3 + 1]
    before = "NewPartition" if epoch == 0 else "OfflinePartition"
    listed = ", ".join(map(str, isr))
    state = f"leader={leader}, leaderEpoch={epoch}, isr=[{listed}], zkVersion={epoch}, replicas=[1, 2, 3]"
    named = f"topicName='orders', partitionIndex={partition}, controllerEpoch=1, {state}"
    by_controller = "[Controller id=1 epoch=1]"
    messages = {
        f"{by_controller} Changed partition {tp} state from OnlinePartition to OfflinePartition": "TRACE",
        f"{by_controller} Changed partition {tp} from {before} to OnlinePartition with state LeaderAndIsr(leader={leader}, "
        f"leaderEpoch={epoch}, isr=List({listed}), zkVersion={epoch})": "INFO",
        f"{by_controller} Sending become-leader LeaderAndIsr request LeaderAndIsrPartitionState({named}, addingReplicas=[], "
        f"removingReplicas=[], isNew=false) to broker {leader} for partition {tp}": "TRACE",
        f"{by_controller} Sending LeaderAndIsr request to broker {leader} with 1 become-leader and 0 become-follower "
        "partitions": "INFO",
        f"{by_controller} Sending UpdateMetadata request to brokers HashSet(1, 2, 3) for 1 partitions": "INFO",
        f"[Broker id=1] Cached leader info UpdateMetadataPartitionState({named}, offlineReplicas=[]) for partition {tp} in "
        "response to UpdateMetadata request sent by controller 1 epoch 1 with correlation id 3": "TRACE",
        "[Broker id=1] Add 1 partitions and deleted 0 partitions from metadata cache in response to UpdateMetadata request "
        "sent by controller 1 epoch 1 with correlation id 3": "INFO",
    }
    second, rest = divmod(ms, 1000)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    day, hour = divmod(hour, 24)
    time = f"2021-05-{day % 28 + 1:02} {hour:02}:{minute:02}:{second:02},{rest:03}"
    for text, level in messages.items():
        yield level, f"[{time}] {level} {text} (state.change.logger)\n"
