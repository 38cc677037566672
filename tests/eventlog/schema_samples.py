"""The kept logs of version 2 of the schema: see test_schema_upgrade.py."""

import gzip
import shutil
from pathlib import Path

import msgspec

from kcsim.eventlog.events import Event

SAMPLES = Path(__file__).parent / "schema_2"


def older_run() -> list[bytes]:
    """Return the lines of a whole run, as version 2 wrote them."""
    with gzip.open(SAMPLES / "run.jsonl.gz") as file:
        return list(file)


def current_run() -> list[Event]:
    """Return the events of the same run, as the present version writes them."""
    decoder = msgspec.json.Decoder(Event)
    with gzip.open(SAMPLES / "upgraded_run.jsonl.gz") as file:
        return [decoder.decode(line) for line in file]


def unpacked(name: str, folder: Path) -> Path:
    """Return a sample as a file of this name in a folder: run.jsonl or run.parquet, of version 2."""
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_bytes(b"".join(older_run()))
    else:
        shutil.copy(SAMPLES / name, path)
    return path
