"""The folder that following event logs writes: a dataset, the status of the runs, the settings, and Spark's checkpoint.

DIR/following.json      what is followed, and how; it never changes
DIR/checkpoint          Spark's: what has been read, and the state of the fold
DIR/transitions, …      the tables (tables.py), as Parquet files
DIR/status.json         the status of the runs after the latest micro-batch
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kcsim.scenarios.analysis.streaming.followed_log import LogPlaces
from kcsim.scenarios.analysis.streaming.run_status import RunStatus
from kcsim.scenarios.analysis.streaming.table_files import write_micro_batch
from kcsim.scenarios.analysis.tables.dataset import PathExistsError

SETTINGS, STATUS, CHECKPOINT = "following.json", "status.json", "checkpoint"
VERSION = 1
"""Of the state in a checkpoint. It is raised when a state can no longer be read."""


class OtherSettingsError(Exception):
    """The folder belongs to a query that cannot go on with these settings. The message says why."""


@dataclass(frozen=True)
class FollowSettings:
    """What is followed, and how. It stays the same for all of a checkpoint's life.

    Attributes:
        path: an event log, or a folder of event logs, each of which is a run; absolute. Or the URL of a topic of Kafka.
        batch: of these runs, in all tables.
        slots: into how many parts the partitions are divided; as many are folded at a time.
        lateness_ms: how long the run's time may go on, and how long nothing may come, while an event is missing.
        max_bytes: how much a micro-batch reads at most.
    """

    path: str
    batch: str
    slots: int
    lateness_ms: int = 10_000
    max_bytes: int = 32 * 2**20
    version: int = VERSION


class MicroBatch(NamedTuple):
    """What a micro-batch adds. `rows`: table -> record batches. `statuses`: of the runs and slots that it touches."""

    number: int
    rows: dict[str, list[Any]]
    statuses: list[RunStatus]


class Followed:
    """The folder while a query writes to it.

    Attributes:
        statuses: the latest of each batch, run and slot.
    """

    def __init__(self, out: Path, settings: FollowSettings) -> None:
        self.out = out
        self.settings = settings
        self.statuses = {_key(status): status for status in read_statuses(out)}

    @property
    def checkpoint(self) -> Path:
        """Spark's folder."""
        return self.out / CHECKPOINT

    def write(self, micro_batch: MicroBatch) -> None:
        """Write the tables. To write a micro-batch again changes nothing."""
        for name, batches in micro_batch.rows.items():
            write_micro_batch(self.out / name, micro_batch.number, batches)
        self.statuses.update({_key(status): status for status in micro_batch.statuses})
        replace_file(self.out / STATUS, msgspec.json.encode(list(self.statuses.values())))

    def planned_at(self, number: int) -> float:
        """Return when it was decided how far the micro-batch with this number reads, as time.time()."""
        return self._plan(number).stat().st_mtime

    def _plan(self, number: int) -> Path:
        return self.checkpoint / "offsets" / str(number)

    def places(self, number: int) -> LogPlaces:
        """Return how far the micro-batch with this number reads."""
        offset = self._plan(number).read_text(encoding="utf-8").splitlines()[-1]
        places: LogPlaces = json.loads(offset)["places"]
        return places


@contextmanager
def opened(out: Path, settings: FollowSettings) -> Iterator[Followed]:
    """Open the folder for one query: a new one, or one in which a query was stopped.

    Args:
        settings: for a new folder. In an existing one path and batch must be the same; all others are taken from there.

    Raises: PathExistsError if the folder is something else; OtherSettingsError; OSError.
    """
    file = out / SETTINGS
    if not file.exists():
        if out.exists() and any(out.iterdir()):
            raise PathExistsError(out)
        out.mkdir(parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(settings))
    with file.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OtherSettingsError(f"{out}: another process is following into it") from None
        known = msgspec.json.decode(held.read(), type=FollowSettings)
        if known.version != VERSION:
            raise OtherSettingsError(f"{out}: its state has version {known.version}, this kcsim has {VERSION}; follow anew")
        for name in ("path", "batch"):
            was, wanted = getattr(known, name), getattr(settings, name)
            if was != wanted:
                raise OtherSettingsError(f"{out} follows {name} {was}, not {wanted}; choose another folder")
        yield Followed(out, known)


def batch_of(out: Path) -> str | None:
    """Return the batch that a folder is followed with; None if it is new."""
    file = out / SETTINGS
    return msgspec.json.decode(file.read_bytes(), type=FollowSettings).batch if file.exists() else None


def read_statuses(out: Path) -> list[RunStatus]:
    """Return the status of the runs, by slot; nothing before the first micro-batch."""
    file = out / STATUS
    return msgspec.json.decode(file.read_bytes(), type=list[RunStatus]) if file.exists() else []


def replace_file(path: Path, content: bytes) -> None:
    """Write a file such that a reader sees the former or the new content, whole."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def _key(status: RunStatus) -> tuple[str, str, int]:
    return status.batch, status.run, status.slot
