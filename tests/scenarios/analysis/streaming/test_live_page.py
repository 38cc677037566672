"""The page of a live cluster, and the folder that it is in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcsim.scenarios.analysis.streaming.followed import (
    Followed,
    FollowSettings,
    MicroBatch,
    OtherSettingsError,
    opened,
    read_statuses,
)
from kcsim.scenarios.analysis.streaming.live_page import Pace, RecentRows, live_page
from kcsim.scenarios.analysis.streaming.tables import TABLES, arrow_batch
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.streaming.portions import BATCH, Slots, portions

RUN = "leader-crash-acks-one"
NOON = "2026-01-01 12:00:00"
PACE = Pace(1234.5, 1.25, 77, "bytes")


def micro_batches() -> list[MicroBatch]:
    """Return what a run adds in portions, all of it in one slot."""
    slots, found = Slots(1), []
    for number, portion in enumerate(portions(library_run(RUN), 300)):
        transitions, windows = len(slots.transitions), len(slots.windows)
        slots.take(RUN, portion)
        rows: dict[str, Sequence[Any]] = {
            "transitions": slots.transitions[transitions:],
            "unavailability": slots.windows[windows:],
        }
        batches = {name: [arrow_batch(added, TABLES[name])] for name, added in rows.items() if added}
        found.append(MicroBatch(number, batches, list(slots.statuses.values())))
    return found


def test_the_page_shows_what_is_going_on_and_loads_itself_again_until_it_is_over(tmp_path: Path) -> None:
    recent = RecentRows()
    with opened(tmp_path / "live", FollowSettings("/up.jsonl", BATCH, 1)) as followed:
        empty = live_page("up.jsonl", "the first line", followed.statuses, recent, PACE, written_at=NOON)
        assert "Spark is starting, or waiting for the first line." in empty
        for micro_batch in micro_batches():
            followed.write(micro_batch)
            recent.take(micro_batch)
        page = live_page("up.jsonl", "the first line", followed.statuses, recent, PACE, written_at=NOON)
        over = live_page("up.jsonl", "the first line", followed.statuses, recent, PACE, written_at=NOON, is_over=True)
    for shown in ("1.2 s", "77 bytes", "partitions without a live leader", "LeaderElection", "BrokerFailed", RUN, NOON):
        assert shown in page
    assert ('http-equiv="refresh"' in page, 'http-equiv="refresh"' in over) == (True, False)
    assert "<script" not in page


def test_a_micro_batch_that_is_written_again_changes_nothing(tmp_path: Path) -> None:
    """As Spark does after a stop between the writing of the tables and the entry in its log of commits."""
    out = tmp_path / "live"
    with opened(out, FollowSettings("/up.jsonl", BATCH, 1)) as followed:
        for micro_batch in micro_batches():
            followed.write(micro_batch)
        before = _files(out), read_statuses(out)
        followed.write(micro_batches()[-1])
        assert (_files(out), read_statuses(out)) == before
    assert Followed(out, followed.settings).statuses == followed.statuses


def _files(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in sorted((out / "transitions").rglob("*.parquet"))}


def test_a_folder_has_one_query_at_a_time_and_keeps_its_settings(tmp_path: Path) -> None:
    out, settings = tmp_path / "live", FollowSettings("/up.jsonl", BATCH, 3)
    with opened(out, settings), pytest.raises(OtherSettingsError, match="another process"), opened(out, settings):
        pass
    with opened(out, FollowSettings("/up.jsonl", BATCH, 8, lateness_ms=1)) as followed:
        assert followed.settings == settings
    with (
        pytest.raises(OtherSettingsError, match="follows batch live, not other"),
        opened(out, FollowSettings("/up.jsonl", "other", 3)),
    ):
        pass
