"""Finding the traces under given paths, naming their runs, and dividing them among tasks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.location import PARTS, Location, expanded, location

COMPRESSED = (".gz", ".zst")
SUFFIXES = (".jsonl", ".parquet", *(f".jsonl{suffix}" for suffix in COMPRESSED))
"""The suffixes of traces in a folder. A trace that is named itself may have any name: all but .parquet is read as JSONL."""
SPLIT_BYTES = 64 * 2**20


class Trace(NamedTuple):
    """A loose trace: one run in one file, of `size` bytes."""

    path: str
    batch: str
    run: str
    size: int

    @property
    def is_parquet(self) -> bool:
        return self.path.endswith(".parquet")


class Split(NamedTuple):
    """A part of a trace that one task reads: the lines that begin in [start, end) bytes; end None: to the end."""

    trace: Trace
    start: int = 0
    end: int | None = None


class NoTraceError(Exception):
    """There is nothing to read. The message names the path."""


class SameBatchError(Exception):
    """Two inputs have a batch of the same name, so that their runs could be confused."""


def find(paths: Iterable[Location | str], batch: str | None = None) -> tuple[list[Dataset], list[Trace]]:
    """Find the datasets and the loose traces.

    Args:
        paths: datasets; traces; folders, which are searched for files with a suffix of a trace; shell patterns.
        batch: of the loose traces; if None, the day (UTC) of a trace's last modification.

    Returns:
        Each once, sorted by path. Runs are named by their files, without suffix; the second of a name is called NAME-2, …

    Raises: NoTraceError for a path where nothing is; OSError.
    """
    datasets: dict[Location, Dataset] = {}
    files: set[Location] = set()
    for path in _expanded(paths):
        if not path.is_dir():
            files.add(path.absolute())
        elif Dataset(path).has("events"):
            datasets[path.absolute()] = Dataset(path.absolute())
        else:
            found = list(_traces_in(path))
            if not found:
                raise NoTraceError(f"{path}: no dataset, and no trace in it ({', '.join(SUFFIXES)})")
            files.update(file.absolute() for file in found)
    names = _names(sorted(files, key=PARTS))
    return [datasets[path] for path in sorted(datasets, key=PARTS)], [_trace(file, run, batch) for file, run in names]


def _expanded(paths: Iterable[Location | str]) -> Iterator[Location]:
    for path in map(location, paths):
        if path.exists():
            yield path
            continue
        found = expanded(path)
        if not found:
            raise NoTraceError(f"{path}: no such file or folder")
        yield from found


def _traces_in(folder: Location) -> Iterator[Location]:
    for file in folder.rglob("*"):
        is_hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)  # type: ignore[arg-type]  # one kind
        if file.name.endswith(SUFFIXES) and not is_hidden and file.is_file():
            yield file


def _trace(file: Location, run: str, batch: str | None) -> Trace:
    status = file.stat()
    day = datetime.fromtimestamp(status.st_mtime, UTC).date().isoformat()
    return Trace(str(file), batch or day, run, status.st_size)


def _names(files: Sequence[Location]) -> list[tuple[Location, str]]:
    taken: set[str] = set()
    named = []
    for file in files:
        name = run_name(file)
        candidates = (name if number == 1 else f"{name}-{number}" for number in range(1, len(files) + 1))
        run = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(run)
        named.append((file, run))
    return named


def run_name(file: Location) -> str:
    """Return a file's name without the suffixes of its format: `crash` for crash.jsonl.gz."""
    return (file.with_suffix("") if file.suffix in COMPRESSED else file).stem


def splits_of(trace: Trace, split_bytes: int = SPLIT_BYTES) -> Iterator[Split]:
    """Yield the parts of a trace that can be read separately: one, if it is compressed or Parquet."""
    if trace.is_parquet or trace.path.endswith(COMPRESSED) or trace.size <= split_bytes:
        yield Split(trace)
        return
    for start in range(0, trace.size, split_bytes):
        yield Split(trace, start, min(start + split_bytes, trace.size))


def group_splits(splits: Iterable[Split], target_bytes: int) -> list[list[Split]]:
    """Return the same splits in groups of about `target_bytes`, in their order. One task reads one group."""
    groups: list[list[Split]] = []
    room = 0
    for split in splits:
        size = (split.trace.size if split.end is None else split.end) - split.start
        if not groups or room < size:
            groups.append([])
            room = target_bytes
        groups[-1].append(split)
        room -= size
    return groups


def refuse_shared_batches(datasets: Sequence[Dataset], traces: Sequence[Trace]) -> None:
    """Raise SameBatchError if two inputs have a batch of the same name."""
    owner: dict[str, str] = {trace.batch: trace.path for trace in traces}
    for dataset in datasets:
        for batch in dataset.batches():
            if batch in owner:
                raise SameBatchError(f"batch {batch} is in {owner[batch]} and in {dataset.path}; read one after the other")
            owner[batch] = str(dataset.path)
