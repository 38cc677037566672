"""ZooKeeper's files: how fast one core reads a log, writes it, and makes an event log of it; and how the cost grows.

The log is that of a cluster: partition states that change again and again. zk-files=1000 reads up to 1 GB. The transactions
read are not kept in memory, so the peak memory of the process is printed as well.
"""

import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kcsim.eventlog.events import Event
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.capture.zookeeper_import import import_zookeeper, scan_transaction_logs
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import CheckVersionTxn, CreateSessionTxn, CreateTxn, SetDataTxn, Transaction, Txn
from tests.bench.report import Measured, measure

LARGEST_MB = 100
SMALLEST_MB = 10
MB = 1_000_000
KILOBYTES_PER_MB = 1024
PARTITIONS = 10_000
BEGAN_MS = 1_700_000_000_000
CONTROLLER = SessionId(0x100000001)


@dataclass(frozen=True, slots=True)
class Kept:
    """A log on the disk: its size in bytes and its number of transactions."""

    directory: Path
    size: int
    transactions: int


def main(size: str | None = None) -> None:
    """Print, for each size, transactions and megabytes per second of each kind of reading, and the growth."""
    largest = int(size or LARGEST_MB)
    print(f"\nZooKeeper's transaction log, {PARTITIONS:,} partitions, one core")
    with tempfile.TemporaryDirectory() as scratch:
        before = None
        for size_mb in _sizes(largest):
            written: list[Kept] = []

            def write(size_mb: int = size_mb, written: list[Kept] = written) -> None:
                written.append(_write(Path(scratch) / f"{size_mb}-{len(written)}", size_mb))

            made = measure("write", 1, write, rounds=1)
            before = _report(written[0], made.seconds, before)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_PER_MB
    print(f"  most memory that this process has had: {peak_mb:,.0f} MB")


def _sizes(largest: int) -> Iterator[int]:
    size = SMALLEST_MB
    while size < largest:
        yield size
        size *= 10
    yield largest


def _report(kept: Kept, write_s: float, before: dict[str, Measured] | None) -> dict[str, Measured]:
    rounds = 3 if kept.size < 50 * MB else 1
    found = {
        "read every transaction": measure("read", kept.transactions, lambda: _read(kept), rounds),
        "rebuild the tree at its end": measure("tree", kept.transactions, lambda: _tree(kept), rounds),
        "import as events, without writing them": measure("import", kept.transactions, lambda: _import(kept), rounds),
    }
    print(f"  {kept.size / MB:,.0f} MB, {kept.transactions:,} transactions; written in {write_s:.1f} s")
    for name, measured in found.items():
        growth = f"   {measured.seconds / before[name].seconds:5.1f} x the smaller" if before else ""
        speed = f"{measured.per_second:>10,.0f}/s {kept.size / MB / measured.seconds:>7.1f} MB/s"
        print(f"    {name:<42} {measured.seconds:8.2f} s {speed}{growth}")
    return found


def _read(kept: Kept) -> None:
    read = sum(1 for _ in DataDirectory(kept.directory).transactions())
    assert read == kept.transactions, f"{read} of {kept.transactions} transactions read"


def _tree(kept: Kept) -> None:
    tree = DataDirectory(kept.directory).tree_at(Zxid(kept.transactions))
    assert len(tree.znodes) > PARTITIONS, f"{len(tree.znodes)} znodes"


def _import(kept: Kept) -> None:
    events = 0

    def count(_: Event) -> None:
        nonlocal events
        events += 1

    files = DataDirectory(kept.directory)
    import_zookeeper(files, scan_transaction_logs(files), count)
    assert events > kept.transactions, f"{events} events"


# --- the log ---------------------------------------------------------------------------------------------------------------


def _write(directory: Path, size_mb: int) -> Kept:
    with LogWriter(directory) as log:
        for transaction in _history():
            log.write(transaction)
            if transaction.zxid % 1_000 == 0 and _size(log.directory) >= size_mb * MB:
                break
    return Kept(directory, _size(log.directory), transaction.zxid)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def _history() -> Iterator[Transaction]:
    """Yield endless transactions: a controller opens a session, creates a topic, and changes partitions in turn."""
    beginning: list[Txn] = [CreateSessionTxn(6000)]
    above = [
        "/controller_epoch",
        "/brokers",
        "/brokers/topics",
        "/brokers/topics/orders",
        "/brokers/topics/orders/partitions",
    ]
    beginning += [CreateTxn(path, b"1", False, 1) for path in above]
    for partition in range(PARTITIONS):
        beginning.append(CreateTxn(f"{above[-1]}/{partition}", None, False, partition + 1))
        beginning.append(CreateTxn(f"{above[-1]}/{partition}/state", _state(partition, 0), False, 1))
    zxid = 0
    for op in beginning:
        zxid += 1
        yield _transaction(zxid, op)
    version = 0
    while True:
        version += 1
        for partition in range(PARTITIONS):
            zxid += 1
            path = f"{above[-1]}/{partition}/state"
            changed = SetDataTxn(path, _state(partition, version), ZkVersion(version))
            yield _transaction(zxid, CheckVersionTxn("/controller_epoch", ZkVersion(0)), changed)


def _transaction(zxid: int, *ops: Txn) -> Transaction:
    return Transaction(Zxid(zxid), CONTROLLER, zxid, BEGAN_MS + zxid, ops, len(ops) > 1)


def _state(partition: int, epoch: int) -> bytes:
    leader = 1 + (partition + epoch) % 3
    isr = ",".join(str(1 + (leader + place) % 3) for place in range(3))
    return f'{{"controller_epoch":1,"leader":{leader},"version":1,"leader_epoch":{epoch},"isr":[{isr}]}}'.encode()
