"""The progress of a command that makes many runs: a bar on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from kcsim.scenarios.explore.campaign import Campaign

SECONDS_BETWEEN_LINES = 10.0

Progress = Callable[[int, str], None]
"""A function that is called after each run, with the number of runs and what they have found."""


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
        yield lambda runs, found: bar.update(task, completed=runs, description=f"{what}: {found}")


def _line_progress(file: IO[str], what: str, how_many: int | None) -> Progress:
    last: float | None = None

    def print_line(runs: int, found: str) -> None:
        nonlocal last
        if last is None or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            of = f" of {how_many}" if how_many is not None else ""
            print(f"{what}: {runs}{of} runs, {found}", file=file, flush=True)

    return print_line


def found_in(campaign: "Campaign") -> str:
    """Return what the runs of an exploration have found so far."""
    known = sum(runs for runs, _ in campaign.known.values())
    return f"{len(campaign.failing)} violated, {known} with known bugs"
