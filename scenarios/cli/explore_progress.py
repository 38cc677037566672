"""The progress of an exploration: a bar on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from kcsim.scenarios.explore.campaign import Campaign

SECONDS_BETWEEN_LINES = 10.0

Progress = Callable[["Campaign"], None]
"""A function that is called with the campaign after each run."""


@contextmanager
def progress_on(file: IO[str], what: str, how_many: int | None) -> Iterator[Progress]:
    """Report the progress on a file.

    Args:
        how_many: number of runs; None if it is not known.
    """
    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(file)
    if not console.is_terminal:
        yield _line_progress(file, what, how_many)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=how_many)
        yield lambda campaign: bar.update(task, completed=campaign.runs, description=f"{what}: {_found(campaign)}")


def _line_progress(file: IO[str], what: str, how_many: int | None) -> Progress:
    last: float | None = None

    def print_line(campaign: "Campaign") -> None:
        nonlocal last
        if last is None or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            of = f" of {how_many}" if how_many is not None else ""
            print(f"{what}: {campaign.runs}{of} runs, {_found(campaign)}", file=file, flush=True)

    return print_line


def _found(campaign: "Campaign") -> str:
    known = sum(runs for runs, _ in campaign.known.values())
    return f"{len(campaign.failing)} violated, {known} with known bugs"
