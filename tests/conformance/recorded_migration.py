"""The migration to KRaft that was recorded from Kafka 3.9.1 (record_migration.py), and what ZooKeeper held in it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Step = Mapping[str, Any]
RUNS: Sequence[Sequence[Step]] = json.loads(Path(__file__).with_name("kraft_migration.json").read_text(encoding="utf-8"))[
    "runs"
]
ONE_RUN = RUNS[0]


def writes_in(run: Sequence[Step], step: str) -> list[dict[str, Any]]:
    """Return the writes of the step with this name."""
    (found,) = (each["writes"] for each in run if each["step"] == step)
    return list(found)


def data_after(run: Sequence[Step], step: str, path: str) -> str | None:
    """Return the data of a znode after a step; None if it does not exist."""
    data: str | None = None
    for each in run:
        for write in each["writes"]:
            if write["path"] == path:
                data = write.get("data")
        if each["step"] == step:
            break
    return data
