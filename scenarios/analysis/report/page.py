"""The page of a report: one file that needs no other files."""

from collections.abc import Iterator
from pathlib import Path

from kcsim.scenarios.analysis.report.cells import cell_of, unit
from kcsim.scenarios.analysis.report.contents import Contents, ReportTotals
from kcsim.scenarios.analysis.report.sections import sections
from kcsim.scenarios.views.html.charts import HALF, PHONE, WIDE
from kcsim.scenarios.views.html.single_file import Tile, render_page
from kcsim.scenarios.views.human import count, duration, percent

HERE = Path(__file__).parent


def page(contents: Contents) -> str:
    """Return the whole page, as HTML."""
    return render_page(
        [HERE],
        "report.html",
        ["report.css"],
        ["report.js"],
        title=f"{contents.dataset}: history report",
        contents=contents,
        sections=sections(contents),
        sentence=_in_a_sentence(contents.totals),
        tiles=list(_tiles(contents)),
        remarks=list(_remarks(contents)),
        WIDE=WIDE,
        HALF=HALF,
        PHONE=PHONE,
        unit=unit,
        cell_of=cell_of,
    )


def _remarks(contents: Contents) -> Iterator[str]:
    focus, totals = contents.focus, contents.totals
    if focus is not None and totals.runs > 1:
        yield f"Figures over time show run {focus.run} of batch {focus.batch}; all others are of all {totals.runs:,} runs."
    yield from contents.left_out


def _in_a_sentence(totals: ReportTotals) -> str:
    runs = "one run" if totals.runs == 1 else f"{totals.runs:,} runs"
    racks = f" in {totals.racks} racks" if totals.racks else ""
    return (
        f"{totals.events:,} events of {runs}, {totals.transitions:,} of which changed a partition's state: "
        f"{totals.brokers:,} brokers{racks}, {totals.topics:,} topics, {totals.partitions:,} partitions."
    )


def _tiles(contents: Contents) -> Iterator[Tile]:
    totals, recovery = contents.totals, contents.recovery.quantiles_ms
    availability = 1 - totals.unavailable_ms / totals.existing_ms if totals.existing_ms else None
    yield Tile(
        percent(availability) if availability is not None else "–",
        "availability: time with a live leader, over all partitions",
    )
    still = f"; {count(totals.open_windows)} not over at the end"
    yield Tile(count(totals.windows), "windows without a live leader" + still, totals.open_windows > 0)
    yield Tile(duration(totals.longest_ms) if totals.windows else "–", "the longest of them")
    most = f"; 99 %: {duration(recovery[0.99])}" if recovery else ""
    yield Tile(duration(recovery[0.5]) if recovery else "–", "from a fault to live leaders, median" + most)
    yield Tile(count(totals.elections), f"leaders elected; elections that found no leader: {count(totals.nobody)}")
    yield Tile(count(totals.unclean), "unclean elections: records may be lost", totals.unclean > 0)
    longest = f"; for up to {duration(totals.longest_gap_ms)} no controller worked" if totals.longest_gap_ms else ""
    yield Tile(count(totals.controllers), f"terms of a controller{longest}")
    worst = next(iter(contents.tables["loss-of-broker"].named()), None)
    if worst is not None and worst["offline"]:
        what = f"partitions offline if broker {worst['broker']} were lost now, the most for one broker"
        yield Tile(count(worst["offline"]), what, True)
    elif worst is not None:
        yield Tile("0", "partitions offline if any one broker were lost now")
