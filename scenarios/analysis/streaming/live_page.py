"""The page that follows a live cluster: one file, which the browser loads again by itself every few seconds."""

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kcsim.scenarios.analysis.streaming.followed import MicroBatch
from kcsim.scenarios.analysis.streaming.run_status import RunStatus, RunStatuses, of_runs
from kcsim.scenarios.views.html.single_file import Tile, render_page
from kcsim.scenarios.views.human import count, duration

HERE = Path(__file__).parent
ROWS = 20
RELOAD_SECONDS = 2


class Pace(NamedTuple):
    """How the query keeps up.

    Attributes:
        behind_s: how old an event is, at most, when it is shown; None: not known yet.
        left, unit: how much has been written that is not read: bytes or records.
    """

    events_per_s: float
    behind_s: float | None
    left: int
    unit: str


class LiveTable(NamedTuple):
    """A table of the page: its title, the heads of its columns, its rows as text."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class RecentRows:
    """The latest transitions and windows: newest first."""

    def __init__(self) -> None:
        self.transitions: deque[dict[str, Any]] = deque(maxlen=ROWS)
        self.windows: deque[dict[str, Any]] = deque(maxlen=ROWS)

    def take(self, micro_batch: MicroBatch) -> None:
        """Take in what a micro-batch adds."""
        self.transitions.extendleft(_last(micro_batch.rows.get("transitions", ()), "seq"))
        self.windows.extendleft(_last(micro_batch.rows.get("unavailability", ()), "to_ms"))


def _last(batches: Iterable[Any], by: str) -> list[dict[str, Any]]:
    """Return the last rows of record batches, in ascending order."""
    import pyarrow as pa

    batches = list(batches)
    if not batches:
        return []
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).sort_by(by)[-ROWS:].to_pylist()
    return rows


def live_page(
    name: str,
    awaited: str,
    statuses: RunStatuses,
    recent: RecentRows,
    pace: Pace,
    *,
    written_at: str,
    is_over: bool = False,
) -> str:
    """Return the page.

    Args:
        name: of what is followed.
        awaited: what must come before anything can be read.
        written_at: the time of day.
        is_over: the query has ended, so that the page does not reload.
    """
    runs = of_runs(statuses)
    return render_page(
        [HERE],
        "live.html",
        ["report.css"],
        [],
        title=f"{name}: live",
        reload_seconds=None if is_over else RELOAD_SECONDS,
        sentence=_sentence(runs, awaited, is_over),
        tiles=list(_tiles(runs, pace)) if runs else [],
        written_at=written_at,
        tables=[table for table in _tables(runs, recent) if table.rows],
    )


def _sentence(runs: Sequence[RunStatus], awaited: str, is_over: bool) -> str:
    if not runs:
        return "Stopped before anything was read." if is_over else f"Spark is starting, or waiting for {awaited}."
    times = "; ".join(f"run {run.run}, {duration(run.now_ms)} after its beginning" for run in runs[:3])
    more = f"; and {len(runs) - 3} more runs" if len(runs) > 3 else ""
    return f"{'Followed, until it was stopped' if is_over else 'Following'}: {times}{more}."


def _tiles(runs: Sequence[RunStatus], pace: Pace) -> Iterable[Tile]:
    events = sum(run.events for run in runs)
    yield Tile(count(events), f"events; {count(round(pace.events_per_s))} per second now")
    behind = "–" if pace.behind_s is None else f"{pace.behind_s:.1f} s"
    yield Tile(behind, f"behind at most; {count(pace.left)} {pace.unit} written and not read")
    leaderless, partitions = sum(run.leaderless for run in runs), sum(run.partitions for run in runs)
    yield Tile(count(leaderless), f"of {count(partitions)} partitions without a live leader now", leaderless > 0)
    controllers = ["none" if run.controller is None else f"broker {_text(run.controller[0])}" for run in runs]
    terms = sum(run.controllers for run in runs)
    without = any(run.controller is None for run in runs)
    yield Tile(", ".join(controllers[:3]) or "–", f"is the controller; {count(terms)} terms so far", without)
    elections = [each for run in runs for each in run.elections]
    unclean = sum(each.elections for each in elections if each.key.outcome == "unclean")
    elected = sum(each.elections for each in elections if each.key.outcome != "nobody")
    yield Tile(count(elected), f"leaders elected; unclean: {count(unclean)}", unclean > 0)
    shrinks, expansions = sum(run.isr_shrinks for run in runs), sum(run.isr_expansions for run in runs)
    yield Tile(f"{count(shrinks)} / {count(expansions)}", "ISRs shrunk / expanded by their leaders")
    waiting, late = sum(run.waiting for run in runs), sum(run.late for run in runs)
    repeated = sum(run.repeated for run in runs)
    yield Tile(
        count(waiting), f"events wait for a missing one; repeated: {count(repeated)}; too late: {count(late)}", late > 0
    )


def _tables(runs: Sequence[RunStatus], recent: RecentRows) -> Iterable[LiveTable]:
    still = sorted((row for run in runs for row in run.windows if row.open), key=lambda row: row.from_ms)
    yield LiveTable(
        f"Without a live leader now, longest first ({count(len(still))})",
        ("run", "partition", "since", "for", "leader that was lost"),
        [
            (row.run, f"{row.topic}-{row.partition}", duration(row.from_ms), duration(row.duration_ms), _text(row.broker))
            for row in still[:ROWS]
        ],
    )
    yield LiveTable(
        "Windows without a live leader, latest first",
        ("run", "partition", "from", "for", "leader that was lost", "leader after"),
        [
            (
                row["run"],
                f"{row['topic']}-{row['partition']}",
                duration(row["from_ms"]),
                duration(row["duration_ms"]),
                _text(row["broker"]),
                _text(row["leader_after"]),
            )
            for row in recent.windows
        ],
    )
    yield LiveTable(
        "Changes of partitions, latest first",
        ("run", "at", "partition", "what", "trigger", "leader", "ISR"),
        [
            (
                row["run"],
                duration(row["t_ms"]),
                f"{row['topic']}-{row['partition']}",
                row["kind"],
                row["trigger"],
                _text(row["leader"]),
                ", ".join(map(str, row["isr"])),
            )
            for row in recent.transitions
        ],
    )
    yield LiveTable(
        "Elections",
        ("run", "trigger", "rule", "outcome", "elections", "partitions", "last"),
        [
            (
                run.run,
                each.key.trigger,
                each.key.rule or "–",
                each.key.outcome,
                count(each.elections),
                count(each.partitions),
                duration(each.last_ms),
            )
            for run in runs
            for each in run.elections
        ][: 2 * ROWS],
    )


def _text(broker: int | None) -> str:
    return "–" if broker is None or broker < 0 else str(broker)
