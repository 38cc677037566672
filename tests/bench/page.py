"""Cost per event of writing the page of a long run, and of opening it in a browser; a tenth of the size is measured first.

page=100000 selects the number of events (30,000 when unset). Without Chromium only the writing is measured.
"""

import tempfile
from pathlib import Path

from kcsim.scenarios.views.page.report import report
from tests.bench.report import Measured, measure, print_table
from tests.chromium import Chromium, NoBrowserError, find_chromium
from tests.scenarios.views.page.conftest import written
from tests.scenarios.views.page.long_run import long_run

EVENTS = 30_000
TIMES = 10


def main(size: str | None = None) -> None:
    """Print events per second of writing and of opening, each as a multiple of the smaller run's."""
    largest = int(size or EVENTS)
    with tempfile.TemporaryDirectory() as scratch:
        writing = [_write(Path(scratch), events) for events in (largest // TIMES, largest)]
        print_table("The page of a run: written", *writing)
        try:
            program = find_chromium()
        except NoBrowserError as error:
            print(f"not opened: {error}")
            return
        with Chromium(program) as browser:
            opening = [_open(browser, Path(scratch), events) for events in (largest // TIMES, largest)]
        print_table("The page of a run: opened in Chromium", *opening)


def _write(scratch: Path, events: int) -> Measured:
    trace = written(scratch / f"{events}.jsonl", tuple(long_run(events)))

    def write() -> None:
        (scratch / f"{events}.html").write_text(report(trace, "kcsim").html, encoding="utf-8")

    return measure(f"{events:,} events", events, write)


def _open(browser: Chromium, scratch: Path, events: int) -> Measured:
    def open_page() -> None:
        with browser.open((scratch / f"{events}.html").as_uri()):
            pass

    return measure(f"{events:,} events", events, open_page)
